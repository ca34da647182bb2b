//! URLs and MIPs as text: spec/format/mip.md. Nothing here asks whether the segment exists.

use std::fmt;

use crate::pointer::MAX_SERIAL;
use crate::protocol::{ErrorCode, MAX_NAME, MAX_PATH};
use crate::rejection::Rejection;

/// [MIP-1]
pub const DEFAULT_PORT: u16 = 7747;
/// [MIP-6]
pub const MAX_MIP_BYTES: usize = 4096;
/// [MIP-7]
pub const MAX_SERVERS: usize = 8;

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// The host in lower case, an IPv6 address without its brackets.
    Tcp {
        host: String,
        port: u16,
        /// TLS [MIP-2]
        secure: bool,
    },
    Unix {
        file: String,
    },
}

/// The servers that a URL names: one, or servers of one space in the order in which a client asks
/// them [MIP-7]. They are different, at most [`MAX_SERVERS`], and all encrypted or none. A Unix
/// socket is alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Servers(Vec<Address>);

/// A segment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Url {
    pub servers: Servers,
    /// Begins with '/'.
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum BlockRef {
    Serial(u64),
    Name(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mip {
    pub url: Url,
    /// None: the segment itself.
    pub block: Option<BlockRef>,
    pub offset: u64,
}

fn bad<T>(text: &str, why: &str) -> Result<T, Rejection> {
    let shown: String = text.chars().take(200).collect();
    Err(Rejection::new(
        ErrorCode::BadUrl,
        format!(
            "`{shown}` {why}; write [iw://|iws://]host[:port]{{,host[:port]}}/path, or \
             unix:FILE:/path"
        ),
    ))
}

impl Url {
    pub fn parse(text: &str) -> Result<Url, Rejection> {
        if text.len() > MAX_MIP_BYTES {
            return bad(text, "is longer than 4096 bytes");
        }
        let (servers, path) = match text.strip_prefix("unix:") {
            Some(rest) => {
                let Some(colon) = rest.find(":/") else {
                    return bad(text, "has no `:/path` after the socket's file");
                };
                let file = rest[..colon].to_string();
                if file.is_empty() || file.contains(char::is_control) {
                    return bad(text, "does not name the socket's file");
                }
                (Servers::from(Address::Unix { file }), &rest[colon + 1..])
            }
            None => {
                let (secure, rest) = split_scheme(text);
                let Some(slash) = rest.find('/') else {
                    return bad(text, "has no path");
                };
                let (hosts, path) = rest.split_at(slash);
                match Servers::parse_with(secure, hosts, path) {
                    Ok(servers) => (servers, path),
                    Err(why) => return bad(text, &why),
                }
            }
        };
        if !is_path(path) {
            return bad(
                text,
                "has a path with '#' or control characters, or longer than 1024 bytes",
            );
        }
        Ok(Url {
            servers,
            path: path.to_string(),
        })
    }
}

/// Returns whether the URL asks for TLS [MIP-2], and what stands behind its scheme.
pub fn split_scheme(text: &str) -> (bool, &str) {
    match text.strip_prefix("iws://") {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix("iw://").unwrap_or(text)),
    }
}

/// Says in a text for people why `address`, followed by `behind`, is not valid.
fn what_is_wrong_with_address(behind: &str, address: &str) -> String {
    let port = match address.rsplit_once(']') {
        Some((_, port)) => port.strip_prefix(':'),
        None => address.split_once(':').map(|(_, port)| port),
    };
    match (address.strip_suffix(':'), port) {
        (Some(scheme), _) if behind.starts_with("//") => {
            format!("has the scheme `{scheme}`, and only iw and iws are known")
        }
        (_, Some(port)) if !address.starts_with(':') && !port.contains(':') => {
            format!("has the port `{port}`; a port is a number from 1 to 65535")
        }
        _ => "does not name a host".to_string(),
    }
}

impl Servers {
    /// `HOST[:PORT]`, or several with commas between, with `iw://` or `iws://` before the first or
    /// without a scheme. The error says in a text for people why that is not valid.
    pub fn parse(text: &str) -> Result<Servers, String> {
        let (secure, hosts) = split_scheme(text);
        Servers::parse_with(secure, hosts, "")
    }

    /// The same, of a text that `behind` follows.
    fn parse_with(secure: bool, hosts: &str, behind: &str) -> Result<Servers, String> {
        let mut servers = Vec::new();
        for host in hosts.split(',') {
            let is_first = servers.is_empty();
            let Some(server) = Address::parse_with(secure, host) else {
                return Err(match host.strip_suffix(':') {
                    Some(_) if !is_first && behind.starts_with("//") => {
                        "has a scheme within the list; it stands before the first host alone".into()
                    }
                    _ => what_is_wrong_with_address(behind, host),
                });
            };
            if servers.contains(&server) {
                return Err(format!("names the host `{host}` twice"));
            }
            if servers.len() == MAX_SERVERS {
                return Err(format!("names more than {MAX_SERVERS} hosts"));
            }
            servers.push(server);
        }
        Ok(Servers(servers))
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Address> {
        self.0.iter()
    }

    /// The server that a client asks first.
    pub fn first(&self) -> &Address {
        &self.0[0]
    }

    /// The only server. None: there are several.
    pub fn only(&self) -> Option<&Address> {
        match &*self.0 {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Whether connections are encrypted [MIP-2].
    pub fn is_secure(&self) -> bool {
        self.iter()
            .any(|server| matches!(server, Address::Tcp { secure: true, .. }))
    }
}

impl From<Address> for Servers {
    fn from(server: Address) -> Servers {
        Servers(vec![server])
    }
}

impl Address {
    /// `host`, `host:port`, `[v6]`, `[v6]:port`, with `iw://` or `iws://` before it or without a
    /// scheme; the port is 7747 when absent.
    pub fn parse(text: &str) -> Option<Address> {
        let (secure, rest) = split_scheme(text);
        Address::parse_with(secure, rest)
    }

    fn parse_with(secure: bool, text: &str) -> Option<Address> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']')?;
                host.parse::<std::net::Ipv6Addr>().ok()?;
                (
                    host,
                    port.strip_prefix(':').or(port.is_empty().then_some(""))?,
                )
            }
            None => match text.split_once(':') {
                Some((_, "")) => return None,
                Some(split) => split,
                None => (text, ""),
            },
        };
        let in_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let in_host = |c: char| in_name(c) || text.starts_with('[') && c == ':';
        if host.is_empty() || !host.chars().all(in_host) || text.ends_with("]:") {
            return None;
        }
        let port = match port {
            "" => DEFAULT_PORT,
            digits => decimal(digits).and_then(|port| u16::try_from(port).ok())?,
        };
        (port > 0).then(|| Address::Tcp {
            host: host.to_ascii_lowercase(),
            port,
            secure,
        })
    }
}

