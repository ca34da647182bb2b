//! A sample as lines of text.

use super::sample::{rows, Rates, Row, Sample};
use crate::list::writer_text;
use crate::output::{clean, counted, size_text};
use clap::ValueEnum;
use std::cmp::Ordering;

/// The column that decides the order of segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// The most releases a second first
    Releases,
    /// The largest first
    Size,
    /// The most clients first
    Clients,
    /// The most waiting writers first
    Waiting,
    /// By path
    Path,
}

impl Sort {
    pub fn next(self) -> Sort {
        let all = Sort::value_variants();
        let at = all.iter().position(|one| *one == self).unwrap_or(0);
        all[(at + 1) % all.len()]
    }

    pub fn word(self) -> &'static str {
        match self {
            Sort::Releases => "releases",
            Sort::Size => "size",
            Sort::Clients => "clients",
            Sort::Waiting => "waiting",
            Sort::Path => "path",
        }
    }

    fn compare(self, one: &Row, other: &Row) -> Ordering {
        let by = |key: fn(&Row) -> u64| key(other).cmp(&key(one));
        let first = match self {
            Sort::Releases => {
                let rate = |row: &Row| row.releases_a_second.unwrap_or(-1.0);
                rate(other).total_cmp(&rate(one))
            }
            Sort::Size => by(|row| row.segment.wire_bytes),
            Sort::Clients => by(|row| row.segment.clients.into()),
            Sort::Waiting => by(|row| row.segment.writers_waiting.into()),
            Sort::Path => Ordering::Equal,
        };
        first.then_with(|| one.segment.path.cmp(&other.segment.path))
    }
}

const HEADS: [&str; 8] = [
    "PATH", "VERSION", "REL/S", "SIZE", "CLIENTS", "WATCHING", "WAITING", "WRITER",
];

/// The lines above the table.
pub fn summary(server: &str, before: Option<&Sample>, now: &Sample) -> Vec<String> {
    let segments = counted(now.segments.len() as u64, "segment");
    let first = format!("{}  {segments}", clean(server));
    match (Rates::between(before, now), &now.numbers) {
        (Some(rates), _) => vec![
            format!("{first}  {}", load(&rates)),
            work(&rates),
            log(&rates),
        ],
        (None, Err(why)) => vec![first, clean(why)],
        (None, Ok(_)) => vec![first],
    }
}

fn load(rates: &Rates<'_>) -> String {
    let cpu = rates.a_second("cpu_milliseconds_total").map(|ms| ms / 10.0);
    let connections = rates.now("connections").unwrap_or(0);
    format!(
        "{}  processor {}  memory {}",
        counted(connections, "connection"),
        cpu.map_or("-".to_string(), |cpu| format!("{cpu:.0} %")),
        rates
            .now("resident_memory_bytes")
            .map_or("-".to_string(), size_text)
    )
}

fn work(rates: &Rates<'_>) -> String {
    let bytes = |name| {
        let rate = rates.a_second(name);
        rate.map_or("-".to_string(), |rate| {
            format!("{}/s", size_text(rate as u64))
        })
    };
    format!(
        "releases {}/s of {}  received {}  sent {}  locks {}  waiting {}",
        rate_text(rates.a_second("releases_total")),
        bytes("release_bytes_total"),
        bytes("received_bytes_total"),
        bytes("sent_bytes_total"),
        rates.now("writer_locks").unwrap_or(0),
        rates.now("writers_waiting").unwrap_or(0)
    )
}

fn log(rates: &Rates<'_>) -> String {
    let syncs = rates.grown("store_syncs_total").filter(|syncs| *syncs > 0);
    let time = rates.grown("store_sync_microseconds_total");
    let each = syncs
        .zip(time)
        .map(|(syncs, time)| time as f64 / syncs as f64 / 1e3);
    let waiting = rates.now("store_waiting").unwrap_or(0);
    format!(
        "log {}  syncs {}/s, {} each  {waiting} under way",
        size_text(rates.now("store_log_bytes").unwrap_or(0)),
        rate_text(rates.a_second("store_syncs_total")),
        each.map_or("-".to_string(), |ms| format!("{ms:.2} ms"))
    )
}

