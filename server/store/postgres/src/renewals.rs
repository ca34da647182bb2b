//! A server renews its lease, and looks at the others of its space while it does so [SPACE-1..4].

use crate::connection::Connection;
use crate::doubt;
use crate::members;
use interweave_store::{StoreError, Watch};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use tokio_postgres::Row;

/// It waits for the standby, and says if the wait was cancelled, whatever the role's settings are.
/// Otherwise a primary that was cut off from its standby could renew a lease, and nobody who asks
/// the new primary would see that. The number is the server's own count of its renewals. The row's
/// number may have been lost with a primary. Raised by one, it would be a number that others have
/// seen long ago.
const RENEW: &str = "
WITH setting AS MATERIALIZED (
  SELECT set_config('synchronous_commit', 'on', true) || set_config('statement_timeout', '0', true)
    || set_config('client_min_messages', 'notice', true) AS set)
UPDATE {s}.owner SET counter = greatest(counter, $2), is_drained = $3 FROM setting
WHERE epoch = $1 AND NOT is_clean AND setting.set = 'on0notice'";

/// Rows of servers that have ended or are over, and own no segment. The counter is compared as in
/// [`members::end`]. A row that a transaction holds is passed over: the next renewal would wait.
const SWEEP: &str = "
WITH gone AS MATERIALIZED (
  SELECT epoch FROM {s}.owner o
  WHERE address IS NOT NULL
    AND (is_clean OR EXISTS (SELECT FROM unnest($1::bigint[], $2::bigint[]) AS over (epoch, counter)
                             WHERE over.epoch = o.epoch AND over.counter = o.counter))
  FOR UPDATE SKIP LOCKED)
DELETE FROM {s}.owner o USING gone
WHERE o.epoch = gone.epoch
  AND NOT EXISTS (SELECT FROM {s}.segment g WHERE g.owner = o.epoch AND NOT g.is_removed)";

/// A server that has crashed may have asked for one renewal that comes after its end.
const RISES_OF_A_LIVING_SERVER: u32 = 2;

pub struct Renewals {
    epoch: u64,
    /// The address that this server advertises.
    address: String,
    watch: Arc<Watch>,
    count: i64,
    /// Servers that joined before this one and advertise its address, with the counters that were
    /// seen last, and how often these have risen. Most often they are earlier starts of this
    /// server.
    twins: HashMap<i64, (i64, u32)>,
    /// Servers that are over, with their counters, whose rows are to be swept away.
    over: HashMap<i64, i64>,
    /// Those of which that was tried.
    swept: HashMap<i64, i64>,
    has_swept: bool,
}

impl Renewals {
    pub fn new(epoch: u64, address: &str, watch: &Arc<Watch>) -> Renewals {
        Renewals {
            epoch,
            address: address.to_string(),
            watch: Arc::clone(watch),
            count: 0,
            twins: HashMap::new(),
            over: HashMap::new(),
            swept: HashMap::new(),
            has_swept: false,
        }
    }

    /// Counts a renewal that is asked for, whether it succeeds or not.
    pub fn begin(&mut self) {
        self.count += 1;
    }

    /// Looks at the others' counters, and raises this server's.
    pub async fn renew(
        &mut self,
        connection: &Connection,
        is_drained: bool,
        now: impl Fn() -> Instant,
    ) -> Result<(), StoreError> {
        let epoch = self.epoch as i64;
        let asked = now();
        let others = connection.rows(members::OTHERS, &[&epoch]).await?;
        self.look_at(&others, (asked, now()))?;
        let notices = connection.notices.count();
        let renewed = connection
            .execute(RENEW, &[&epoch, &self.count, &is_drained])
            .await?;
        match (doubt::look(connection, notices).await, renewed) {
            (Some(doubt), _) => Err(doubt.error("the lease is not renewed on the standby")),
            (None, 0) => Err(StoreError::Fenced(
                "it has found this server over, because its lease was not renewed in time"
                    .to_string(),
            )),
            (None, _) => Ok(()),
        }
    }

    fn look_at(&mut self, others: &[Row], look: (Instant, Instant)) -> Result<(), StoreError> {
        let mut epochs = Vec::new();
        for row in others {
            let (epoch, counter, lease) = members::seen_in(row, 0);
            epochs.push(epoch);
            let is_over = self.watch.saw((epoch, counter), lease, look);
            if is_over && self.swept.get(&epoch) != Some(&counter) {
                self.over.insert(epoch, counter);
            }
            if row.get::<_, String>(3) == self.address && epoch < self.epoch as i64 {
                self.check_twin(epoch, counter)?;
            }
        }
        self.watch.forget_all_but(&epochs);
        self.swept.retain(|epoch, _| epochs.contains(epoch));
        self.twins.retain(|epoch, _| epochs.contains(epoch));
        Ok(())
    }

    /// Two servers with one address would send their clients to each other, and each would take the
    /// other for its own earlier start [SPACE-17]. The one that joined later stops.
    fn check_twin(&mut self, epoch: i64, counter: i64) -> Result<(), StoreError> {
        let (last, rises) = self.twins.entry(epoch).or_insert((counter, 0));
        *rises += u32::from(counter > *last);
        *last = counter;
        match *rises < RISES_OF_A_LIVING_SERVER {
            true => Ok(()),
            false => Err(StoreError::Fenced(format!(
                "server {epoch} of this space also has --advertise {}, and renews its lease; give \
                 each server an address of its own",
                self.address
            ))),
        }
    }

    /// Sweeps away the rows of servers that are gone and own nothing: once at the beginning, and
    /// once for each server that was found over. If such a server owns a segment, the next owner of
    /// that segment deletes the row [SPACE-4].
    pub async fn sweep(&mut self, connection: &Connection) -> Result<(), StoreError> {
        if self.has_swept && self.over.is_empty() {
            return Ok(());
        }
        let over = std::mem::take(&mut self.over);
        let (epochs, counters): (Vec<i64>, Vec<i64>) = over.iter().unzip();
        connection.execute(SWEEP, &[&epochs, &counters]).await?;
        self.has_swept = true;
        self.swept.extend(over);
        Ok(())
    }
}
