//! A sample as a JSON object.

use super::sample::{seconds_between, Rates, Row, Sample};
use super::table::{sorted, Sort};
use crate::output::{object, text};
use interweave_wire::Json;

/// The server's numbers have the names of /metrics without `interweave_`. They are null if the
/// server did not give them. Then `remark` says why.
pub fn of(server: &str, before: Option<&Sample>, now: &Sample, sort: Sort) -> Json {
    let seconds = before.map(|before| seconds_between(before, now));
    let segments = sorted(before, now, sort);
    let rates = Rates::between(before, now);
    let numbers = rates.as_ref().map(|rates| {
        let all = rates.all().into_iter();
        all.map(|(name, value)| (name, Json::from(value))).collect()
    });
    let grown = rates.as_ref().map(|rates| {
        let counters = rates
            .all()
            .into_keys()
            .filter(|name| name.ends_with("_total"));
        counters
            .map(|name| (name, Json::from(rates.grown(name))))
            .collect()
    });
    object(vec![
        ("server", text(server)),
        ("seconds", seconds.into()),
        ("segments", segments.iter().map(segment).collect()),
        ("numbers", numbers.unwrap_or(Json::Null)),
        ("grown", grown.unwrap_or(Json::Null)),
        (
            "remark",
            now.numbers.as_ref().err().map(String::as_str).into(),
        ),
    ])
}

fn segment(row: &Row) -> Json {
    let segment = &row.segment;
    object(vec![
        ("path", text(&segment.path)),
        ("version", segment.newest.number.into()),
        ("releases_a_second", row.releases_a_second.into()),
        ("wire_bytes", segment.wire_bytes.into()),
        ("clients", segment.clients.into()),
        ("subscribers", segment.subscribers.into()),
        ("writers_waiting", segment.writers_waiting.into()),
        ("writer_locked", segment.writer_locked.into()),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::sample::tests::{sample, segment};
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn an_object_has_what_the_table_has() {
        let begin = Instant::now();
        let page = |releases: u64| {
            format!("interweave_releases_total {releases}\ninterweave_connections 3\n")
        };
        let before = sample(begin, vec![segment("/a", 1, 1)], &page(5));
        let segments = vec![segment("/b", 1, 1), segment("/a", 1, 9)];
        let mut now = sample(begin + Duration::from_secs(2), segments, &page(13));
        let shown = of("here", Some(&before), &now, Sort::Releases);
        assert_eq!(shown["seconds"], 2.0);
        assert_eq!(shown["segments"][0]["path"], "/a");
        assert_eq!(shown["segments"][0]["releases_a_second"], 4.0);
        assert_eq!(shown["segments"][1]["releases_a_second"], Json::Null);
        assert_eq!(shown["numbers"]["connections"], 3);
        assert_eq!(shown["grown"].to_string(), r#"{"releases_total":8}"#);
        assert_eq!(shown["remark"], Json::Null);
        now.numbers = Err("closed".to_string());
        let shown = of("here", Some(&before), &now, Sort::Path);
        assert_eq!(
            (&shown["numbers"], &shown["grown"]),
            (&Json::Null, &Json::Null)
        );
        assert_eq!(shown["remark"], "closed");
    }
}