fn rate_text(rate: Option<f64>) -> String {
    match rate {
        None => "-".to_string(),
        Some(rate) if rate >= 100.0 => format!("{rate:.0}"),
        Some(rate) => format!("{rate:.1}"),
    }
}

pub fn sorted(before: Option<&Sample>, now: &Sample, sort: Sort) -> Vec<Row> {
    let mut rows = rows(before, now);
    rows.sort_by(|one, other| sort.compare(one, other));
    rows
}

/// Returns the head and a line for each of the first `most` segments, in the order of `sort`.
pub fn lines(before: Option<&Sample>, now: &Sample, sort: Sort, most: usize) -> Vec<String> {
    let mut rows = sorted(before, now, sort);
    let hidden = rows.len().saturating_sub(most);
    rows.truncate(most);
    let mut cells = vec![HEADS.map(str::to_string)];
    cells.extend(rows.iter().map(cells_of));
    let widths = HEADS.map(|head| {
        let column = HEADS.iter().position(|one| *one == head).unwrap_or(0);
        let texts = cells.iter().map(|row| row[column].chars().count());
        texts.max().unwrap_or(0)
    });
    let mut lines: Vec<String> = cells.iter().map(|row| line(row, &widths)).collect();
    if hidden > 0 {
        lines.push(format!("... and {hidden} more"));
    }
    lines
}

fn cells_of(row: &Row) -> [String; 8] {
    let segment = &row.segment;
    [
        clean(&segment.path),
        segment.newest.number.to_string(),
        rate_text(row.releases_a_second),
        size_text(segment.wire_bytes),
        segment.clients.to_string(),
        segment.subscribers.to_string(),
        segment.writers_waiting.to_string(),
        writer_text(segment),
    ]
}

fn line(cells: &[String; 8], widths: &[usize; 8]) -> String {
    let mut text = String::new();
    for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
        text += &match at {
            0 | 7 => format!("{cell:<width$}  "),
            _ => format!("{cell:>width$}  "),
        };
    }
    text.trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::super::sample::tests::{sample, segment};
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn segments_are_sorted_and_the_rest_is_counted() {
        let begin = Instant::now();
        let mut large = segment("/z", 1, 5);
        large.wire_bytes = 1 << 20;
        let before = sample(begin, vec![segment("/a", 1, 1), large.clone()], "");
        let segments = vec![segment("/a", 1, 9), segment("/b\u{1b}[2J", 1, 1), large];
        let now = sample(begin + Duration::from_secs(1), segments, "");
        let first = |sort| lines(Some(&before), &now, sort, 9)[1].clone();
        assert!(
            first(Sort::Releases).starts_with("/a "),
            "{}",
            first(Sort::Releases)
        );
        assert!(first(Sort::Size).starts_with("/z "));
        assert!(first(Sort::Path).starts_with("/a "));
        let two = lines(Some(&before), &now, Sort::Path, 1);
        assert_eq!((two.len(), &*two[2]), (3, "... and 2 more"));
        let all = lines(Some(&before), &now, Sort::Path, 9).join("\n");
        assert!(!all.contains('\u{1b}'), "{all}");
        assert!(all.contains("8.0"), "{all}");
    }

    #[test]
    fn the_summary_has_the_time_of_a_sync() {
        let begin = Instant::now();
        let page = |syncs: u64, time: u64, cpu: u64| {
            format!(
                "interweave_store_syncs_total {syncs}\ninterweave_store_sync_microseconds_total \
                 {time}\ninterweave_cpu_milliseconds_total {cpu}\n"
            )
        };
        let before = sample(begin, vec![], &page(10, 1000, 0));
        let now = sample(begin + Duration::from_secs(2), vec![], &page(14, 9000, 500));
        let text = summary("h", Some(&before), &now).join("\n");
        assert!(text.contains("syncs 2.0/s, 2.00 ms each"), "{text}");
        assert!(text.contains("processor 25 %"), "{text}");
        let first = summary("h", None, &now).join("\n");
        assert!(first.contains("syncs -/s, - each"), "{first}");
    }

    #[test]
    fn every_order_comes_round() {
        let mut sort = Sort::Releases;
        for _ in Sort::value_variants() {
            sort = sort.next();
        }
        assert_eq!(sort, Sort::Releases);
    }
}
