//! The server: whether it answers, lets this client in, and is well.

use std::time::{SystemTime, UNIX_EPOCH};

use interweave_server::client::{ClientError, OpenOptions};
use interweave_wire::mip::Address;
use interweave_wire::protocol::{ErrorCode, NOT_KNOWN, PROTOCOL_VERSION_MAX};

use super::check::{Check, Finding};
use super::subject::{variable, Connected, Subject};
use crate::http;
use crate::output::counted;
use crate::remote::{address_text, failure_at};

pub const CHECKS: &[Check] = &[
    Check {
        name: "connection",
        looks_at: "whether a server answers there",
        run: connection,
    },
    Check {
        name: "versions",
        looks_at: "the server's version and protocol, compared with this program's",
        run: versions,
    },
    Check {
        name: "encryption",
        looks_at: "whether what passes can be read on the way",
        run: encryption,
    },
    Check {
        name: "identity",
        looks_at: "whether the server lets this client in, and by what",
        run: identity,
    },
    Check {
        name: "segments",
        looks_at: "segments that are stopped by damage",
        run: segments,
    },
    Check {
        name: "http",
        looks_at: "/healthz: whether the server can read and write",
        run: health,
    },
    Check {
        name: "clock",
        looks_at: "the server's clock, compared with this machine's",
        run: clock,
    },
];

/// More than this, and expiries of tokens and certificates are judged differently.
const CLOCK_SECONDS: u64 = 60;

/// The server, or why there is nothing more to look at.
fn connected(subject: &Subject) -> Result<&Connected, Finding> {
    subject
        .connected()
        .as_ref()
        .map_err(|_| Finding::skipped("the connection failed"))
}

fn connection(subject: &Subject) -> Finding {
    let name = address_text(subject.server());
    match subject.connected() {
        Ok(connected) => Finding::ok(format!(
            "{name} answers in {:.1} ms",
            connected.greeted_in.as_secs_f64() * 1e3
        )),
        // It answers, and the check `identity` says what.
        Err(error) if is_about_identity(error) => Finding::ok(format!("{name} answers")),
        Err(error) => {
            let text = failure_at(subject.server(), error).text().to_string();
            let mend = "start one (`interweave serve`), or name another: `interweave doctor \
                        SERVER`, or IW_SERVER";
            let nobody_there = matches!(error, ClientError::Unreachable(_));
            match nobody_there && !subject.server_is_named {
                true => Finding::note(text, mend),
                false => Finding::problem(text, mend),
            }
        }
    }
}

fn is_about_identity(error: &ClientError) -> bool {
    error.code() == Some(ErrorCode::Denied)
}

fn versions(subject: &Subject) -> Finding {
    let connected = match connected(subject) {
        Ok(connected) => connected,
        Err(skipped) => return skipped,
    };
    let client = connected.client.borrow();
    let welcome = client.welcome();
    let own = env!("CARGO_PKG_VERSION");
    let text = format!("{}, protocol {}", welcome.server, welcome.version);
    if welcome.version != PROTOCOL_VERSION_MAX {
        return Finding::note(
            format!("{text}; this program also speaks {PROTOCOL_VERSION_MAX}"),
            "update the older one of server and program (docs/versions.md)",
        );
    }
    match welcome.server.split(' ').any(|word| word == own) {
        true => Finding::ok(text),
        false => Finding::note(
            format!("{text}; this program is {own}"),
            "nothing, if both work; docs/versions.md says what works together",
        ),
    }
}

fn encryption(subject: &Subject) -> Finding {
    match subject.server() {
        Address::Unix { .. } => Finding::ok("a Unix socket, which stays on this machine"),
        Address::Tcp { secure: true, .. } => match subject.connected() {
            Ok(_) => Finding::ok("TLS, and the server's certificate is trusted"),
            Err(_) => Finding::skipped("the connection failed"),
        },
        Address::Tcp { host, .. } if is_loopback(host) => {
            Finding::ok("none, and the connection stays on this machine")
        }
        Address::Tcp { host, .. } => Finding::note(
            format!("none: whoever is on the way to {host} can read and change what passes"),
            "serve with --tls-cert and --tls-key, and write iws:// (docs/operations.md)",
        ),
    }
}

fn is_loopback(host: &str) -> bool {
    let address: Option<std::net::IpAddr> = host.parse().ok();
    host == "localhost" || address.is_some_and(|address| address.is_loopback())
}

