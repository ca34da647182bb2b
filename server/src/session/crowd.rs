//! The connections whose peers have not said who they are, and which of them goes when there are
//! too many.
//!
//! A stranger may begin connections faster than a client on a slow line says who it is. So the host
//! with the most of them loses one, and no host keeps the clients of other hosts out.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};

/// The host of connections: an IPv4 address, or the network part of an IPv6 address, because a host
/// has all addresses of that network. None: this machine, or an unknown host.
type Source = Option<IpAddr>;

fn source_of(address: Option<SocketAddr>) -> Source {
    address.map(|address| match address.ip().to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6((u128::from(ip) >> 64 << 64).into()),
        ip => ip,
    })
}

/// Connections by number. Numbers count up, so the lowest is the oldest.
#[derive(Debug, Default)]
pub struct Crowd {
    sources: HashMap<u64, Source>,
    numbers: HashMap<Source, BTreeSet<u64>>,
}

impl Crowd {
    pub fn count(&self) -> usize {
        self.sources.len()
    }

    /// REQUIRES: the number is not there.
    pub fn begin(&mut self, number: u64, from: Option<SocketAddr>) {
        let source = source_of(from);
        self.sources.insert(number, source);
        self.numbers.entry(source).or_default().insert(number);
    }

    /// Takes the connection out, if it is there.
    pub fn end(&mut self, number: u64) {
        let Some(source) = self.sources.remove(&number) else {
            return;
        };
        if let Some(numbers) = self.numbers.get_mut(&source) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.numbers.remove(&source);
            }
        }
    }

    /// Returns the connection that goes first: the oldest of the host that has most. None: there
    /// are none.
    pub fn first_to_go(&self) -> Option<u64> {
        let with_first = |numbers: &BTreeSet<u64>| Some((numbers.len(), *numbers.first()?));
        let all = self.numbers.values().filter_map(with_first);
        let most = all.max_by_key(|(count, first)| (*count, Reverse(*first)));
        most.map(|(_, first)| first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> Option<SocketAddr> {
        Some(format!("{address}:1").parse().unwrap())
    }

    fn crowd(addresses: &[&str]) -> Crowd {
        let mut crowd = Crowd::default();
        for (number, address) in addresses.iter().enumerate() {
            crowd.begin(number as u64, at(address));
        }
        crowd
    }

    /// Returns all in the order in which they go.
    fn order(mut crowd: Crowd) -> Vec<u64> {
        let mut gone = Vec::new();
        while let Some(first) = crowd.first_to_go() {
            crowd.end(first);
            gone.push(first);
        }
        assert!(crowd.count() == 0 && crowd.numbers.is_empty());
        gone
    }

    #[test]
    fn whoever_has_most_goes_first_and_keeps_nobody_else_out() {
        let (one, many) = ("192.0.2.1", "192.0.2.2");
        assert_eq!(order(crowd(&[one, many, many, many])), [1, 2, 0, 3]);
        assert_eq!(order(crowd(&[many, many, one])), [0, 1, 2]);
        assert_eq!(order(crowd(&[one, many, "192.0.2.3"])), [0, 1, 2]);
    }

    #[test]
    fn the_addresses_of_an_ipv6_network_are_one_host() {
        let (one, other) = ("[2001:db8::1]", "[2001:db8:0:1::1]");
        let all = [one, other, "[2001:db8:0:1::2]"];
        assert_eq!(order(crowd(&all)), [1, 0, 2]);
        // A listener for IPv6 and IPv4 sees IPv4 addresses in this form.
        let all = ["[::ffff:192.0.2.1]", "[::ffff:192.0.2.2]", "192.0.2.2"];
        assert_eq!(order(crowd(&all)), [1, 0, 2]);
    }

    #[test]
    fn what_has_no_address_is_one_host() {
        let mut crowd = crowd(&["192.0.2.1"]);
        crowd.begin(1, None);
        crowd.begin(2, None);
        crowd.end(7);
        assert_eq!(crowd.count(), 3);
        assert_eq!(order(crowd), [1, 0, 2]);
    }
}
