//! A request's answer is given once, also if the store's thread ends before [STORE-10].

use interweave_store::StoreError;

type Told<T> = Box<dyn FnOnce(Result<T, StoreError>) + Send>;

/// The answer to a request.
pub struct Answer<T = ()>(Option<Told<T>>);

impl<T> Answer<T> {
    pub fn by(told: Told<T>) -> Answer<T> {
        Answer(Some(told))
    }

    pub fn give(mut self, result: Result<T, StoreError>) {
        if let Some(told) = self.0.take() {
            told(result);
        }
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        if let Some(told) = self.0.take() {
            told(Err(ended()));
        }
    }
}

/// Why a request is not answered by the one who took it.
fn ended() -> StoreError {
    match std::thread::panicking() {
        true => StoreError::Ended("its thread panicked".to_string()),
        false => StoreError::Closed,
    }
}
