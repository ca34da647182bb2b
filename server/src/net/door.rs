//! Decides which requests over HTTP are answered.
//!
//! A page of another site must not reach the server through the user's browser (promise P6). Host
//! must name this host, or over TLS a host of the server's certificate [NET-6]: then a foreign name
//! that is bound to this host's address is refused. A browser's Origin must be a page of this
//! server, or a listed one. A page of another server on this host is a page of another site.

use super::login::Shown;
use super::tls::{HostNames, Validity};
use axum::http::{header, HeaderMap, StatusCode, Uri};
use interweave_access::Peer;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

/// On what connection a request came.
#[derive(Debug, Clone, Default)]
pub struct Way {
    pub peer: Peer,
    /// The hosts of the certificate that the server showed. None: the connection is not encrypted.
    pub names: Option<Arc<HostNames>>,
    /// The token of the login, if it may be passed on.
    pub shown: Shown,
    /// Whether the client's certificate is still valid.
    pub validity: Arc<Validity>,
}

/// Scheme, host and port of a page, as a browser sends them: `http://localhost:3000`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(String);

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is not the origin of a page; write scheme, host and port, like \
                 http://localhost:3000"
            )
        };
        let lower = text.to_ascii_lowercase();
        let authority = authority_of(&lower).ok_or_else(wrong)?;
        let whole = authority.contains(['/', '?', '#', '@']) || authority.is_empty();
        match whole || !authority.is_ascii() {
            true => Err(wrong()),
            false => Ok(Origin(lower)),
        }
    }
}

/// The pages that may ask.
#[derive(Debug)]
pub struct Door {
    /// The port on which this server answers HTTP.
    pub port: u16,
    pub origins: Vec<Origin>,
}

impl Door {
    /// Ok if the request may be answered, else the answer that refuses it.
    /// `names`: the hosts of the server's certificate, if the request is encrypted.
    pub fn admits(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        names: Option<&HostNames>,
    ) -> Result<(), (StatusCode, &'static str)> {
        let host = one_host(uri, headers).ok_or((
            StatusCode::BAD_REQUEST,
            "InterWeave: a request names its host once, in one Host header\n",
        ))?;
        if !is_this_host(&host, names) {
            let text = match names {
                None => {
                    "InterWeave: only pages and programs of this host may ask without TLS: Host \
                     must be localhost, 127.0.0.1 or [::1]\n"
                }
                Some(_) => {
                    "InterWeave: Host must be a host of this server's certificate, localhost, \
                     127.0.0.1 or [::1]; `interweave cert server` makes one for more hosts\n"
                }
            };
            return Err((StatusCode::FORBIDDEN, text));
        }
        let Some(origin) = headers.get(header::ORIGIN) else {
            return Ok(());
        };
        let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
        let several = headers.get_all(header::ORIGIN).iter().count() > 1;
        if several || !self.admits_origin(&origin, &host, names) {
            let text = "InterWeave: only pages of this server may ask, and those of \
                        --allow-origin ORIGIN\n";
            return Err((StatusCode::FORBIDDEN, text));
        }
        Ok(())
    }

    /// Whether a page of that origin may ask. A page of this server names the host and port that
    /// were asked, which may be those of a tunnel, or the same host and HTTP's port. All names of
    /// loopback are one host. Other names of a certificate may be other machines.
    fn admits_origin(&self, origin: &str, host: &str, names: Option<&HostNames>) -> bool {
        let (scheme, default_port) = match names {
            None => ("http://", 80),
            Some(_) => ("https://", 443),
        };
        let own = origin.strip_prefix(scheme).is_some_and(|authority| {
            let port = |authority| port_of(authority).unwrap_or(default_port);
            let is_same_name = split_port(authority).0 == split_port(host).0;
            let is_loopback = |authority| is_this_host(authority, None);
            let is_loopback = is_loopback(authority) && is_loopback(host);
            authority == host
                || port(authority) == self.port
                    && (is_same_name || is_loopback && port(host) == self.port)
        });
        own || self.origins.iter().any(|listed| listed.0 == origin)
    }
}

/// Returns the host that the request names, in small letters; None: no host, or several.
fn one_host(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next()?.to_str().ok()?.to_ascii_lowercase();
    let same = |authority: &str| authority.eq_ignore_ascii_case(&host);
    let agreed = uri.authority().is_none_or(|named| same(named.as_str()));
    (hosts.next().is_none() && agreed).then_some(host)
}

fn authority_of(origin: &str) -> Option<&str> {
    let rest = origin.strip_prefix("http://");
    rest.or(origin.strip_prefix("https://"))
}

/// Splits a host from the text of its port.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (name, Some(port)),
        _ => (authority, None),
    }
}

fn port_of(authority: &str) -> Option<u16> {
    split_port(authority).1?.parse().ok()
}

