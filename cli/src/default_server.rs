//! Which server a command asks when its argument names none: IW_SERVER, else the one on this
//! machine.

use interweave_wire::mip::Servers;

use crate::failure::Failure;

const VARIABLE: &str = "IW_SERVER";
const THIS_MACHINE: &str = "127.0.0.1";

/// Returns the argument with a server in front, if it is a path alone: `/list` becomes
/// `127.0.0.1/list`.
pub fn completed(argument: &str) -> Result<String, Failure> {
    match argument.starts_with('/') {
        true => Ok(at(&text()?, argument)),
        false => Ok(argument.to_string()),
    }
}

/// Whether the user chose the default server.
pub fn is_chosen() -> bool {
    variable().is_some()
}

/// Returns the server's text, without a path: `[iw://|iws://]HOST[:PORT]`, several such servers
/// with commas between, or `unix:FILE`.
pub fn text() -> Result<String, Failure> {
    match variable() {
        Some(value) => checked(&value),
        None => Ok(THIS_MACHINE.to_string()),
    }
}

/// Names a segment at a server. REQUIRES: the path begins with `/`.
pub fn at(server: &str, path: &str) -> String {
    match server.starts_with("unix:") {
        true => format!("{server}:{path}"),
        false => format!("{server}{path}"),
    }
}

fn variable() -> Option<String> {
    let value = std::env::var(VARIABLE).ok();
    value.filter(|value| !value.is_empty())
}

/// Refuses a value that is more than a server, because a path would be lost.
fn checked(value: &str) -> Result<String, Failure> {
    let server = value.strip_suffix('/').unwrap_or(value);
    let is_server = match server.strip_prefix("unix:") {
        Some(file) => !file.is_empty() && !file.contains(":/"),
        None => Servers::parse(server).is_ok(),
    };
    match is_server {
        true => Ok(server.to_string()),
        false => Err(Failure::new(format!(
            "{VARIABLE}={value} does not name a server; write \
             [iw://|iws://]HOST[:PORT][,HOST[:PORT]...] or unix:FILE, without a segment"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_joined_to_a_path() {
        for (server, joined) in [
            ("127.0.0.1", "127.0.0.1/a#b"),
            ("iws://sim.example:9/", "iws://sim.example:9/a#b"),
            ("[::1]:7", "[::1]:7/a#b"),
            ("iws://a,b:9", "iws://a,b:9/a#b"),
            ("unix:/run/iw.sock", "unix:/run/iw.sock:/a#b"),
        ] {
            assert_eq!(at(&checked(server).unwrap(), "/a#b"), joined);
        }
    }

    #[test]
    fn what_is_more_or_less_than_a_server_is_refused() {
        for value in [
            "host/a",
            "host:x",
            "unix:",
            "unix:/f:/a",
            "http://host",
            "a,a:7747",
            "a,",
        ] {
            let refused = checked(value).unwrap_err().to_string();
            assert!(
                refused.contains(&format!("IW_SERVER={value} ")),
                "{refused}"
            );
        }
    }
}
