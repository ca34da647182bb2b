//! Random histories with faults: acknowledged groups are there, refused groups are not, and groups
//! of unknown outcome are settled.

use super::{ensure, Case, Held, Owner};
use crate::place::{Ability, Cancel, Crash, Make, Place};
use crate::records::{create, release, Random};
use bytes::Bytes;
use interweave_store::Record;
use interweave_wire::protocol::Durability::Synced;
use std::collections::BTreeMap;

pub const CASES: &[Case] = &[Case {
    name: "random histories with faults",
    promises: "STORE-1 STORE-2 STORE-3 STORE-4 STORE-5 STORE-11",
    needs: &[Ability::Fail, Ability::Crash],
    run: histories,
}];

const SEEDS: u64 = 12;
const STEPS: u64 = 60;
const SEGMENTS: u64 = 4;

fn histories(make: Make<'_>) -> Held {
    for seed in 1..=SEEDS {
        let history = History::begin(make(), seed);
        let held = history.and_then(History::run);
        held.map_err(|error| format!("seed {seed}: {error}"))?;
    }
    Ok(())
}

struct History {
    place: Box<dyn Place>,
    random: Random,
    owner: Owner,
    /// The releases that the segments have.
    known: BTreeMap<u64, Vec<(u64, Bytes)>>,
    /// Tells the groups apart that were tried for the same version.
    tries: u64,
}

impl History {
    fn begin(place: Box<dyn Place>, seed: u64) -> Result<History, String> {
        let owner = Owner::open(&*place)?;
        let all = (1..=SEGMENTS).map(|id| create(id, Synced)).collect();
        owner.keeps(all)?;
        Ok(History {
            place,
            random: Random(seed),
            owner,
            known: (1..=SEGMENTS).map(|id| (id, Vec::new())).collect(),
            tries: 0,
        })
    }

    fn run(mut self) -> Held {
        for _ in 0..STEPS {
            match self.random.below(10) {
                0 => self = self.reopen()?,
                1 => self.place.fail(1),
                2 if self.place.can(Ability::Cancel) => {
                    let cancels = [Cancel::Before, Cancel::Local, Cancel::Late];
                    self.place.cancel(cancels[self.random.below(3) as usize]);
                }
                3 => self.place.let_go(),
                _ => self.append()?,
            }
        }
        self.reopen().map(drop)
    }

    fn append(&mut self) -> Held {
        let first = 1 + self.random.below(SEGMENTS);
        let last = first + self.random.below(SEGMENTS - first + 1);
        let group: Vec<Record> = (first..=last).map(|id| self.next(id)).collect();
        self.tries += 1;
        let is_kept = match self.owner.appended(group.clone())? {
            Ok(()) => true,
            Err(error) if error.is_final() => false,
            Err(_) => self.is_kept(&group)?,
        };
        self.place.fail(0);
        if is_kept {
            for record in group {
                let known = self.known.entry(record.segment_id).or_default();
                known.push((known.len() as u64 + 1, record.diff));
            }
        }
        Ok(())
    }

    fn next(&mut self, segment_id: u64) -> Record {
        let bytes = self.random.below(900) as usize;
        let version = self.known[&segment_id].len() as u64 + 1;
        let diff = crate::records::diff(segment_id, version, self.tries % 256, bytes);
        release(segment_id, version, diff)
    }

    /// Whether the store has kept a group whose outcome was not known.
    fn is_kept(&mut self, group: &[Record]) -> Result<bool, String> {
        let mut kept = 0;
        for record in group {
            let known = self.known[&record.segment_id].len() as u64;
            kept += usize::from(self.owner.end(record.segment_id)? == Some(known + 1));
        }
        ensure(kept == 0 || kept == group.len(), || {
            "a group is kept in part".to_string()
        })?;
        Ok(kept > 0)
    }

    /// Another owner opens the store: after a crash, an end in order, or while this one lives.
    fn reopen(mut self) -> Result<History, String> {
        self.place.fail(0);
        let can_lose = self.place.can(Ability::LosePower);
        let how = self.random.below(4);
        let power = Crash::Power(self.random.below(1 << 20));
        self.owner = match how {
            0 => self.owner.crash(&*self.place, Crash::Process)?,
            1 if can_lose => self.owner.crash(&*self.place, power)?,
            2 => {
                self.owner
                    .store
                    .close(true)
                    .map_err(|error| error.to_string())?;
                Owner::open(&*self.place)?
            }
            _ => Owner::open(&*self.place)?,
        };
        self.place.let_go();
        for (&id, known) in &self.known {
            let found = self.owner.releases(id)?;
            ensure(found == *known, || {
                let versions: Vec<u64> = found.iter().map(|(version, _)| *version).collect();
                format!(
                    "segment {id} has {versions:?}; {} were to be there",
                    known.len()
                )
            })?;
        }
        Ok(self)
    }
}
