//! One question over plain HTTP: a server's numbers, and its clock.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use interweave_server::client::{OwnToken, OwnTokens};
use interweave_wire::mip::{Address, HostAndPort, DEFAULT_PORT};

/// Where `interweave serve` has HTTP when it listens at its default port.
const DEFAULT_HTTP_PORT: u16 = 7748;
const PATIENCE: Duration = Duration::from_secs(3);
/// The numbers of a million segments take less.
const MOST_BYTES: u64 = 256 << 20;

/// Where HTTP is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub host: String,
    pub port: u16,
    /// The user named it. At a place that is only probable another user may listen, so that it is
    /// not shown IW_TOKEN.
    pub is_named: bool,
}

pub struct Answer {
    pub status: u16,
    heads: String,
    pub body: String,
}

impl Answer {
    pub fn head(&self, name: &str) -> Option<&str> {
        self.heads.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// Reads `HOST:PORT`, with `http://` before it or without.
pub fn parse_address(text: &str) -> Result<Place, String> {
    let rest = text.strip_prefix("http://").unwrap_or(text);
    match (
        rest.contains("://"),
        Address::parse(rest.trim_end_matches('/')),
    ) {
        (false, Some(Address::Tcp { host, port, .. })) if rest.contains(':') => Ok(Place {
            host,
            port,
            is_named: true,
        }),
        _ => Err(format!(
            "{text:?} does not name a place of HTTP; write HOST:PORT"
        )),
    }
}

/// Returns where the server probably has HTTP. None: nobody can tell without being told.
pub fn place_beside(server: &Address) -> Option<Place> {
    match server {
        Address::Tcp {
            host,
            port: DEFAULT_PORT,
            secure: false,
        } => Some(Place {
            host: host.clone(),
            port: DEFAULT_HTTP_PORT,
            is_named: false,
        }),
        _ => None,
    }
}

/// Asks for a page. Shows IW_TOKEN, else the tokens that this user's own servers left there, one
/// after the other, until one is not refused [OWN-6].
pub fn get(place: &Place, path: &str) -> io::Result<Answer> {
    let named = std::env::var("IW_TOKEN").ok();
    let named = named.filter(|token| !token.is_empty() && place.is_named);
    let address = Address::Tcp {
        host: place.host.clone(),
        port: place.port,
        secure: false,
    };
    let mut own = OwnTokens::default();
    loop {
        let stream = connect(&place.host, place.port)?;
        let found = match named {
            Some(_) => None,
            None => own.find(&address, stream.peer_addr()?.ip()),
        };
        let shown = named.as_deref().or(found.as_ref().map(OwnToken::text));
        let answer = ask(stream, place, path, shown)?;
        match found {
            Some(token) if answer.status == 401 => own.refused(token),
            _ => return Ok(answer),
        }
    }
}

fn ask(
    mut stream: TcpStream,
    place: &Place,
    path: &str,
    token: Option<&str>,
) -> io::Result<Answer> {
    let place = HostAndPort(&place.host, place.port);
    let token = token.filter(|token| !token.contains(char::is_control));
    let shown = token.map_or(String::new(), |token| {
        format!("Authorization: Bearer {token}\r\n")
    });
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {place}\r\n{shown}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    stream.take(MOST_BYTES).read_to_end(&mut bytes)?;
    parse(&String::from_utf8_lossy(&bytes))
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it does not speak HTTP"))
}

fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn parse(text: &str) -> Option<Answer> {
    let (heads, body) = text.split_once("\r\n\r\n")?;
    let (first, heads) = heads.split_once("\r\n")?;
    let mut words = first.split(' ');
    words.next().filter(|word| word.starts_with("HTTP/1."))?;
    let status = words.next()?.parse().ok()?;
    let mut answer = Answer {
        status,
        heads: heads.to_string(),
        body: body.to_string(),
    };
    if answer.head("transfer-encoding").is_some() {
        answer.body = joined(body)?;
    }
    Some(answer)
}

/// The body that comes in chunks.
fn joined(mut chunks: &str) -> Option<String> {
    let mut body = String::new();
    loop {
        let (length, rest) = chunks.split_once("\r\n")?;
        let length = usize::from_str_radix(length.split(';').next()?.trim(), 16).ok()?;
        if length == 0 {
            return Some(body);
        }
        body.push_str(rest.get(..length)?);
        chunks = rest.get(length..)?.strip_prefix("\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_whole_or_in_chunks() {
        let whole = parse("HTTP/1.1 200 OK\r\nDate: now\r\nX: y\r\n\r\nbody").unwrap();
        assert_eq!((whole.status, &*whole.body), (200, "body"));
        assert_eq!(whole.head("date"), Some("now"));
        let chunks =
            "HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x\r\nd\r\n0\r\n";
        let chunked = parse(chunks).unwrap();
        assert_eq!((chunked.status, &*chunked.body), (401, "abcd"));
    }

    #[test]
    fn what_is_not_an_answer_is_refused() {
        let chunked =
            |body: &str| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        for text in [
            "",
            "IWV1\r\nx\r\n\r\n",
            "HTTP/1.1 x OK\r\nA: b\r\n\r\n",
            &chunked("zz\r\n"),
            &chunked("5\r\nabc\r\n"),
            &chunked("ffffffffffffffff\r\nabc\r\n"),
            &chunked(""),
        ] {
            assert!(parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_place_of_http_has_a_port() {
        let place = Ok(Place {
            host: "h".to_string(),
            port: 9,
            is_named: true,
        });
        assert_eq!(parse_address("http://h:9/"), place);
        assert_eq!(parse_address("h:9"), place);
        for text in ["h", "https://h:9", "iw://h:9", "h:x"] {
            assert!(parse_address(text).is_err(), "{text}");
        }
    }
}
