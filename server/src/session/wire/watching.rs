//! When a connection or session is over: hello in time, heartbeats, silence, stuck peers
//! [SES-2] [SES-3] [NET-3].

use super::super::config::ns;
use super::super::message::Outgoing;
use super::{Timer, Wire};
use interweave_wire::protocol::{ErrorCode, MessageType};

impl Wire {
    /// Whether the session's lease is over; otherwise it is looked at again in time.
    pub fn is_session_over(&mut self, session: u64) -> bool {
        let without_connection = |s: &&super::Session| s.connection.is_none();
        let Some(s) = self.sessions.get(session).filter(without_connection) else {
            return false;
        };
        let is_over = s.expires_ns <= self.now_ns;
        if !is_over {
            self.timers.arm(Timer::Session(session), s.expires_ns);
        }
        is_over
    }

    /// Hello in time, heartbeats when there is nothing else to say [SES-3], silence.
    pub fn watch_connection(&mut self, connection: u64) {
        let Some(c) = self.connections.get(&connection) else {
            return;
        };
        if c.session.is_none() {
            return self.watch_hello(connection, c.connected_ns + ns(self.config.hello_ms));
        }
        // Three quarters of the beat, so that a late timer does not make it longer.
        let beat_ns = ns(self.config.heartbeat_ms) / 4 * 3;
        let silence_ns = c.heard_ns + ns(self.config.lease_ms);
        let stuck_ns = match c.backlog.all {
            0 => u64::MAX,
            _ => c.took_ns + ns(self.config.lease_ms),
        };
        if silence_ns <= self.now_ns {
            self.counters.silent += 1;
            self.close(connection);
            return;
        }
        // [NET-3]
        if stuck_ns <= self.now_ns {
            self.counters.stuck += 1;
            self.close(connection);
            return;
        }
        // Whoever does not take what it was sent is not sent heartbeats on top of it.
        let next_ns = if c.backlog.all > self.config.slow_bytes {
            self.now_ns + beat_ns
        } else {
            if c.sent_ns + beat_ns <= self.now_ns {
                self.send_notification(connection, MessageType::Heartbeat);
            }
            let sent_ns = self.connections.get(&connection).map_or(0, |c| c.sent_ns);
            sent_ns + beat_ns
        };
        self.timers.arm(
            Timer::Connection(connection),
            next_ns.min(silence_ns).min(stuck_ns),
        );
    }

    fn watch_hello(&mut self, connection: u64, hello_ns: u64) {
        if hello_ns > self.now_ns {
            self.timers.arm(Timer::Connection(connection), hello_ns);
            return;
        }
        let text = "no hello came in time; say hello as soon as the connection is made";
        let error = Outgoing::plain_error(0, ErrorCode::TimedOut, text.to_string());
        self.send(connection, error);
        self.close(connection);
    }
}