/// Digits alone, without leading zeros.
fn decimal(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = text == "0" || !text.starts_with('0');
    (digits && canonical).then(|| text.parse().ok()).flatten()
}

impl Mip {
    pub fn parse(text: &str) -> Result<Mip, Rejection> {
        if text.len() > MAX_MIP_BYTES {
            return bad(text, "is longer than 4096 bytes");
        }
        let mut parts = text.splitn(3, '#');
        let url = Url::parse(parts.next().unwrap_or(""))?;
        let block = match parts.next() {
            None => None,
            Some(name) if is_block_name(name) => Some(BlockRef::Name(name.to_string())),
            Some(serial) => match decimal(serial) {
                Some(serial @ 1..=MAX_SERIAL) => Some(BlockRef::Serial(serial)),
                _ => {
                    return bad(
                        text,
                        "has neither a block's serial nor a block's name after '#'",
                    )
                }
            },
        };
        let offset = match parts.next() {
            None => 0,
            Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                match digits.parse() {
                    Ok(offset) => offset,
                    Err(_) => return bad(text, "has an offset beyond 2^64"),
                }
            }
            Some(_) => return bad(text, "has an offset that is not a decimal number"),
        };
        Ok(Mip { url, block, offset })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp { host, port, secure } => {
                let scheme = if *secure { "iws" } else { "iw" };
                write!(f, "{scheme}://{}", HostAndPort(host, *port))
            }
            Address::Unix { file } => write!(f, "unix:{file}:"),
        }
    }
}

/// A host and its port as people write them without a scheme.
pub struct HostAndPort<'a>(pub &'a str, pub u16);

impl fmt::Display for HostAndPort<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HostAndPort(host, port) = self;
        if host.contains(':') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}

/// As in the canonical text of a URL [MIP-3] [MIP-7].
impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, server) in self.iter().enumerate() {
            match server {
                Address::Tcp { host, port, .. } if number > 0 => {
                    write!(f, ",{}", HostAndPort(host, *port))?;
                }
                server => server.fmt(f)?,
            }
        }
        Ok(())
    }
}

/// The canonical text [MIP-3].
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.servers, self.path)
    }
}

impl fmt::Display for BlockRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockRef::Serial(serial) => write!(f, "{serial}"),
            BlockRef::Name(name) => f.write_str(name),
        }
    }
}