/// `localhost`, a loopback address or one of the names, with a port or without.
fn is_this_host(authority: &str, names: Option<&HostNames>) -> bool {
    let (name, _) = split_port(authority);
    let bare = name.strip_prefix('[').and_then(|n| n.strip_suffix(']'));
    let bare = bare.unwrap_or(name);
    let address = bare.parse::<IpAddr>();
    bare == "localhost"
        || address.is_ok_and(|ip| ip.is_loopback())
        || names.is_some_and(|names| names.have(bare))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked_of(door: &Door, uri: &str, hosts: &[&str], origin: Option<&str>) -> u16 {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, host.parse().unwrap());
        }
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        let refused = door.admits(&uri.parse().unwrap(), &headers, None).err();
        refused.map_or(200, |(status, _)| status.as_u16())
    }

    fn asked_secretly(host: &str, origin: Option<&str>) -> u16 {
        let door = Door {
            port: 7748,
            origins: Vec::new(),
        };
        let names = HostNames::named(&["sim.example"]);
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        let refused = door.admits(&Uri::from_static("/"), &headers, Some(&names));
        refused.map_or_else(|(status, _)| status.as_u16(), |()| 200)
    }

    #[test]
    fn net_6_over_tls_the_hosts_of_the_certificate_may_be_asked() {
        let page = |origin| asked_secretly("sim.example:7748", Some(origin));
        assert_eq!(asked_secretly("sim.example:7748", None), 200);
        assert_eq!(asked_secretly("Sim.Example", None), 200);
        assert_eq!(asked_secretly("localhost:7748", None), 200);
        assert_eq!(page("https://sim.example:7748"), 200);
        assert_eq!(
            asked_secretly("sim.example:9000", Some("https://sim.example:9000")),
            200
        );
        let by_the_other_port = "sim.example:7747";
        assert_eq!(
            asked_secretly(by_the_other_port, Some("https://sim.example:7748")),
            200
        );
        for origin in [
            "http://sim.example:7748",
            "https://sim.example",
            "https://sim.example:7749",
            "https://other.example:7748",
            "https://localhost:7748",
            "null",
        ] {
            assert_eq!(page(origin), 403, "{origin}");
        }
        assert_eq!(asked_secretly("other.example:7748", None), 403);
        assert_eq!(asked("sim.example:7748", None), 403);
    }

    #[test]
    fn net_6_another_machine_of_the_certificate_is_another_server() {
        let names = HostNames::named(&["*.lab.example"]);
        let door = Door {
            port: 7748,
            origins: Vec::new(),
        };
        let page = |origin: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, "sim.lab.example:7748".parse().unwrap());
            headers.insert(header::ORIGIN, origin.parse().unwrap());
            door.admits(&Uri::from_static("/ws"), &headers, Some(&names))
        };
        assert_eq!(page("https://sim.lab.example:7748"), Ok(()));
        assert!(page("https://evil.lab.example:7748").is_err());
    }

    fn asked(host: &str, origin: Option<&str>) -> u16 {
        let door = Door {
            port: 7748,
            origins: vec!["https://Notes.example".parse().unwrap()],
        };
        asked_of(&door, "/status", &[host], origin)
    }

    #[test]
    fn programs_and_pages_of_this_server_may_ask() {
        assert_eq!(asked("127.0.0.1:7748", None), 200);
        assert_eq!(asked("LocalHost", None), 200);
        assert_eq!(asked("localhost:7748", Some("http://localhost:7748")), 200);
        assert_eq!(asked("127.0.0.1:7748", Some("http://localhost:7748")), 200);
        assert_eq!(asked("[::1]:7748", Some("http://[::1]:7748")), 200);
    }

    #[test]
    fn a_page_that_came_through_a_tunnel_may_ask_through_it() {
        assert_eq!(asked("localhost:9000", Some("http://localhost:9000")), 200);
        assert_eq!(asked("localhost:9000", Some("http://localhost:9001")), 403);
        // At the other end of the tunnel this is another server.
        assert_eq!(asked("localhost:9000", Some("http://127.0.0.1:7748")), 403);
    }

    #[test]
    fn pages_of_other_servers_of_this_host_may_not_ask() {
        for origin in [
            "http://localhost:3000",
            "http://localhost",
            "https://localhost:7748",
            "http://127.0.0.1:7749",
        ] {
            assert_eq!(asked("localhost:7748", Some(origin)), 403, "{origin}");
        }
    }

    #[test]
    fn pages_of_other_sites_may_not_ask_unless_they_are_listed() {
        for origin in [
            "https://example.org",
            "null",
            "",
            "http://localhost.example.org:7748",
            "http://localhost:7748@example.org:7748",
            "http://notes.example",
        ] {
            assert_eq!(asked("localhost:7748", Some(origin)), 403, "{origin}");
        }
        assert_eq!(asked("localhost:7748", Some("https://notes.example")), 200);
    }

    #[test]
    fn a_name_that_was_rebound_to_this_host_may_not_ask() {
        assert_eq!(asked("attacker.example:7748", None), 403);
        let own = Some("http://attacker.example:7748");
        assert_eq!(asked("attacker.example:7748", own), 403);
    }

    #[test]
    fn a_host_is_named_once_and_the_same_everywhere() {
        let door = Door {
            port: 7748,
            origins: Vec::new(),
        };
        let asked = |uri, hosts: &[&str]| asked_of(&door, uri, hosts, None);
        assert_eq!(asked("/", &[]), 400);
        assert_eq!(asked("/", &["localhost", "attacker.example"]), 400);
        assert_eq!(asked("/", &["localhost", "localhost"]), 400);
        assert_eq!(asked("http://attacker.example/", &["localhost"]), 400);
        assert_eq!(asked("http://LOCALHOST:7748/", &["localhost:7748"]), 200);
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for wrong in ["localhost:3000", "http://", "http://a/b", "ftp://a", "*"] {
            assert!(wrong.parse::<Origin>().is_err(), "{wrong}");
        }
        assert!("http://[::1]:3000".parse::<Origin>().is_ok());
    }
}
