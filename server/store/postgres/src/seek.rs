//! Looks for a segment by its path, and claims one that no server owns [STORE-14].
//!
//! A claim changes the segment's row, as appends do, so the two never pass each other. It holds
//! this server's own row as well: whoever finds this server over comes before the claim, which then
//! fails, or after it. A segment of which this server is the owner by its row, and which it has not
//! claimed, was given to it [STORE-17].

use crate::claim::{self, Claim};
use crate::connection::Connection;
use crate::doubt;
use crate::follow::Copies;
use crate::members;
use crate::reading;
use crate::segments::Segment;
use crate::shared::Shared;
use crate::transaction;
use crate::waits::{self, Wait};
use interweave_store::{Elsewhere, RecoveredSegment, Since, StoreError, Watch};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_postgres::Row;

/// So often a segment is looked for again that somebody else has claimed, renewed or made
/// meanwhile.
const TRIES: u32 = 8;

const FIND: &str = "
SELECT s.id, s.epoch, s.owner, o.is_clean, o.address, o.tls_name, o.epoch, o.counter, o.lease_ms
FROM {s}.creation c LEFT JOIN {s}.segment s ON s.id = c.segment
  LEFT JOIN {s}.owner o ON o.epoch = s.owner
WHERE c.path = $1";

const CLAIM: &str = "
UPDATE {s}.segment SET epoch = $1, owner = $2 WHERE id = $3 AND epoch = $4 AND NOT is_removed";

/// A segment that was looked for.
pub enum Found {
    Here(u64, Box<Segment>, Box<RecoveredSegment>),
    /// The same, of a segment that was read before.
    Followed(u64, Box<Segment>, Box<Since>),
    Elsewhere(Elsewhere),
    Absent,
}

/// The segment's row, and what follows from its owner's.
pub struct Place {
    pub id: i64,
    epoch: i64,
    pub owner: Owner,
}

impl Place {
    /// Returns whether the segment lacks nothing, by its last owner.
    fn is_clean(&self) -> bool {
        matches!(
            self.owner,
            Owner::None { is_clean: true } | Owner::Own { is_clean: true }
        )
    }
}

pub enum Owner {
    /// The segment may be claimed. `is_clean`: its last owner has ended in order.
    None {
        is_clean: bool,
    },
    /// The same, and it is this server's by its row.
    Own {
        is_clean: bool,
    },
    /// The same, once the row of the owner with this epoch and counter is gone.
    Over {
        epoch: i64,
        counter: i64,
    },
    Alive(Elsewhere),
    /// It shares the store with nobody.
    Alone,
}

/// This server, as it looks for segments.
pub struct Seeker {
    pub epoch: u64,
    pub watch: Arc<Watch>,
    shared: Arc<Shared>,
}

impl Seeker {
    pub fn new(epoch: u64, watch: &Arc<Watch>, shared: &Arc<Shared>) -> Seeker {
        shared.lock().claims.insert(epoch as i64);
        Seeker {
            epoch,
            watch: Arc::clone(watch),
            shared: Arc::clone(shared),
        }
    }

    /// Looks for the segment's row, if there is one.
    pub async fn find(
        &self,
        connection: &Connection,
        path: &str,
        now: impl Fn() -> Instant,
    ) -> Result<Option<Place>, StoreError> {
        let asked = now();
        let rows = connection.rows(FIND, &[&path.as_bytes()]).await?;
        let look = (asked, now());
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        reading::expect_row(row, 0, path.as_bytes())?;
        let place = self.place_in(row, look);
        match place.owner {
            Owner::Alone => Err(StoreError::Io(format!(
                "segment {path} is owned by a server that shares the store with nobody; stop it"
            ))),
            _ => Ok(Some(place)),
        }
    }

    fn place_in(&self, row: &Row, look: (Instant, Instant)) -> Place {
        let has_had = |id: &i64, epoch: &i64| {
            let told = self.shared.lock();
            told.doubts.contains(id) || told.claims.contains(epoch)
        };
        place_in(row, self.epoch, has_had, &self.watch, look)
    }

