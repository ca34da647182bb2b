//! The servers that share the store, as one of them sees them, and how the database is
//! [SPACE-30..33].

use crate::checks;
use crate::connection::Connection;
use crate::members;
use crate::standbys::IS_STANDBY;
use interweave_store::{trouble, unshared, StoreError, StoreStatus, Watch};
use interweave_wire::protocol::{
    MemberInfo, MemberList, MemberState, StoreState, MAX_FIELD_TEXT, MAX_MEMBERS_LISTED,
    MAX_TROUBLE,
};
use std::time::{Duration, Instant};
use tokio_postgres::Row;

/// A request for the servers.
pub struct Asking {
    /// The server that is asked.
    pub epoch: u64,
    pub shares_store: bool,
    pub wants_standby: bool,
    pub after: u64,
    pub tells_all: bool,
}

/// Servers that have ended in order are there if they own segments still. `$2`: one more than a
/// page has.
const ROWS: &str = "
SELECT o.epoch, o.counter, o.lease_ms, o.is_clean, o.address, o.tls_name, {count}, o.rules_version,
  o.is_drained
FROM {s}.owner o {counts}
WHERE o.epoch > $1 AND (NOT o.is_clean OR {owns}) ORDER BY o.epoch LIMIT $2";

const COUNTS: &str = "
LEFT JOIN (SELECT owner, count(*) AS owned FROM {s}.segment WHERE NOT is_removed GROUP BY owner) n
  ON n.owner = o.epoch";

const OWNS: &str =
    "EXISTS (SELECT FROM {s}.segment g WHERE g.owner = o.epoch AND NOT g.is_removed)";

const UNOWNED: &str = "
SELECT count(*) FROM {s}.segment g
WHERE NOT is_removed AND NOT EXISTS (SELECT FROM {s}.owner o WHERE o.epoch = g.owner)";

const VERSIONS: &str = "SELECT coalesce(max(version), 0) FROM {s}.access";

const NODE: &str = "
SELECT CASE family(inet_server_addr()) WHEN 4 THEN host(inet_server_addr())
    WHEN 6 THEN '[' || host(inet_server_addr()) || ']' END || ':' || inet_server_port(),
  current_setting('port'), current_setting('synchronous_standby_names'),
  (SELECT count(*) FROM pg_stat_replication WHERE {is_standby})";

/// Calls the roll for the server that is asked.
pub async fn call(
    connection: &Connection,
    asking: &Asking,
    watch: &Watch,
    (status, now): (&StoreStatus, impl Fn() -> Instant),
) -> Result<MemberList, StoreError> {
    let mut list = MemberList {
        shares_store: asking.shares_store,
        tells_all: asking.tells_all,
        ..unshared("postgres", status)
    };
    if asking.shares_store {
        let (count, counts, owns) = match asking.tells_all {
            true => ("coalesce(n.owned, 0)", COUNTS, "n.owned > 0"),
            false => ("0::bigint", "", OWNS),
        };
        let sql = ROWS.replace("{count}", count).replace("{counts}", counts);
        let sql = sql.replace("{owns}", owns);
        let most = i64::from(MAX_MEMBERS_LISTED);
        let after = i64::try_from(asking.after).unwrap_or(i64::MAX);
        let asked = now();
        let rows = connection.rows(&sql, &[&after, &(most + 1)]).await?;
        let look = (asked, now());
        list.more = rows.len() > most as usize;
        let rows = rows.iter().take(most as usize);
        let member = |row| member_in(row, asking.epoch, watch, look);
        list.members = rows.map(member).collect();
    }
    if asking.tells_all {
        let unowned: i64 = connection.one(UNOWNED, &[]).await?.get(0);
        list.unowned = unowned.try_into().unwrap_or(0);
        let newest: i64 = connection.one(VERSIONS, &[]).await?.get(0);
        list.rules_version = newest as u64;
        list.store = store(connection, asking.wants_standby, status).await?;
    }
    Ok(list)
}

fn member_in(row: &Row, own: u64, watch: &Watch, look: (Instant, Instant)) -> MemberInfo {
    let (epoch, counter, lease) = members::seen_in(row, 0);
    let is_asked = epoch as u64 == own;
    let state = match row.get(3) {
        true => MemberState::Ended,
        false if is_asked => MemberState::Standing,
        false => state_after(watch.unseen((epoch, counter), look), lease),
    };
    let state = match (state, row.get(8)) {
        (MemberState::Standing, true) => MemberState::Drained,
        (state, _) => state,
    };
    let owned: i64 = row.get(6);
    MemberInfo {
        number: epoch as u64,
        address: bounded(row.get::<_, Option<String>>(4).unwrap_or_default()),
        tls_name: bounded(row.get(5)),
        lease_ms: lease.as_millis().try_into().unwrap_or(u32::MAX),
        state,
        is_asked,
        segments: owned.try_into().unwrap_or(0),
        rules_version: row.get::<_, i64>(7) as u64,
    }
}

/// The state of a server of which no renewal was seen for so long [SPACE-31].
fn state_after(unseen: Duration, lease: Duration) -> MemberState {
    if unseen >= lease {
        MemberState::Over
    } else if unseen >= lease / 10 * 9 {
        MemberState::Silent
    } else {
        MemberState::Standing
    }
}

async fn store(
    connection: &Connection,
    wants_standby: bool,
    status: &StoreStatus,
) -> Result<StoreState, StoreError> {
    let sql = NODE.replace("{is_standby}", IS_STANDBY);
    let row = connection.one(&sql, &[]).await?;
    let (address, port): (Option<String>, String) = (row.get(0), row.get(1));
    let (named, standbys): (String, i64) = (row.get(2), row.get(3));
    let standby = match wants_standby {
        true => Some(checks::standby(connection, &named).await?),
        false => None,
    };
    let lacks = standby.filter(|standby| standby.mend.is_some());
    let lacks =
        lacks.map(|standby| format!("{}: {}", standby.found, standby.mend.unwrap_or_default()));
    let why = trouble(status);
    let mut text = match why.is_empty() {
        true => lacks.unwrap_or_default(),
        false => why,
    };
    text.truncate(text.floor_char_boundary(MAX_TROUBLE as usize));
    Ok(StoreState {
        kind: "postgres".to_string(),
        primary: bounded(address.unwrap_or_else(|| format!("a Unix socket, port {port}"))),
        timeline: checks::timeline(connection).await?.try_into().unwrap_or(0),
        standbys: standbys.try_into().unwrap_or(0),
        wants_standby,
        trouble: text,
    })
}

fn bounded(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_FIELD_TEXT as usize));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_31_a_server_is_silent_before_it_is_over() {
        let lease = Duration::from_secs(10);
        for (unseen_ms, state) in [
            (0, MemberState::Standing),
            (8_999, MemberState::Standing),
            (9_000, MemberState::Silent),
            (9_999, MemberState::Silent),
            (10_000, MemberState::Over),
        ] {
            assert_eq!(state_after(Duration::from_millis(unseen_ms), lease), state);
        }
    }
}
