//! Looks for a segment by its path, and claims one that no server owns [STORE-14].

use super::appending::KnownSegment;
use super::{io, is_own, locked, SharedState};
use crate::space::tables::FollowedCopy;
use crate::space::work::{Found, Other, Place, Rollback, Work};
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
        /// It was sent, with this copy of before.
        sent: Option<Option<FollowedCopy>>,
    },
    /// A server that claims nothing looks for another one [SPACE-24].
    Naming {
        asked: Instant,
    },
}

pub struct Seeking {
    path: String,
    claims: bool,
    seek: Seek,
    tries: u32,
    stage: Stage,
    /// The segment that is to be claimed was not in doubt before.
    is_new: bool,
}

/// The state of a segment's owner.
pub enum Owner {
    None {
        is_clean: bool,
    },
    /// The same, and it is this server's by its row.
    Own {
        is_clean: bool,
    },
    Over {
        epoch: u64,
        counter: u64,
    },
    Alive(Elsewhere),
}

pub fn owner_of(
    place: &Place,
    (epoch, has_had): (u64, bool),
    watch: &Watch,
    look: (Instant, Instant),
) -> Owner {
    // It was given to this server, or this server has lost it, and claims it again.
    if place.owner == epoch {
        let is_clean = !has_had;
        return Owner::Own { is_clean };
    }
    let Some(row) = &place.row else {
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
    pub fn begin((path, claims): (String, bool), seek: Seek, asked: Instant) -> Seeking {
        Seeking {
            path,
            claims,
            seek,
            tries: 1,
            stage: Stage::Finding { asked },
            is_new: false,
        }
    }

    /// Whether it is about to read the claimed segment of that path.
    pub fn reads(&self, path: &str) -> bool {
        self.is_held() && self.path == path
    }

    pub fn is_held(&self) -> bool {
        matches!(self.stage, Stage::Reading { sent: None, .. })
    }

    pub fn work(&mut self, owner: u64, now: Instant, shared: &SharedState) -> Work {
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
            Stage::Reading { segment, sent, .. } => {
                *sent = Some(locked(shared).copies.remove(&self.path));
                Work::Read { segment: *segment }
            }
            Stage::Naming { asked } => {
                *asked = now;
                Work::Others { epoch: owner }
            }
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
                self.found(found, (epoch, address), (watch, shared), (asked, now))
            }
            (Stage::Naming { asked }, Ok(Found::Others(others))) => {
                self.named(&others, address, watch, (asked, now))
            }
            (Stage::Claiming { .. }, _) if warned => self.answer(Err(StoreError::Io(
                "the claim of a segment is not on the standby".to_string(),
            ))),
            (
                Stage::Claiming {
                    place, is_clean, ..
                },
                Ok(Found::Claimed(epoch)),
            ) => {
                let segment = place.segment;
                locked(shared).claims.insert(epoch);
                self.stage = Stage::Reading {
                    segment,
                    is_clean,
                    sent: None,
                };
                Some(self)
            }
            (Stage::Claiming { place, .. }, Err(Rollback::NotAsKnown)) => {
                if self.is_new {
                    // Nothing was claimed, so the row still tells of its last owner.
                    locked(shared).doubts.remove(&place.segment);
                }
                self.again()
            }
            (
                Stage::Reading {
                    segment,
                    is_clean,
                    sent,
                },
                Ok(Found::Row(Some(row))),
            ) => {
                let known = KnownSegment::of(&row, 0);
                let mut state = locked(shared);
                state.known.insert(segment, known);
                state.doubts.remove(&segment);
                drop(state);
                let copy = sent.flatten().filter(|copy| copy.segment == segment);
                let since = copy.and_then(|copy| row.since(&copy, (row.epoch, is_clean)));
                self.answer(Ok(match since {
                    Some(since) => Sought::Followed(Box::new(since)),
                    None => Sought::Here(Box::new(row.recovered(segment, is_clean))),
                }))
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
        (watch, shared): (&Watch, &SharedState),
        look: (Instant, Instant),
    ) -> Option<Seeking> {
        let Some(place) = found else {
            return match self.claims {
                true => self.answer(Ok(Sought::Absent)),
                false => self.name(look),
            };
        };
        let has_had = locked(shared).has_had(&place);
        let (over, is_clean) = match owner_of(&place, (epoch, has_had), watch, look) {
            Owner::Own { is_clean } => (None, is_clean),
            Owner::None { .. } | Owner::Over { .. } if !self.claims => return self.name(look),
            Owner::None { is_clean } => (None, is_clean),
            Owner::Over { epoch, counter } => (Some((epoch, counter)), false),
            Owner::Alive(at) => {
                return self.sent_to(at, address);
            }
        };
        self.is_new = locked(shared).doubts.insert(place.segment);
        self.stage = Stage::Claiming {
            place,
            over,
            is_clean,
        };
        Some(self)
    }

    fn sent_to(self, at: Elsewhere, address: &str) -> Option<Seeking> {
        let sends_to_itself = planted::is_in(Defect::SentInCircles);
        match is_own(&at, address) && !sends_to_itself {
            true => self.answer(Ok(Sought::Earlier)),
            false => self.answer(Ok(Sought::Elsewhere(at))),
        }
    }

    fn name(mut self, (asked, _): (Instant, Instant)) -> Option<Seeking> {
        self.stage = Stage::Naming { asked };
        Some(self)
    }

    /// Names one of the servers that may claim.
    fn named(
        self,
        others: &[Other],
        address: &str,
        watch: &Watch,
        look: (Instant, Instant),
    ) -> Option<Seeking> {
        let may_claim = |other: &&Other| !other.is_over(watch, look) && !other.row.is_drained;
        let mut able: Vec<&Other> = others.iter().filter(may_claim).collect();
        if able.is_empty() {
            return self.answer(Ok(Sought::Absent));
        }
        // Clients of one path are sent to one server.
        let sum: usize = self.path.bytes().map(usize::from).sum();
        let other = able.swap_remove(sum % able.len());
        let at = Elsewhere {
            address: other.row.address.clone(),
            tls_name: String::new(),
        };
        self.sent_to(at, address)
    }
}
