//! The transactions of servers: which rows each locks, what it compares, and what it writes. They
//! are those of server/store/postgres.

use super::locks::{Key, Mode};
use super::tables::{Change, OwnerRow, Saved, SegmentRow, Tables};
use interweave_store::{Record, Watch};
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::LogBody;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A segment's part of an append.
#[derive(Debug, Clone)]
pub struct Move {
    pub id: u64,
    /// The claim and the head that its row must have. Without a head it is created.
    pub claim: u64,
    pub was: Option<u64>,
    pub records: Vec<Record>,
}

/// A request to the database.
#[derive(Debug, Clone)]
pub enum Work {
    Join {
        address: String,
        lease_ms: u64,
    },
    /// The other servers' counters.
    Others {
        epoch: u64,
    },
    Renew {
        epoch: u64,
        /// Of the renewals that were asked for.
        count: u64,
        is_drained: bool,
    },
    Find {
        path: String,
    },
    Claim {
        owner: u64,
        /// The epoch and the counter of a server that is over.
        over: Option<(u64, u64)>,
        segment: u64,
        was: u64,
    },
    Read {
        segment: u64,
    },
    Append {
        /// The epoch of the server, and its claim for new segments.
        owner: u64,
        claim: u64,
        moves: Vec<Move>,
        waits: bool,
    },
    /// Decides where segments end [STORE-11].
    Settle {
        owner: u64,
        segments: Vec<u64>,
    },
    /// Why an append was not as its rows are.
    Look {
        owner: u64,
        segments: Vec<u64>,
    },
    Save {
        segment: u64,
        claim: u64,
        /// The last record that the owner knows.
        head: u64,
        saved: Arc<Saved>,
    },
    /// Gives a segment to another server [STORE-17].
    Give {
        owner: u64,
        segment: u64,
        claim: u64,
        /// The last record that the owner knows.
        head: u64,
        member: u64,
    },
    /// The server ends in order. Its segments have these heads. It has claimed or made segments
    /// under these epochs, and may have claimed the segments in doubt.
    End {
        epoch: u64,
        heads: Vec<(u64, u64)>,
        claims: BTreeSet<u64>,
        doubts: BTreeSet<u64>,
    },
}

/// A segment that was looked for.
#[derive(Debug, Clone)]
pub struct Place {
    pub segment: u64,
    pub epoch: u64,
    pub owner: u64,
    /// None: its owner's row is gone.
    pub row: Option<Arc<OwnerRow>>,
}

/// A server, as the others see it.
#[derive(Debug, Clone)]
pub struct Other {
    pub epoch: u64,
    pub row: Arc<OwnerRow>,
}

impl Other {
    /// Whether its lease is over, after this look at it.
    pub fn is_over(&self, watch: &Watch, look: (Instant, Instant)) -> bool {
        let lease = Duration::from_millis(self.row.lease_ms);
        let seen = (self.epoch as i64, self.row.counter as i64);
        watch.saw(seen, lease, look)
    }
}

/// The segments of a server, as they end for good.
#[derive(Debug, Clone)]
pub struct Settled {
    pub claim: u64,
    pub own: Vec<(u64, Arc<SegmentRow>)>,
    pub foreign: Vec<u64>,
}

/// The finding of a transaction.
#[derive(Debug, Clone)]
pub enum Found {
    Joined {
        epoch: u64,
    },
    Others(Vec<Other>),
    /// Whether there was a row to change.
    Changed(bool),
    Place(Option<Place>),
    /// The epoch of the claim.
    Claimed(u64),
    Row(Option<Arc<SegmentRow>>),
    /// The address of the owner now.
    Given(String),
    /// Nothing was changed.
    NotGiven(String),
    /// Nothing was changed, because records are gone.
    Gone,
    /// The new claim; the rows that are the owner's now; the segments of others. None: the owner is
    /// not there any more.
    Settled(Option<Settled>),
    /// Whether the owner is there, and the claim and the head of each segment.
    Looked(bool, Vec<(u64, u64, u64)>),
    Done,
}

