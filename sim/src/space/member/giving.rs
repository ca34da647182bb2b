//! Gives a segment to another server [STORE-17].

use super::{io, locked, SharedState};
use crate::space::work::{Found, Rollback, Work};
use interweave_store::{Elsewhere, Give, Given, StoreError};
use interweave_wire::planted::{self, Defect};

pub struct Giving {
    segment: u64,
    /// The claim, and the last record, as this server knows them.
    known: (u64, u64),
    member: u64,
    give: Give,
}

impl Giving {
    /// None: the segment is not this server's any more.
    pub fn begin(
        (segment, member): (u64, u64),
        give: Give,
        shared: &SharedState,
    ) -> Option<Giving> {
        let state = locked(shared);
        let known = state.known.get(segment);
        let known = known.map(|known| (known.claim, known.head));
        drop(state);
        let Some(known) = known else {
            give(Err(StoreError::SegmentsFenced(vec![segment])));
            return None;
        };
        Some(Giving {
            segment,
            known,
            member,
            give,
        })
    }

    pub fn work(&self, owner: u64) -> Work {
        Work::Give {
            owner,
            segment: self.segment,
            claim: self.known.0,
            head: self.known.1,
            member: self.member,
        }
    }

    pub fn fail(self, shared: &SharedState, error: &StoreError) {
        self.answer(shared, Err(error.clone()));
    }

    /// The transaction has ended.
    pub fn ended(self, shared: &SharedState, result: Result<Found, Rollback>, warned: bool) {
        let given = match result {
            _ if warned => Err(StoreError::Io(
                "it is not known whether the standby knows to whom the segment was given".into(),
            )),
            Ok(Found::Given(address)) => Ok(Given::To(Elsewhere {
                address,
                tls_name: String::new(),
            })),
            Ok(Found::NotGiven(why)) => Ok(Given::Not(why)),
            Ok(Found::Gone) => {
                let gone = super::gone(self.segment);
                locked(shared).stopped.get_or_insert(gone.clone());
                Err(gone)
            }
            Ok(_) | Err(Rollback::NotAsKnown) => {
                Err(StoreError::SegmentsFenced(vec![self.segment]))
            }
            Err(rollback) => Err(io(rollback)),
        };
        self.answer(shared, given);
    }

    fn answer(self, shared: &SharedState, given: Result<Given, StoreError>) {
        // Where that is not known, too: the next look at its row tells.
        let is_kept = matches!(given, Ok(Given::Not(_)))
            || given.is_err() && planted::is_in(Defect::GivenInDoubt);
        if !is_kept {
            locked(shared).known.forget(self.segment);
        }
        (self.give)(given);
    }
}