/// Canonical when the block is given by its serial [MIP-3].
impl fmt::Display for Mip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.url)?;
        if let Some(block) = &self.block {
            write!(f, "#{block}")?;
            if self.offset != 0 {
                write!(f, "#{}", self.offset)?;
            }
        }
        Ok(())
    }
}

/// [SEG-4]
pub fn is_block_name(name: &str) -> bool {
    let wrong = |c: char| c == '#' || c.is_control();
    !name.is_empty()
        && name.len() <= MAX_NAME as usize
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.contains(wrong)
}

/// '/' first, no '#', no control characters, at most MAX_PATH bytes.
pub fn is_path(path: &str) -> bool {
    let wrong = |c: char| c == '#' || c.is_control();
    path.starts_with('/') && path.len() <= MAX_PATH as usize && !path.contains(wrong)
}

/// Whether a slot table may hold the text [WIRE-5]: a path, or another server's URL with its
/// scheme.
pub fn is_slot_text(text: &str) -> bool {
    let schemes = ["iw://", "iws://", "unix:"];
    let full = schemes.iter().any(|scheme| text.starts_with(scheme));
    is_path(text) || full && Url::parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_a_url_are_one_canonical_text() {
        for (text, canonical) in [
            ("127.0.0.1/list", "iw://127.0.0.1:7747/list"),
            ("iw://LocalHost:80/a/b", "iw://localhost:80/a/b"),
            ("[::1]/list", "iw://[::1]:7747/list"),
            ("iw://[::1]:9/l", "iw://[::1]:9/l"),
            ("iws://Host/l", "iws://host:7747/l"),
            ("iws://[::1]:9/l", "iws://[::1]:9/l"),
            ("unix:/run/iw.sock:/list", "unix:/run/iw.sock:/list"),
            ("B,a:1,[::1]/l", "iw://b:7747,a:1,[::1]:7747/l"),
            ("iws://a,b/l", "iws://a:7747,b:7747/l"),
            ("a/l,b/m", "iw://a:7747/l,b/m"),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!(url.to_string(), canonical);
            assert_eq!(Url::parse(canonical).unwrap(), url);
        }
    }

    #[test]
    fn what_is_no_url_is_refused_with_a_hint() {
        let long = format!("h/{}", "x".repeat(1024));
        for text in [
            "",
            "host",
            "/path",
            ":80/p",
            "h:0/p",
            "h:/p",
            "h:65536/p",
            "h:080/p",
            "[::1/p",
            "[]/p",
            "[::1]x/p",
            "[::1]:/p",
            "::1/p",
            "unix:f",
            "unix::/p",
            "h o/p",
            "h/a\nb",
            &long,
        ] {
            let refused = Url::parse(text).unwrap_err();
            assert_eq!(refused.code, ErrorCode::BadUrl, "{text}");
        }
        for (text, hint) in [
            ("ftp://h/p", "has the scheme `ftp`"),
            ("h:99999/p", "has the port `99999`"),
            ("h:abc/p", "has the port `abc`"),
            ("[::1]:x/p", "has the port `x`"),
            ("::1/p", "does not name a host"),
            ("h,/p", "does not name a host"),
            ("h,b:x/p", "has the port `x`"),
            ("h,H:7747/p", "names the host `H:7747` twice"),
            ("a,b,c,d,e,f,g,h,i/p", "names more than 8 hosts"),
            ("iw://h,iw://b/p", "has a scheme within the list"),
        ] {
            let refused = Url::parse(text).unwrap_err();
            assert!(refused.text.contains(hint), "{}", refused.text);
        }
    }

    #[test]
    fn a_mip_names_block_and_offset() {
        let mip = |text| Mip::parse(text).unwrap();
        let canonical = "iw://127.0.0.1:7747/list#1#1";
        assert_eq!(mip(canonical).to_string(), canonical);
        let named = mip("127.0.0.1/list#head#1");
        assert_eq!(named.block, Some(BlockRef::Name("head".into())));
        assert_eq!((named.url, named.offset), (mip(canonical).url, 1));
        assert_eq!(mip("h/p").block, None);
        assert_eq!(mip("h/p#3#0").to_string(), "iw://h:7747/p#3");
    }

    #[test]
    fn what_is_no_mip_is_refused() {
        let long = format!("h/p#{}", "x".repeat(4096));
        for text in [
            "h/p#",
            "h/p#0",
            "h/p#01",
            "h/p#1x",
            "h/p#1#",
            "h/p#1#x",
            "h/p#1#1#1",
            "h/p#1#-1",
            "h/p#281474976710656",
            "h/p#1#18446744073709551616",
            "h/p#a\tb",
            &long,
        ] {
            assert!(Mip::parse(text).is_err(), "{text}");
        }
    }
}