/// Why a transaction was rolled back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rollback {
    /// The row of the server that asked is gone.
    NotOwner,
    NotAsKnown,
    PathTaken,
    Deadlock,
}

type Ended = Result<(Vec<Change>, Found), Rollback>;

fn done(changes: Vec<Change>) -> Ended {
    Ok((changes, Found::Done))
}

impl Work {
    /// Whether it is sent as a whole, so that it takes effect although its client is gone.
    pub fn is_sent_whole(&self) -> bool {
        !matches!(
            self,
            Work::Claim { .. } | Work::Join { .. } | Work::Settle { .. } | Work::Give { .. }
        )
    }

    /// Whether its commit waits for the standby.
    pub fn waits(&self) -> bool {
        match self {
            Work::Append { waits, .. } => *waits,
            Work::Claim { .. } => !planted::is_in(Defect::ClaimUnreplicated),
            Work::Renew { .. } => !planted::is_in(Defect::RenewalUnreplicated),
            _ => true,
        }
    }

    /// The rows that it locks, in its order.
    pub fn locks(&self, tables: &Tables) -> Vec<(Key, Mode)> {
        match self {
            Work::Join { .. } => vec![(Key::Store, Mode::Change)],
            Work::Others { .. } | Work::Find { .. } | Work::Read { .. } | Work::Look { .. } => {
                Vec::new()
            }
            Work::Renew { epoch, .. } | Work::End { epoch, .. } => {
                vec![(Key::Owner(*epoch), Mode::Change)]
            }
            Work::Claim {
                owner,
                over,
                segment,
                ..
            } => {
                let mut keys = vec![(Key::Owner(*owner), Mode::KeyShare)];
                keys.extend(over.map(|(epoch, _)| (Key::Owner(epoch), Mode::Delete)));
                keys.push((Key::Store, Mode::Change));
                keys.push((Key::Segment(*segment), Mode::Change));
                keys
            }
            Work::Append { owner, moves, .. } => append_locks(tables, *owner, moves),
            Work::Give {
                owner,
                segment,
                member,
                ..
            } => give_locks(*owner, *member, *segment),
            Work::Settle { owner, segments } => {
                let mut keys = vec![
                    (Key::Store, Mode::Change),
                    (Key::Owner(*owner), Mode::Change),
                ];
                keys.extend(segments.iter().map(|id| (Key::Segment(*id), Mode::Change)));
                keys
            }
            Work::Save { segment, .. } => vec![(Key::Segment(*segment), Mode::Change)],
        }
    }

    /// The deed of a transaction that has all its locks. `was_owner`: it found before that its
    /// claims hold.
    pub fn run(&self, tables: &Tables, was_owner: bool) -> Ended {
        match self {
            Work::Join { address, lease_ms } => join(tables, address, *lease_ms),
            Work::Others { epoch } => Ok((Vec::new(), others(tables, *epoch))),
            Work::Renew {
                epoch,
                count,
                is_drained,
            } => Ok(change_owner(tables, *epoch, |row| {
                row.is_drained = *is_drained;
                row.counter = match planted::is_in(Defect::CounterRepeated) {
                    true => row.counter + 1,
                    false => row.counter.max(*count),
                };
            })),
            Work::End {
                epoch,
                heads,
                claims,
                doubts,
            } => end(tables, *epoch, heads, (claims, doubts)),
            Work::Find { path } => Ok((Vec::new(), Found::Place(find(tables, path)))),
            Work::Claim {
                owner,
                over,
                segment,
                was,
            } => claim(tables, (*owner, *over), (*segment, *was)),
            Work::Read { segment } => {
                let row = tables.segments.get(segment).filter(|row| !row.is_removed);
                Ok((Vec::new(), Found::Row(row.cloned())))
            }
            Work::Append {
                owner,
                claim,
                moves,
                ..
            } => append(tables, (*owner, *claim), moves, was_owner),
            Work::Settle { owner, segments } => settle(tables, *owner, segments),
            Work::Give {
                owner,
                segment,
                claim,
                head,
                member,
            } => give(tables, (*owner, *member), *segment, (*claim, *head)),
            Work::Look { owner, segments } => {
                let row = |id: &u64| {
                    let row = tables.segments.get(id)?;
                    Some((*id, row.epoch, row.head))
                };
                let rows = segments.iter().filter_map(row).collect();
                let is_owner = tables.owners.contains_key(owner);
                Ok((Vec::new(), Found::Looked(is_owner, rows)))
            }
            Work::Save {
                segment,
                claim,
                head,
                saved,
            } => Ok(save(tables, *segment, (*claim, *head), saved)),
        }
    }

