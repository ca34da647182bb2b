//! Where the server listens. Other hosts reach it only if it knows whom it lets in (promise P6).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

pub const DEFAULT_PORT: u16 = 7747;
const DEFAULT_HTTP_PORT: u16 = 7748;

/// `HOST:PORT`, `HOST`, or `unix:PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some("") => Err("unix: needs a path, like unix:/tmp/interweave.sock".to_string()),
            Some(path) => Ok(ListenAddress::Unix(PathBuf::from(path))),
            None => any_address(text, DEFAULT_PORT).map(ListenAddress::Tcp),
        }
    }
}

impl std::fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ListenAddress::Tcp(address) => write!(f, "{address}"),
            ListenAddress::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

fn any_address(text: &str, default_port: u16) -> Result<SocketAddr, String> {
    let with_port = match text.parse::<IpAddr>() {
        Ok(ip) => SocketAddr::new(ip, default_port).to_string(),
        Err(_) if text.ends_with(']') || !text.contains(':') => format!("{text}:{default_port}"),
        Err(_) => text.to_string(),
    };
    let mut addresses = with_port
        .to_socket_addrs()
        .map_err(|error| format!("{text:?} is not an address to listen on: {error}"))?;
    addresses
        .next()
        .ok_or_else(|| format!("{text:?} has no address"))
}

/// Returns the address for HTTP that the text names.
pub fn http_address(text: &str) -> Result<SocketAddr, String> {
    any_address(text, DEFAULT_HTTP_PORT)
}

/// Returns the name of the abstract socket that belongs to a TCP listener [NET-1].
pub fn abstract_name(address: &SocketAddr) -> Option<String> {
    (address.ip() == Ipv4Addr::LOCALHOST).then(|| name_of(address.port()))
}

/// Returns the names of abstract sockets that a server at those addresses holds without listening
/// there [NET-1].
pub fn held_names(addresses: &[ListenAddress]) -> Vec<String> {
    let tcp = || {
        addresses.iter().filter_map(|address| match address {
            ListenAddress::Tcp(address) => Some(address),
            ListenAddress::Unix(_) => None,
        })
    };
    let listened: Vec<String> = tcp().filter_map(abstract_name).collect();
    let reached = tcp().filter(|address| {
        let ip = address.ip();
        ip.is_unspecified() || ip == Ipv6Addr::LOCALHOST
    });
    let mut held: Vec<String> = reached.map(|address| name_of(address.port())).collect();
    held.retain(|name| !listened.contains(name));
    held.sort();
    held.dedup();
    held
}

fn name_of(port: u16) -> String {
    format!("interweave-{port}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn net_1_a_name_is_held_where_localhost_leads_and_nobody_listens() {
        let held = |addresses: &[&str]| {
            let addresses = addresses.iter().map(|text| text.parse().unwrap());
            held_names(&addresses.collect::<Vec<_>>())
        };
        let name = ["interweave-7"];
        assert_eq!(held(&["0.0.0.0:7"]), name);
        assert_eq!(held(&["[::]:7"]), name);
        assert_eq!(held(&["[::1]:7", "0.0.0.0:7"]), name);
        assert_eq!(held(&["[::1]:7", "127.0.0.1:8"]), name);
        assert!(held(&["127.0.0.1:7", "[::1]:7"]).is_empty());
        assert!(held(&["127.0.0.2:7", "10.0.0.1:7", "unix:/s"]).is_empty());
    }
}
