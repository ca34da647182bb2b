//! What the log says of a store that refuses. A store without a standby refuses every write with
//! the same text, and the log is to stay readable.

use std::time::{Duration, Instant};

/// A text that is repeated is said again after this time.
const QUIET: Duration = Duration::from_secs(10);

/// The last text that was said, and how often it came since.
#[derive(Default)]
pub struct Complaints {
    said: Option<(String, Instant)>,
    unsaid: u64,
}

impl Complaints {
    /// None: the text was said a moment ago. Otherwise it is to be said now, and the number tells
    /// how often the text before it came without being said.
    pub fn take(&mut self, text: &str, now: Instant) -> Option<u64> {
        if let Some((said, at)) = &self.said {
            if said == text && now.duration_since(*at) < QUIET {
                self.unsaid += 1;
                return None;
            }
        }
        self.said = Some((text.to_owned(), now));
        Some(std::mem::take(&mut self.unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_text_is_said_again_after_a_while_with_its_number() {
        let begin = Instant::now();
        let mut complaints = Complaints::default();
        assert_eq!(complaints.take("alone", begin), Some(0));
        for millis in [1, 5_000, 9_999] {
            let now = begin + Duration::from_millis(millis);
            assert_eq!(complaints.take("alone", now), None);
        }
        assert_eq!(complaints.take("alone", begin + QUIET), Some(3));
        assert_eq!(complaints.take("alone", begin + QUIET + QUIET), Some(0));
    }

    #[test]
    fn another_text_is_said_at_once() {
        let now = Instant::now();
        let mut complaints = Complaints::default();
        assert_eq!(complaints.take("alone", now), Some(0));
        assert_eq!(complaints.take("alone", now), None);
        assert_eq!(complaints.take("full", now), Some(1));
        assert_eq!(complaints.take("alone", now), Some(0));
    }
}