    /// Whether an append finds its claims as they were, before it has locked their rows.
    pub fn is_owner(&self, tables: &Tables) -> bool {
        let Work::Append { moves, .. } = self else {
            return true;
        };
        let holds = |m: &Move| {
            let row = tables.segments.get(&m.id);
            m.was.is_none() || row.is_some_and(|row| row.epoch == m.claim)
        };
        moves.iter().all(holds)
    }
}

fn append_locks(tables: &Tables, owner: u64, moves: &[Move]) -> Vec<(Key, Mode)> {
    let mut keys = Vec::new();
    if moves.iter().any(|m| m.was.is_none()) {
        keys.push((Key::Owner(owner), Mode::Change));
    }
    for m in moves.iter().filter(|m| m.was.is_some()) {
        keys.push((Key::Segment(m.id), Mode::Change));
    }
    for m in moves {
        let of_row = tables.segments.get(&m.id).map(|row| row.path());
        let created = m.records.iter().find_map(|record| match &record.body {
            LogBody::Create(create) => Some(create.path.as_str()),
            _ => None,
        });
        let removes = m.records.iter().any(is_removal);
        let path = of_row.filter(|_| removes).or(created);
        keys.extend(path.map(|path| (Key::Path(path.to_string()), Mode::Delete)));
    }
    keys
}

/// It holds both servers' rows: whoever finds one of them over comes before it or after it.
fn give_locks(owner: u64, member: u64, segment: u64) -> Vec<(Key, Mode)> {
    let own = (Key::Owner(owner), Mode::KeyShare);
    let mut keys = vec![(Key::Owner(member), Mode::KeyShare)];
    if !planted::is_in(Defect::GivenUncompared) {
        keys.insert(0, own);
    }
    keys.push((Key::Store, Mode::Change));
    keys.push((Key::Segment(segment), Mode::Change));
    keys
}

fn is_removal(record: &Record) -> bool {
    matches!(record.body, LogBody::Other(_))
}

fn join(tables: &Tables, address: &str, lease_ms: u64) -> Ended {
    let (epoch, store) = next_epoch(tables);
    let row = OwnerRow {
        claim: epoch,
        address: address.to_string(),
        lease_ms,
        counter: 0,
        is_clean: false,
        is_drained: false,
    };
    let joined = Change::Owner(epoch, Some(Arc::new(row)));
    Ok((vec![store, joined], Found::Joined { epoch }))
}

fn others(tables: &Tables, epoch: u64) -> Found {
    let owners = tables.owners.iter();
    let others = owners.filter(|(of, row)| **of != epoch && !row.is_clean);
    let others = others.map(|(of, row)| Other {
        epoch: *of,
        row: Arc::clone(row),
    });
    Found::Others(others.collect())
}

/// Takes the next epoch.
fn next_epoch(tables: &Tables) -> (u64, Change) {
    let last_epoch = tables.last_epoch + 1;
    (last_epoch, Change::Store { last_epoch })
}

fn change_owner(
    tables: &Tables,
    epoch: u64,
    change: impl FnOnce(&mut OwnerRow),
) -> (Vec<Change>, Found) {
    let row = tables.owners.get(&epoch).filter(|row| !row.is_clean);
    let Some(row) = row else {
        return (Vec::new(), Found::Changed(false));
    };
    let mut row = OwnerRow::clone(row);
    change(&mut row);
    let changes = vec![Change::Owner(epoch, Some(Arc::new(row)))];
    (changes, Found::Changed(true))
}

