//! How fast a large checkpoint is written, so that those who wait for the log do not wait for it.
//!
//! The kernel writes what is not yet on the disk together with the log's next sync. So the
//! checkpoint is synced in small steps, and rests after each while the log is in use.

use std::time::Duration;

/// The checkpoint is brought to the disk after so many bytes.
pub const STEP_BYTES: u64 = 1 << 20;
/// It is written at least so fast, in bytes a second, if the disk is: a log that is full waits for
/// it.
const FLOOR: u64 = 16 << 20;
/// While the log is in use, a rest is so many times as long as the step before took.
const RESTS: u32 = 2;

/// How long to rest after a step that took that long; None: not at all.
pub fn pause(step: Duration, bytes: u64, log_is_busy: bool) -> Option<Duration> {
    let longest = Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / FLOOR);
    let rest = (step * RESTS).min(longest.saturating_sub(step));
    (log_is_busy && !rest.is_zero()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_rests_only_while_the_log_is_busy_and_never_falls_below_the_floor() {
        let ms = Duration::from_millis;
        assert_eq!(pause(ms(3), STEP_BYTES, false), None);
        assert_eq!(pause(ms(3), STEP_BYTES, true), Some(ms(6)));
        let slow = pause(ms(50), STEP_BYTES, true).expect("a rest");
        assert_eq!(slow + ms(50), Duration::from_micros(62_500));
        assert_eq!(pause(ms(70), STEP_BYTES, true), None);
    }
}
