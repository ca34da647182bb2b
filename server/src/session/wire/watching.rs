//! Ends connections and sessions whose time is over, and sends heartbeats. A connection is over
//! without a hello in time, after silence, or if its peer takes nothing [SES-2] [SES-3] [NET-3].

use super::super::config::ns;
use super::super::message::ServerMessage;
use super::{Timer, Wire};
use interweave_wire::protocol::{ErrorCode, MessageType};

impl Wire {
    /// Whether the session's lease is over. If not, the session is looked at again in time.
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

    /// Looks at one connection: its hello, its silence, and whether a heartbeat is due [SES-3].
    pub fn watch_connection(&mut self, connection: u64) {
        let Some(c) = self.connections.get(&connection) else {
            return;
        };
        if let Some(failed) = &c.failed {
            return self.watch_failed_login(connection, failed.due_ns);
        }
        // The owner watches over it, and ends it.
        if c.relayed.is_some() {
            return;
        }
        if c.session.is_none() {
            return self.watch_hello(connection, c.connected_ns + ns(self.config.hello_ms));
        }
        // A heartbeat is due after three quarters of its time, so that a late timer does not delay
        // it.
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
        // A connection that does not take its messages is sent no heartbeats.
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

    /// Answers a login that failed, when its time has come, and ends the connection [ACC-8].
    fn watch_failed_login(&mut self, connection: u64, due_ns: u64) {
        if due_ns > self.now_ns {
            self.timers.arm(Timer::Connection(connection), due_ns);
            return;
        }
        let c = self.connections.get_mut(&connection);
        if let Some(failed) = c.and_then(|c| c.failed.take()) {
            self.refuse(connection, failed.stream, &failed.rejection);
        }
        self.close(connection);
    }

    fn watch_hello(&mut self, connection: u64, hello_ns: u64) {
        if hello_ns > self.now_ns {
            self.timers.arm(Timer::Connection(connection), hello_ns);
            return;
        }
        let text = "no hello came in time; say hello as soon as the connection is made";
        let error = ServerMessage::plain_error(0, ErrorCode::TimedOut, text.to_string());
        self.send(connection, error);
        self.close(connection);
    }
}