/// The server ends in order, if nothing of its segments is lost, and it knows all that it has
/// claimed or made, or may have claimed.
fn end(
    tables: &Tables,
    epoch: u64,
    heads: &[(u64, u64)],
    (claims, doubts): (&BTreeSet<u64>, &BTreeSet<u64>),
) -> Ended {
    let lacks = |(id, head): &(u64, u64)| {
        let row = tables.segments.get(id);
        row.is_none_or(|row| row.head < *head)
    };
    let is_known = |id: &u64| heads.iter().any(|(known, _)| known == id);
    let has_had = |id, row: &SegmentRow| claims.contains(&row.epoch) || doubts.contains(id);
    let has_lost = tables.segments.iter().any(|(id, row)| {
        row.owner == epoch && has_had(id, row) && !row.is_removed && !is_known(id)
    });
    match has_lost || heads.iter().any(lacks) {
        true => Err(Rollback::NotAsKnown),
        false => Ok(change_owner(tables, epoch, |row| row.is_clean = true)),
    }
}

fn find(tables: &Tables, path: &str) -> Option<Place> {
    let segment = *tables.paths.get(path)?;
    let row = tables.segments.get(&segment)?;
    Some(Place {
        segment,
        epoch: row.epoch,
        owner: row.owner,
        row: tables.owners.get(&row.owner).cloned(),
    })
}

/// Makes a checkpoint valid, if the row is the owner's and has all that the owner knows.
fn save(
    tables: &Tables,
    segment: u64,
    (claim, head): (u64, u64),
    saved: &Arc<Saved>,
) -> (Vec<Change>, Found) {
    let is_known =
        |row: &&Arc<SegmentRow>| row.epoch == claim && row.head >= head && !row.is_removed;
    let row = tables.segments.get(&segment).filter(is_known);
    let Some(row) = row.filter(|row| !row.is_saved_beyond(&saved.head)) else {
        return (Vec::new(), Found::Changed(false));
    };
    let mut row = SegmentRow::clone(row);
    row.save(Arc::clone(saved));
    let changes = vec![Change::Segment(segment, Arc::new(row))];
    (changes, Found::Changed(true))
}

fn claim(
    tables: &Tables,
    (owner, over): (u64, Option<(u64, u64)>),
    (segment, was): (u64, u64),
) -> Ended {
    let own = tables.owners.get(&owner);
    if own.is_none_or(|row| row.is_clean) {
        return Err(Rollback::NotOwner);
    }
    let mut changes = Vec::new();
    if let Some((epoch, counter)) = over {
        match tables.owners.get(&epoch).filter(|row| !row.is_clean) {
            Some(row) if row.counter != counter => return Err(Rollback::NotAsKnown),
            Some(_) => changes.push(Change::Owner(epoch, None)),
            None => {}
        }
    }
    let (epoch, store) = next_epoch(tables);
    changes.push(store);
    let row = tables.segments.get(&segment);
    let row = row.filter(|row| row.epoch == was && !row.is_removed);
    let Some(row) = row else {
        return Err(Rollback::NotAsKnown);
    };
    let mut claimed = SegmentRow::clone(row);
    (claimed.epoch, claimed.owner) = (epoch, owner);
    changes.push(Change::Segment(segment, Arc::new(claimed)));
    Ok((changes, Found::Claimed(epoch)))
}

