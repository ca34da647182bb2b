//! Looks for a segment by its path, and claims one that no server owns [STORE-14].

use super::appending::KnownSegment;
use super::{io, is_own, locked, SharedState};
use crate::space::work::{Found, Place, Rollback, Work};
use interweave_store::{Elsewhere, Seek, Sought, StoreError, Watch};
use interweave_wire::planted::{self, Defect};
use std::time::{Duration, Instant};

/// So often a segment is looked for again that somebody else has claimed, renewed or made
/// meanwhile.
const TRIES: u32 = 8;

enum Stage {
    Finding {
        asked: Instant,
    },
    Claiming {
        place: Place,
        over: Option<(u64, u64)>,
        is_clean: bool,
    },
    Reading {
        segment: u64,
        is_clean: bool,
    },
}

pub struct Seeking {
    path: String,
    seek: Seek,
    tries: u32,
    stage: Stage,
}

/// The state of a segment's owner.
enum Owner {
    None { is_clean: bool },
    Over { epoch: u64, counter: u64 },
    Alive(Elsewhere),
}

fn owner_of(place: &Place, epoch: u64, watch: &Watch, look: (Instant, Instant)) -> Owner {
    // A claim of this server whose outcome was not known is claimed again.
    let row = place.row.as_ref().filter(|_| place.owner != epoch);
    let Some(row) = row else {
        return Owner::None { is_clean: false };
    };
    if row.is_clean {
        return Owner::None { is_clean: true };
    }
    let lease = Duration::from_millis(row.lease_ms);
    let seen = (place.owner as i64, row.counter as i64);
    match watch.saw(seen, lease, look) {
        true => Owner::Over {
            epoch: place.owner,
            counter: row.counter,
        },
        false => Owner::Alive(Elsewhere {
            address: row.address.clone(),
            tls_name: String::new(),
        }),
    }
}

impl Seeking {
    pub fn begin(path: String, seek: Seek, asked: Instant) -> Seeking {
        Seeking {
            path,
            seek,
            tries: 1,
            stage: Stage::Finding { asked },
        }
    }

    pub fn work(&mut self, owner: u64, now: Instant) -> Work {
        match &mut self.stage {
            Stage::Finding { asked } => {
                *asked = now;
                let path = self.path.clone();
                Work::Find { path }
            }
            Stage::Claiming { place, over, .. } => Work::Claim {
                owner,
                over: *over,
                segment: place.segment,
                was: place.epoch,
            },
            Stage::Reading { segment, .. } => Work::Read { segment: *segment },
        }
    }

    pub fn fail(self, error: &StoreError) {
        (self.seek)(Err(error.clone()));
    }

    /// The transaction has ended. Returns what is left to do.
    pub fn ended(
        mut self,
        ((epoch, address), watch, shared): ((u64, &str), &Watch, &SharedState),
        now: Instant,
        result: Result<Found, Rollback>,
        warned: bool,
    ) -> Option<Seeking> {
        let stage = std::mem::replace(&mut self.stage, Stage::Finding { asked: now });
        match (stage, result) {
            (Stage::Finding { asked }, Ok(Found::Place(found))) => {
                self.found(found, (epoch, address), watch, (asked, now))
            }
            (Stage::Claiming { .. }, _) if warned => self.answer(Err(StoreError::Io(
                "the claim of a segment is not on the standby".to_string(),
            ))),
            (
                Stage::Claiming {
                    place, is_clean, ..
                },
                Ok(Found::Claimed(_)),
            ) => {
                let segment = place.segment;
                self.stage = Stage::Reading { segment, is_clean };
                Some(self)
            }
            (Stage::Claiming { .. }, Err(Rollback::NotAsKnown)) => self.again(),
            (Stage::Reading { segment, is_clean }, Ok(Found::Row(Some(row)))) => {
                let known = KnownSegment::of(&row, 0);
                locked(shared).known.insert(segment, known);
                self.answer(Ok(Sought::Here(Box::new(row.recovered(segment, is_clean)))))
            }
            (_, Err(rollback)) => self.answer(Err(io(rollback))),
            (_, Ok(_)) => {
                let text = format!("segment {} was removed while it was read", self.path);
                self.answer(Err(StoreError::Io(text)))
            }
        }
    }

    fn answer(self, sought: Result<Sought, StoreError>) -> Option<Seeking> {
        (self.seek)(sought);
        None
    }

    fn again(mut self) -> Option<Seeking> {
        if self.tries >= TRIES {
            let text = format!("segment {} goes from server to server", self.path);
            return self.answer(Err(StoreError::Io(text)));
        }
        self.tries += 1;
        Some(self)
    }

    fn found(
        mut self,
        found: Option<Place>,
        (epoch, address): (u64, &str),
        watch: &Watch,
        look: (Instant, Instant),
    ) -> Option<Seeking> {
        let Some(place) = found else {
            return self.answer(Ok(Sought::Absent));
        };
        let (over, is_clean) = match owner_of(&place, epoch, watch, look) {
            Owner::None { is_clean } => (None, is_clean),
            Owner::Over { epoch, counter } => (Some((epoch, counter)), false),
            Owner::Alive(at) => {
                let sends_to_itself = planted::is_in(Defect::SentInCircles);
                return match is_own(&at, address) && !sends_to_itself {
                    true => self.answer(Ok(Sought::Earlier)),
                    false => self.answer(Ok(Sought::Elsewhere(at))),
                };
            }
        };
        self.stage = Stage::Claiming {
            place,
            over,
            is_clean,
        };
        Some(self)
    }
}
