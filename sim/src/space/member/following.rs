//! Reads a segment that another server owns, before this one claims it [STORE-16].

use super::seeking::{owner_of, Owner};
use super::{io, locked, SharedState};
use crate::space::work::{Found, Rollback, Work};
use interweave_store::{Follow, Followed, StoreError, Watch};
use std::time::Instant;

enum Stage {
    Finding { asked: Instant },
    Reading { segment: u64 },
}

pub struct Following {
    pub path: String,
    follow: Follow,
    stage: Stage,
}

impl Following {
    pub fn begin(path: String, follow: Follow, asked: Instant) -> Following {
        Following {
            path,
            follow,
            stage: Stage::Finding { asked },
        }
    }

    pub fn work(&mut self, now: Instant) -> Work {
        match &mut self.stage {
            Stage::Finding { asked } => {
                *asked = now;
                let path = self.path.clone();
                Work::Find { path }
            }
            Stage::Reading { segment } => Work::Read { segment: *segment },
        }
    }

    /// After an error the copy is not used any more.
    pub fn fail(self, shared: &SharedState, error: &StoreError) {
        locked(shared).copies.remove(&self.path);
        (self.follow)(Err(error.clone()));
    }

    /// The transaction has ended. Returns what is left to do.
    pub fn ended(
        mut self,
        (epoch, watch, shared): (u64, &Watch, &SharedState),
        now: Instant,
        result: Result<Found, Rollback>,
    ) -> Option<Following> {
        let found = match result {
            Ok(found) => found,
            Err(rollback) => {
                self.fail(shared, &io(rollback));
                return None;
            }
        };
        match (&self.stage, found) {
            (Stage::Finding { asked }, Found::Place(Some(place))) => {
                let has_had = locked(shared).has_had(&place);
                match owner_of(&place, (epoch, has_had), watch, (*asked, now)) {
                    Owner::Alive(_) => {
                        let segment = place.segment;
                        self.stage = Stage::Reading { segment };
                        Some(self)
                    }
                    _ => self.answer(Followed::Free),
                }
            }
            (Stage::Reading { segment }, Found::Row(Some(row))) => {
                let mut state = locked(shared);
                let before = state.copies.get(&self.path);
                let before = before.filter(|copy| copy.segment == *segment);
                // Nothing is claimed.
                let since = before.and_then(|copy| row.since(copy, (0, true)));
                let followed = match since {
                    Some(since) => Followed::More(Box::new(since)),
                    None => {
                        let mut whole = row.recovered(*segment, true);
                        whole.epoch = 0;
                        Followed::Whole(Box::new(whole))
                    }
                };
                if let Some(copy) = row.followed(*segment) {
                    state.copies.insert(self.path.clone(), copy);
                }
                drop(state);
                self.answer(followed)
            }
            (Stage::Reading { .. }, _) => {
                let text = format!("segment {} was removed while it was read", self.path);
                self.fail(shared, &StoreError::Io(text));
                None
            }
            (Stage::Finding { .. }, _) => self.answer(Followed::Absent),
        }
    }

    fn answer(self, followed: Followed) -> Option<Following> {
        (self.follow)(Ok(followed));
        None
    }
}
