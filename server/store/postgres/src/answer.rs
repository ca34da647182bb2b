//! A request's answer is given once, also if the store's thread ends before [STORE-10].

use interweave_store::{Done, End, Settled, StoreError};

/// Why a request is not answered by the one who took it.
fn ended() -> StoreError {
    match std::thread::panicking() {
        true => StoreError::Ended("its thread panicked".to_string()),
        false => StoreError::Closed,
    }
}

/// The answer to an append or a checkpoint.
pub struct Answer(Option<Done>);

impl Answer {
    pub fn by(done: Done) -> Answer {
        Answer(Some(done))
    }

    pub fn give(mut self, result: Result<(), StoreError>) {
        if let Some(done) = self.0.take() {
            done(result);
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            done(Err(ended()));
        }
    }
}

/// The answer to a settle.
pub struct Ends(Option<Settled>);

impl Ends {
    pub fn by(settled: Settled) -> Ends {
        Ends(Some(settled))
    }

    pub fn give(mut self, result: Result<Vec<(u64, End)>, StoreError>) {
        if let Some(settled) = self.0.take() {
            settled(result);
        }
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        if let Some(settled) = self.0.take() {
            settled(Err(ended()));
        }
    }
}
