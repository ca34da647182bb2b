//! Shares out the file descriptors, once at the start. Some are kept, so that with any number of
//! connections the store can begin a log file and a listener can say that it has no room.

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use std::io;

/// For the store, the listeners and the event loop.
const RESERVED: u64 = 64;
/// The most connections of HTTP at a time. There are fewer if descriptors are scarce.
const MOST_HTTP: u64 = 256;
/// A connection that waits for room to write needs a second one (see `Socket::writable`).
const PER_CONNECTION: u64 = 2;

/// How many connections there may be of each kind.
#[derive(Debug, PartialEq, Eq)]
pub struct Shares {
    pub connections: usize,
    pub http: usize,
}

/// Raises the limit as far as this process may, and shares it out. A warning says if that is fewer
/// connections than are wanted. No connection at all is an error.
pub fn share_out(wanted: usize) -> io::Result<Shares> {
    let limit = raised_limit();
    let shares = limit.map_or(Some(all(wanted)), |limit| shares_of(limit, wanted));
    let limit = limit.unwrap_or(u64::MAX);
    let Some(shares) = shares else {
        return Err(io::Error::other(format!(
            "{limit} are too few, {RESERVED} are kept for the store; raise the limit (ulimit -n)"
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
            needed(wanted),
        );
    }
    Ok(shares)
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

fn needed(connections: usize) -> u64 {
    RESERVED + MOST_HTTP + PER_CONNECTION * connections as u64
}

fn all(connections: usize) -> Shares {
    Shares {
        connections,
        http: MOST_HTTP as usize,
    }
}

fn shares_of(limit: u64, wanted: usize) -> Option<Shares> {
    if limit >= needed(wanted) {
        return Some(all(wanted));
    }
    let free = limit.saturating_sub(RESERVED);
    let http = (free / 4).min(MOST_HTTP);
    let connections = ((free - http) / PER_CONNECTION).min(wanted as u64);
    (connections > 0).then_some(Shares {
        connections: connections as usize,
        http: http as usize,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_given_where_it_fits() {
        assert_eq!(shares_of(20_320, 10_000), Some(all(10_000)));
        let less = shares_of(20_319, 10_000).unwrap();
        assert_eq!((less.connections, less.http), (9_999, 256));
    }

    #[test]
    fn the_reserve_is_never_shared_out() {
        for limit in 0..3_000 {
            let Some(shares) = shares_of(limit, 1_000) else {
                assert!(limit < RESERVED + PER_CONNECTION, "{limit}");
                continue;
            };
            let used = shares.connections as u64 * PER_CONNECTION + shares.http as u64;
            assert!(used + RESERVED <= limit, "{limit}: {shares:?}");
        }
    }
}
