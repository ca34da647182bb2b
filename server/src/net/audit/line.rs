//! A line as text: one object of JSON [AUDIT-2].

use super::queue::Line;
use crate::session::Place;
use interweave_access::to_hex;
use interweave_wire::json::{line as one_line, Json};

/// Returns the line with its line feed.
pub fn text(line: &Line) -> String {
    let audited = &line.audited;
    let origin = &audited.origin;
    let some = |text: &str| (!text.is_empty()).then(|| Json::from(text));
    let from = match audited.from {
        Place::Unknown => None,
        Place::Unix => Some("unix".to_string()),
        Place::Address(address) => Some(address.to_string()),
    };
    let is_several = line.count > 1;
    let several = |value: Json| is_several.then_some(value);
    let is_dropped = audited.act == crate::session::Act::Dropped;
    let members = [
        ("time", Some(time(line.time_us).into())),
        ("act", Some(audited.act.word().into())),
        (
            "who",
            audited.who.as_ref().map(|who| who.to_string().into()),
        ),
        ("token", audited.token.map(|id| to_hex(&id).into())),
        ("from", from.map(Json::from)),
        ("program", origin.program.as_deref().and_then(some)),
        ("host", origin.host.as_deref().and_then(some)),
        ("pid", origin.pid.map(Json::from)),
        ("path", some(&audited.path)),
        ("operation", audited.operation.map(|o| o.word().into())),
        (
            "allowed",
            (!is_dropped).then_some(audited.is_allowed.into()),
        ),
        ("line", audited.line.map(Json::from)),
        ("error", audited.error.map(|code| code.name().into())),
        ("text", some(&audited.text)),
        (
            "count",
            (is_several || is_dropped).then_some(line.count.into()),
        ),
        ("until", several(time(line.until_us).into())),
    ];
    let known = members
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let mut text = one_line(&known.collect());
    text.push('\n');
    text
}

/// Writes microseconds since 1970 as a time of RFC 3339, in UTC.
fn time(us: u64) -> String {
    let (seconds, fraction) = (us / 1_000_000, us % 1_000_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z")
}

/// Returns year, month and day of a day after 1970-01-01, in the Gregorian calendar.
fn date(days: u64) -> (u64, u64, u64) {
    // Years begin with March here, so that a leap day is the last day of its year.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let since_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * since_march + 2) / 5 + 1;
    let month = if since_march < 10 {
        since_march + 3
    } else {
        since_march - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Act, Audited, Origin};
    use interweave_access::{Identity, Operation};
    use interweave_wire::protocol::ErrorCode;

    #[test]
    fn audit_2_times_are_utc() {
        for (us, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_399_999_999, "2000-02-28T23:59:59.999999Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (1_709_251_199_000_001, "2024-02-29T23:59:59.000001Z"),
            (1_709_251_200_000_000, "2024-03-01T00:00:00.000000Z"),
            (1_798_761_600_000_000, "2027-01-01T00:00:00.000000Z"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
        ] {
            assert_eq!(time(us), text);
        }
    }

    #[test]
    fn audit_2_members_have_their_order_and_unknown_ones_are_missing() {
        let audited = Box::new(Audited {
            who: Identity::parse("alice"),
            from: Place::Address(([192, 168, 1, 7], 40_000).into()),
            origin: Origin {
                program: Some("sim\u{9b}\"".to_string()),
                host: Some("lab".to_string()),
                pid: Some(42),
            },
            path: "/a\nb".to_string(),
            operation: Some(Operation::Write),
            line: Some(3),
            error: Some(ErrorCode::Denied),
            ..Audited::of_server(Act::Request, false, "")
        });
        let mut line = Line {
            audited,
            time_us: 1,
            until_us: 2,
            count: 1,
        };
        let common = "{\"time\": \"1970-01-01T00:00:00.000001Z\", \"act\": \"request\", \
                      \"who\": \"alice\", \"from\": \"192.168.1.7:40000\", \
                      \"program\": \"sim\\u009b\\\"\", \"host\": \"lab\", \"pid\": 42, \
                      \"path\": \"/a\\nb\", \"operation\": \"write\", \"allowed\": false, \
                      \"line\": 3, \"error\": \"DENIED\"";
        assert_eq!(text(&line), format!("{common}}}\n"));
        line.count = 2;
        let until = "\"count\": 2, \"until\": \"1970-01-01T00:00:00.000002Z\"";
        assert_eq!(text(&line), format!("{common}, {until}}}\n"));
        *line.audited = Audited::of_server(Act::Stop, true, "");
        line.count = 1;
        assert_eq!(
            text(&line),
            "{\"time\": \"1970-01-01T00:00:00.000001Z\", \"act\": \"stop\", \"allowed\": true}\n"
        );
    }
}