    /// Somebody waits for an answer on that connection from now on, and no longer than that.
    pub fn wait(&self, connection: &Connection, longest: Duration) -> Wait<'_> {
        self.shared.wait(connection, longest)
    }

    /// Returns whether that is new.
    fn doubt(&self, id: i64, is_doubted: bool) -> bool {
        let doubts = &mut self.shared.lock().doubts;
        match is_doubted {
            true => doubts.insert(id),
            false => doubts.remove(&id),
        }
    }

    /// Looks for the segment. `claims`: claims it if no other server owns it; otherwise claims it
    /// only if it was given to this server, and else names a server that may [SPACE-24].
    pub async fn seek(
        &self,
        connection: &Connection,
        (path, claims): (&str, bool),
        copies: &Copies,
        now: impl Fn() -> Instant,
    ) -> Result<Found, StoreError> {
        for _ in 0..TRIES {
            let wait = self.wait(connection, waits::SHORT);
            let place = match self.find(connection, path, &now).await? {
                Some(place) => place,
                None if claims => return Ok(Found::Absent),
                None => return self.another(connection, path, &now).await,
            };
            match place.owner {
                Owner::Alive(elsewhere) => return Ok(Found::Elsewhere(elsewhere)),
                Owner::Own { .. } => {}
                _ if !claims => return self.another(connection, path, &now).await,
                _ => {}
            }
            // A segment that is whole stays so until it is read, whether the claim is there or not.
            let may_lack = !place.is_clean();
            let is_new = may_lack && self.doubt(place.id, true);
            if let Some(claim) = claim(connection, self.epoch, &place).await? {
                let claimed = || self.shared.lock().claims.insert(claim.epoch as i64);
                if may_lack {
                    claimed();
                }
                drop(wait);
                let _wait = self.wait(connection, waits::LONG);
                let found = read(connection, &claim, (path, place.id as u64), copies).await?;
                claimed();
                self.doubt(place.id, false);
                return Ok(found);
            }
            if is_new {
                // Nothing was claimed, so the row still tells of its last owner.
                self.doubt(place.id, false);
            }
        }
        Err(StoreError::Io(format!(
            "segment {path} goes from server to server; ask again"
        )))
    }

    /// Names one of the other servers that are not over. Clients of one path are sent to one
    /// server, those of several paths to several.
    async fn another(
        &self,
        connection: &Connection,
        path: &str,
        now: impl Fn() -> Instant,
    ) -> Result<Found, StoreError> {
        let mut others = members::others(connection, self.epoch, &self.watch, now).await?;
        if others.is_empty() {
            return Ok(Found::Absent);
        }
        let index = crc32c::crc32c(path.as_bytes()) as usize % others.len();
        Ok(Found::Elsewhere(others.swap_remove(index)))
    }
}

/// Reads a segment that was claimed, but not again what is known of it already.
async fn read(
    connection: &Connection,
    claim: &Claim,
    (path, id): (&str, u64),
    copies: &Copies,
) -> Result<Found, StoreError> {
    let claimed = (claim.epoch, claim.is_clean);
    let copy = copies.take(path).await;
    if let Some(copy) = copy.filter(|copy| copy.id == id) {
        let before = (&copy.segment, copy.is_logged);
        let since = reading::read_since(connection, claimed, id, before).await?;
        if let Some((segment, since)) = since {
            return Ok(Found::Followed(id, Box::new(segment), Box::new(since)));
        }
    }
    let (segment, recovered) = reading::read_one(connection, claimed, id).await?;
    Ok(Found::Here(id, Box::new(segment), Box::new(recovered)))
}

fn place_in(
    row: &Row,
    epoch: u64,
    has_had: impl Fn(&i64, &i64) -> bool,
    watch: &Watch,
    look: (Instant, Instant),
) -> Place {
    let owner: i64 = row.get(2);
    let is_clean: Option<bool> = row.get(3);
    let address: Option<String> = row.get(4);
    let (id, claim): (i64, i64) = (row.get(0), row.get(1));
    // This server has lost the segment, and claims it again: versions may be lost. Or the segment
    // was given to it, after the end of all releases: then its epoch is one of another server.
    let owner = match (is_clean, address) {
        _ if owner == epoch as i64 => Owner::Own {
            is_clean: !has_had(&id, &claim),
        },
        (None, _) => Owner::None { is_clean: false },
        (Some(true), _) => Owner::None { is_clean: true },
        (Some(false), None) => Owner::Alone,
        (Some(false), Some(address)) => {
            let (epoch, counter, lease) = members::seen_in(row, 6);
            match watch.saw((epoch, counter), lease, look) {
                true => Owner::Over { epoch, counter },
                false => Owner::Alive(Elsewhere {
                    address,
                    tls_name: row.get(5),
                }),
            }
        }
    };
    Place {
        id,
        epoch: claim,
        owner,
    }
}

/// Claims the segment. None: it has changed since it was looked at.
async fn claim(
    connection: &Connection,
    epoch: u64,
    place: &Place,
) -> Result<Option<Claim>, StoreError> {
    let notices = connection.notices.count();
    let claimed = try_to_claim(connection, epoch, place).await;
    if !matches!(claimed, Ok(Some(_))) {
        return connection.run("ROLLBACK").await.and(claimed);
    }
    match doubt::look(connection, notices).await {
        None => claimed,
        Some(doubt) => {
            Err(doubt.error("the claim of a segment may not be on the standby; ask again"))
        }
    }
}

async fn try_to_claim(
    connection: &Connection,
    epoch: u64,
    place: &Place,
) -> Result<Option<Claim>, StoreError> {
    connection.run(&transaction::begin(true)).await?;
    members::hold(connection, epoch).await?;
    let is_clean = match place.owner {
        Owner::None { is_clean } | Owner::Own { is_clean } => is_clean,
        Owner::Over { epoch, counter } => {
            if !members::end(connection, epoch, counter).await? {
                return Ok(None);
            }
            false
        }
        Owner::Alive(_) | Owner::Alone => return Ok(None),
    };
    let next = claim::next_epoch(connection).await?;
    let columns = (next.epoch as i64, epoch as i64);
    let claimed = connection
        .execute(CLAIM, &[&columns.0, &columns.1, &place.id, &place.epoch])
        .await?;
    if claimed == 0 {
        return Ok(None);
    }
    connection.run("COMMIT").await?;
    Ok(Some(Claim { is_clean, ..next }))
}
