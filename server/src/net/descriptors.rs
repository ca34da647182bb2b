//! Shares out the file descriptors, once at the start. Some are kept, so that with any number of
//! connections the store can begin a log file and a listener can say that it has no room.

use super::tls::{MOST_HALF_OPEN, MOST_PARTING};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use std::io;

/// The most connections of HTTP at a time. There are fewer if descriptors are scarce.
const MOST_HTTP: u64 = 256;

/// The most connections at a time that are passed on to other servers. There are fewer if
/// descriptors are scarce, and never more than a quarter of all connections [SPACE-50].
const MOST_RELAYS: u64 = 256;
/// A connection that is passed on has a second descriptor for its client, and one for the server.
const PER_RELAY: u64 = 2;

/// The descriptors that a kind of server takes.
#[derive(Debug, Clone, Copy)]
struct Needs {
    /// For the store, the listeners and the event loop.
    reserved: u64,
    per_connection: u64,
    per_http: u64,
}

const PLAIN: Needs = Needs {
    reserved: 64,
    // A connection that waits for room to write needs a second one (see `Socket::writable`).
    per_connection: 2,
    per_http: 1,
};
const SECURE: Needs = Needs {
    reserved: PLAIN.reserved + MOST_HALF_OPEN as u64 + 2 * MOST_PARTING as u64,
    // The gate of TLS has the connection's socket, and an end of a pair.
    per_connection: PLAIN.per_connection + 2,
    per_http: PLAIN.per_http + 2,
};

/// How many connections there may be of each kind.
#[derive(Debug, PartialEq, Eq)]
pub struct Shares {
    pub connections: usize,
    pub http: usize,
    pub relays: usize,
}

/// The connections for which a server is to have descriptors.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub connections: usize,
    pub is_secure: bool,
    /// It passes connections on to other servers.
    pub relays: bool,
}

/// Raises the limit as far as this process may, and shares it out. A warning says if that is fewer
/// connections than are wanted. No connection at all is an error.
pub fn share_out(wanted: Wanted) -> io::Result<Shares> {
    let mut needs = if wanted.is_secure { SECURE } else { PLAIN };
    let limit = raised_limit();
    let relays = match wanted.relays {
        true => relays_of(limit, wanted.connections),
        false => 0,
    };
    needs.reserved += PER_RELAY * relays;
    let wanted = wanted.connections;
    let shares = limit.map_or(Some(all(wanted)), |limit| needs.shares_of(limit, wanted));
    let limit = limit.unwrap_or(u64::MAX);
    let Some(shares) = shares else {
        return Err(io::Error::other(format!(
            "{limit} are too few, {} are kept for the store; raise the limit (ulimit -n)",
            needs.reserved
        )));
    };
    if shares.connections < wanted {
        tracing::warn!(
            limit,
            wanted,
            connections = shares.connections,
            "there are file descriptors for {} connections, not for {wanted}: the limit (ulimit \
             -n) is {limit}, and {} would be needed; raise it, or ask for less with \
             --max-connections",
            shares.connections,
            needs.of(wanted),
        );
    }
    Ok(Shares {
        relays: relays as usize,
        ..shares
    })
}

/// How many connections may be passed on, for an eighth of the descriptors.
fn relays_of(limit: Option<u64>, connections: usize) -> u64 {
    let for_relays = limit.unwrap_or(u64::MAX) / 8 / PER_RELAY;
    MOST_RELAYS.min(connections as u64 / 4).min(for_relays)
}

/// Raises the soft limit to the hard limit, and returns it. None means unlimited.
fn raised_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

fn all(connections: usize) -> Shares {
    Shares {
        connections,
        http: MOST_HTTP as usize,
        relays: 0,
    }
}

impl Needs {
    fn of(&self, connections: usize) -> u64 {
        self.reserved + self.per_http * MOST_HTTP + self.per_connection * connections as u64
    }

    fn shares_of(&self, limit: u64, wanted: usize) -> Option<Shares> {
        if limit >= self.of(wanted) {
            return Some(all(wanted));
        }
        let free = limit.saturating_sub(self.reserved);
        // The first connection goes before HTTP.
        let for_http = (free / 4).min(free.saturating_sub(self.per_connection));
        let http = (for_http / self.per_http).min(MOST_HTTP);
        let connections = ((free - http * self.per_http) / self.per_connection).min(wanted as u64);
        (connections > 0).then_some(Shares {
            connections: connections as usize,
            http: http as usize,
            relays: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_given_where_it_fits() {
        assert_eq!(PLAIN.shares_of(20_320, 10_000), Some(all(10_000)));
        let less = PLAIN.shares_of(20_319, 10_000).unwrap();
        assert_eq!((less.connections, less.http), (9_999, 256));
    }

    #[test]
    fn space_50_few_of_all_connections_are_passed_on() {
        assert_eq!(relays_of(None, 10_000), 256);
        assert_eq!(relays_of(Some(100_000), 400), 100);
        assert_eq!(relays_of(Some(1024), 10_000), 64);
    }

    #[test]
    fn the_reserve_is_never_shared_out() {
        for needs in [PLAIN, SECURE] {
            for limit in 0..6_000 {
                let Some(shares) = needs.shares_of(limit, 1_000) else {
                    assert!(limit < needs.reserved + needs.per_connection, "{limit}");
                    continue;
                };
                let used = shares.connections as u64 * needs.per_connection
                    + shares.http as u64 * needs.per_http;
                assert!(used + needs.reserved <= limit, "{limit}: {shares:?}");
            }
        }
    }
}