fn identity(subject: &Subject) -> Finding {
    let shown = match variable("IW_TOKEN") {
        Some(_) => "IW_TOKEN",
        None => "no IW_TOKEN",
    };
    match subject.connected() {
        Err(error) if is_about_identity(error) => Finding::problem(
            format!(
                "with {shown}: {}",
                failure_at(subject.server(), error).text()
            ),
            "set IW_TOKEN to a token that `interweave token new` made for this server, or to none \
             for the server of this user",
        ),
        Err(_) => Finding::skipped("the connection failed"),
        Ok(connected) => match connected.client.borrow_mut().list("/") {
            Ok(list) => Finding::ok(format!(
                "let in with {shown}; {} can be seen",
                counted(list.len() as u64, "segment")
            )),
            Err(error) => Finding::problem(
                format!("let in with {shown}, and listing segments is refused: {error}"),
                "ask whoever runs the server for a rule that allows `read`",
            ),
        },
    }
}

fn segments(subject: &Subject) -> Finding {
    let connected = match connected(subject) {
        Ok(connected) => connected,
        Err(skipped) => return skipped,
    };
    let mut client = connected.client.borrow_mut();
    let Ok(mut listed) = client.list("/") else {
        return Finding::skipped("segments cannot be listed");
    };
    // To open a segment of another server would claim it, or lead there [SPACE-35].
    listed.retain(|segment| segment.clients != NOT_KNOWN);
    let mut damaged = Vec::new();
    // The list shows damaged segments as empty.
    let empty = listed
        .iter()
        .filter(|s| s.newest.number == 0 && s.block_count == 0);
    for segment in empty {
        match client.open(&segment.path, &OpenOptions::reading()) {
            Ok(opened) => drop(client.close(opened.segment)),
            Err(error) if error.code() == Some(ErrorCode::Damaged) => {
                damaged.push(segment.path.clone());
            }
            Err(_) => {}
        }
    }
    match damaged.is_empty() {
        true => Finding::ok(format!(
            "{}, none damaged",
            counted(listed.len() as u64, "segment")
        )),
        false => Finding::problem(
            format!("stopped by damage of the store: {}", damaged.join(", ")),
            "`interweave backup --whole-segments STORE DIR` saves the others; then restore the \
             damaged ones from an older backup, or remove them (`interweave rm`)",
        ),
    }
}

fn ask(subject: &Subject, path: &str) -> Result<http::Answer, Finding> {
    connected(subject)?;
    let Some(place) = subject.http() else {
        let text = "it is not known where the server has HTTP; --http HOST:PORT says so";
        return Err(Finding::skipped(text));
    };
    http::get(&place, path).map_err(|error| {
        Finding::note(
            format!("HTTP at {}:{}: {error}", place.host, place.port),
            "name the right place with --http HOST:PORT, or serve with --http",
        )
    })
}

fn health(subject: &Subject) -> Finding {
    let answer = match ask(subject, "/healthz") {
        Ok(answer) => answer,
        Err(finding) => return finding,
    };
    let body = answer.body.trim();
    match answer.status {
        200 => Finding::ok(body),
        _ => Finding::problem(
            format!("status {}: {body}", answer.status),
            "read the server's log; docs/operations.md says what each status means",
        ),
    }
}

fn clock(subject: &Subject) -> Finding {
    let answer = match ask(subject, "/healthz") {
        Ok(answer) => answer,
        Err(finding) => return finding,
    };
    let Some(there) = answer.head("date").and_then(seconds_of_date) else {
        return Finding::skipped("the server does not say what time it is");
    };
    let here = SystemTime::now().duration_since(UNIX_EPOCH);
    let here = here.map_or(0, |since| since.as_secs());
    let apart = there.abs_diff(here);
    let found = format!("{apart} s apart");
    match apart > CLOCK_SECONDS {
        false => Finding::ok(found),
        true => Finding::problem(
            format!("{found}: expiries of tokens and certificates are judged differently"),
            "set both clocks, by NTP for example",
        ),
    }
}

/// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`.
fn seconds_of_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let words: Vec<&str> = text.split(' ').collect();
    let [_, day, month, year, time, "GMT"] = words[..] else {
        return None;
    };
    let month = 1 + MONTHS.iter().position(|name| *name == month)?;
    let month = time::Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date = time::Date::from_calendar_date(year.parse().ok()?, month, day.parse().ok()?);
    let clock: Vec<u8> = time
        .split(':')
        .filter_map(|part| part.parse().ok())
        .collect();
    let [hour, minute, second] = clock[..] else {
        return None;
    };
    let moment = date.ok()?.with_hms(hour, minute, second).ok()?.assume_utc();
    u64::try_from(moment.unix_timestamp()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_of_http_is_read() {
        let moment = seconds_of_date("Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(moment, Some(784_111_777));
        for text in [
            "",
            "now",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 36 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(seconds_of_date(text), None, "{text}");
        }
    }
}
