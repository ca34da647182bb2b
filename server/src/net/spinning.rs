//! Looks for the next message for some microseconds before the server's thread sleeps.
//!
//! Waking up a sleeping thread takes longer than many a client takes to ask again. So a server that
//! may spin (`--spin-us`) looks without sleeping, if messages have come soon after each other. It
//! stops when another thread wants its processor. [`Spinning`] decides, and has no clock.

use super::clock;
use super::shell::Shell;
use std::rc::Rc;

/// What a message adds that came soon after the one before it.
const SOON: u32 = 2;
/// What a message takes off that came late.
const LATE: u32 = 1;
const MOST: u32 = 8;
/// From this sum on it pays to look.
const ENOUGH: u32 = 4;
/// A look that takes longer was interrupted, because another thread has had the processor.
const LOOK_NS: u64 = 20_000;
/// After an interrupted look there are no looks for so long.
const REST_NS: u64 = 10_000_000;

/// Decides when looking pays. A third of all messages must come soon enough to be found.
#[derive(Debug, Default)]
pub struct Spinning {
    /// The longest time of looking; 0: never look.
    limit_ns: u64,
    heard_ns: u64,
    sum: u32,
    rests_until_ns: u64,
}

impl Spinning {
    pub fn new(limit_ns: u64) -> Self {
        Spinning {
            limit_ns,
            ..Spinning::default()
        }
    }

    /// A message has come. Returns until when to look for the next one. None: do not look.
    pub fn heard(&mut self, now_ns: u64) -> Option<u64> {
        if self.limit_ns == 0 {
            return None;
        }
        let soon = now_ns.saturating_sub(self.heard_ns) <= self.limit_ns;
        self.heard_ns = now_ns;
        self.sum = match soon {
            true => (self.sum + SOON).min(MOST),
            false => self.sum.saturating_sub(LATE),
        };
        let pays = self.sum >= ENOUGH && now_ns >= self.rests_until_ns;
        pays.then_some(now_ns + self.limit_ns)
    }

    /// One look has found nothing. Returns whether to look again.
    pub fn looked(&mut self, from_ns: u64, now_ns: u64) -> bool {
        let was_alone = now_ns.saturating_sub(from_ns) <= LOOK_NS;
        if !was_alone {
            self.rests_until_ns = now_ns + REST_NS;
        }
        was_alone
    }
}

/// Keeps the event loop from sleeping while looking pays.
pub async fn spin(shell: Rc<Shell>) {
    loop {
        let mut until_ns = shell.wants_spinning().await;
        let mut from_ns = clock::now_ns();
        while from_ns < until_ns {
            // Another thread that waits for this processor gets it.
            std::thread::yield_now();
            tokio::task::yield_now().await;
            let now_ns = clock::now_ns();
            let newer_ns = shell.spins_until_ns();
            let found = newer_ns != until_ns;
            if !found && !shell.looked(from_ns, now_ns) {
                break;
            }
            (from_ns, until_ns) = (now_ns, newer_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT_NS: u64 = 50_000;
    const SOON_NS: u64 = 10_000;
    const LATE_NS: u64 = 1_000_000;

    /// Messages that come so long after each other. Returns whether to look after each.
    fn heard(spinning: &mut Spinning, now_ns: &mut u64, gaps_ns: &[u64]) -> Vec<bool> {
        let looks = gaps_ns.iter().map(|gap_ns| {
            *now_ns += gap_ns;
            let until_ns = spinning.heard(*now_ns);
            assert!(until_ns.is_none_or(|until_ns| until_ns == *now_ns + LIMIT_NS));
            until_ns.is_some()
        });
        looks.collect()
    }

    #[test]
    fn a_server_looks_after_some_messages_that_came_soon() {
        let (mut spinning, mut now_ns) = (Spinning::new(LIMIT_NS), LATE_NS);
        let looks = heard(&mut spinning, &mut now_ns, &[LATE_NS, SOON_NS, SOON_NS]);
        assert_eq!(looks, [false, false, true]);
    }

    #[test]
    fn a_server_whose_messages_come_late_does_not_look() {
        let (mut spinning, mut now_ns) = (Spinning::new(LIMIT_NS), LATE_NS);
        heard(&mut spinning, &mut now_ns, &[SOON_NS; 10]);
        let looks = heard(&mut spinning, &mut now_ns, &[LATE_NS; 6]);
        assert_eq!(looks, [true, true, true, true, false, false]);
    }

    #[test]
    fn one_message_in_two_that_comes_soon_is_enough_and_one_in_four_is_not() {
        let (mut spinning, mut now_ns) = (Spinning::new(LIMIT_NS), LATE_NS);
        let looks = heard(&mut spinning, &mut now_ns, &[SOON_NS, LATE_NS].repeat(10));
        assert!(looks.ends_with(&[true, true]));
        let often_late = [SOON_NS, LATE_NS, LATE_NS, LATE_NS].repeat(10);
        assert!(heard(&mut spinning, &mut now_ns, &often_late).ends_with(&[false; 4]));
    }

    #[test]
    fn a_server_that_may_not_spin_never_looks() {
        let mut spinning = Spinning::new(0);
        assert!((0..20).all(|now_ns| spinning.heard(now_ns).is_none()));
    }

    #[test]
    fn an_interrupted_look_is_followed_by_a_rest() {
        let (mut spinning, mut now_ns) = (Spinning::new(LIMIT_NS), LATE_NS);
        assert!(heard(&mut spinning, &mut now_ns, &[SOON_NS; 4])[3]);
        assert!(spinning.looked(now_ns, now_ns + LOOK_NS));
        assert!(!spinning.looked(now_ns, now_ns + LOOK_NS + 1));
        assert_eq!(heard(&mut spinning, &mut now_ns, &[SOON_NS; 4]), [false; 4]);
        now_ns += REST_NS;
        assert!(heard(&mut spinning, &mut now_ns, &[SOON_NS; 4])[3]);
    }
}