/// Changes the segment's owner, if the claim is the newest and no record is gone.
fn give(
    tables: &Tables,
    (owner, member): (u64, u64),
    segment: u64,
    (claim, head): (u64, u64),
) -> Ended {
    let compares = !planted::is_in(Defect::GivenUncompared);
    let own = tables.owners.get(&owner);
    if compares && own.is_none_or(|row| row.is_clean) {
        return Err(Rollback::NotOwner);
    }
    let not = |text: &str| {
        Ok((
            Vec::new(),
            Found::NotGiven(format!("member {member} {text}")),
        ))
    };
    let to = tables.owners.get(&member).filter(|row| !row.is_clean);
    let to = match to {
        None => return not("is not one of this space, or has ended"),
        Some(to) if to.is_drained => return not("was drained"),
        Some(to) if own.is_some_and(|own| own.address == to.address) => {
            return not("is an earlier start of this server");
        }
        Some(to) => to,
    };
    let (epoch, store) = next_epoch(tables);
    let row = tables.segments.get(&segment);
    let row = row.filter(|row| !compares || row.epoch == claim);
    let Some(row) = row.filter(|row| !row.is_removed) else {
        return Err(Rollback::NotAsKnown);
    };
    if row.head < head && !planted::is_in(Defect::GivenBehind) {
        return Ok((Vec::new(), Found::Gone));
    }
    let mut given = SegmentRow::clone(row);
    (given.epoch, given.owner) = (epoch, member);
    let changes = vec![store, Change::Segment(segment, Arc::new(given))];
    Ok((changes, Found::Given(to.address.clone())))
}

/// Claims the segments anew, so that an append that is on its way finds its rows changed.
fn settle(tables: &Tables, owner: u64, segments: &[u64]) -> Ended {
    let (claim, store) = next_epoch(tables);
    let Some(row) = tables.owners.get(&owner) else {
        return Ok((Vec::new(), Found::Settled(None)));
    };
    let mut row = OwnerRow::clone(row);
    row.claim = claim;
    let mut changes = vec![store, Change::Owner(owner, Some(Arc::new(row)))];
    let (mut own, mut foreign) = (Vec::new(), Vec::new());
    for id in segments {
        let Some(row) = tables.segments.get(id) else {
            continue;
        };
        if row.owner != owner {
            foreign.push(*id);
            continue;
        }
        let mut row = SegmentRow::clone(row);
        row.epoch = claim;
        let row = Arc::new(row);
        changes.push(Change::Segment(*id, Arc::clone(&row)));
        own.push((*id, row));
    }
    let settled = Settled {
        claim,
        own,
        foreign,
    };
    Ok((changes, Found::Settled(Some(settled))))
}

fn append(tables: &Tables, (owner, claim): (u64, u64), moves: &[Move], was_owner: bool) -> Ended {
    let mut changes = Vec::new();
    let creates = moves.iter().any(|m| m.was.is_none());
    let row = tables.owners.get(&owner);
    if creates && row.is_none_or(|row| row.claim != claim) {
        return Err(Rollback::NotAsKnown);
    }
    let reads_before = planted::is_in(Defect::ClaimReadBefore);
    if reads_before && !was_owner {
        return Err(Rollback::NotAsKnown);
    }
    let compares = !reads_before && !planted::is_in(Defect::ClaimNotCompared);
    for m in moves {
        let mut row = match (m.was, m.records.first().map(|r| (r, &r.body))) {
            (None, Some((record, LogBody::Create(create)))) => {
                if tables.paths.contains_key(&create.path) {
                    return Err(Rollback::PathTaken);
                }
                changes.push(Change::Path(create.path.clone(), Some(m.id)));
                SegmentRow::created(create, record, (m.claim, owner))
            }
            _ => {
                let row = tables.segments.get(&m.id);
                let is_known =
                    |row: &&Arc<SegmentRow>| row.epoch == m.claim && Some(row.head) == m.was;
                let row = row.filter(|row| !compares || is_known(row));
                match row.filter(|row| !row.is_removed) {
                    Some(row) => SegmentRow::clone(row),
                    None => return Err(Rollback::NotAsKnown),
                }
            }
        };
        m.records.iter().for_each(|record| row.take(record));
        if row.is_removed {
            changes.push(Change::Path(row.path().to_string(), None));
        }
        changes.push(Change::Segment(m.id, Arc::new(row)));
    }
    done(changes)
}
