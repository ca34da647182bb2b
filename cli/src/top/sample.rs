//! The state of a server at a moment, and what happened between two moments.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use interweave_wire::protocol::{SegmentInfo, NOT_KNOWN};

use crate::failure::Failure;
use crate::http;
use crate::remote::Remote;

/// A server's numbers, by their names without `interweave_`.
pub type Numbers = HashMap<String, u64>;

pub struct Sample {
    pub at: Instant,
    pub segments: Vec<SegmentInfo>,
    /// An error says why the server did not give its numbers.
    pub numbers: Result<Numbers, String>,
}

/// Asks the server now. `place`: where it has HTTP, if the user named that.
pub fn take(
    remote: &mut Remote,
    prefix: &str,
    place: Option<&http::Place>,
) -> Result<Sample, Failure> {
    let beside = http::place_beside(remote.server());
    let mut segments = remote.list(prefix)?;
    // Another server knows how busy its segments are [SPACE-35].
    segments.retain(|segment| segment.clients != NOT_KNOWN);
    Ok(Sample {
        at: Instant::now(),
        segments,
        numbers: numbers(place.or(beside.as_ref())),
    })
}

fn numbers(place: Option<&http::Place>) -> Result<Numbers, String> {
    let place = place.ok_or("name the server's HTTP with --http HOST:PORT to see more")?;
    let name = format!("{}:{}", place.host, place.port);
    let answer =
        http::get(place, "/metrics").map_err(|error| format!("HTTP at {name}: {error}"))?;
    match answer.status {
        200 => Ok(parse(&answer.body)),
        status => Err(format!("HTTP at {name}: /metrics is answered {status}")),
    }
}

/// The lines of the whole server, not those of one segment.
fn parse(page: &str) -> Numbers {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let numbers = lines.filter_map(|line| {
        let (name, value) = line.split_once(' ')?;
        let name = name.strip_prefix("interweave_")?;
        Some((name.to_string(), value.parse().ok()?))
    });
    numbers.collect()
}

/// A segment and its rate of releases.
pub struct Row {
    pub segment: SegmentInfo,
    /// None: not known yet, or the segment was made anew.
    pub releases_a_second: Option<f64>,
}

pub fn rows(before: Option<&Sample>, now: &Sample) -> Vec<Row> {
    let versions = before.map(|before| {
        let of = |s: &SegmentInfo| (s.path.clone(), (s.newest.incarnation, s.newest.number));
        before.segments.iter().map(of).collect::<HashMap<_, _>>()
    });
    let seconds = before.map_or(0.0, |before| seconds_between(before, now));
    let row = |segment: &SegmentInfo| {
        let newest = &segment.newest;
        let old = versions.as_ref().and_then(|old| old.get(&segment.path));
        let old = old.filter(|(incarnation, _)| *incarnation == newest.incarnation);
        let releases = old.and_then(|(_, number)| newest.number.checked_sub(*number));
        Row {
            segment: segment.clone(),
            releases_a_second: releases.map(|releases| releases as f64 / seconds),
        }
    };
    now.segments.iter().map(row).collect()
}

pub fn seconds_between(before: &Sample, now: &Sample) -> f64 {
    let between = now.at.saturating_duration_since(before.at);
    between.max(Duration::from_millis(1)).as_secs_f64()
}

/// Rates of the whole server.
pub struct Rates<'a> {
    now: &'a Numbers,
    before: Option<(&'a Numbers, f64)>,
}

impl<'a> Rates<'a> {
    pub fn between(before: Option<&'a Sample>, now: &'a Sample) -> Option<Rates<'a>> {
        let numbers = now.numbers.as_ref().ok()?;
        let before = before.and_then(|before| {
            let seconds = seconds_between(before, now);
            Some((before.numbers.as_ref().ok()?, seconds))
        });
        Some(Rates {
            now: numbers,
            before,
        })
    }

    pub fn now(&self, name: &str) -> Option<u64> {
        self.now.get(name).copied()
    }

    /// Names and values, in the order of names.
    pub fn all(&self) -> BTreeMap<&'a str, u64> {
        let all = self.now.iter();
        all.map(|(name, value)| (name.as_str(), *value)).collect()
    }

    /// How much a counter grew. None: it is not known, or the server was started anew.
    pub fn grown(&self, name: &str) -> Option<u64> {
        let (before, _) = self.before?;
        self.now(name)?.checked_sub(*before.get(name)?)
    }

    pub fn a_second(&self, name: &str) -> Option<f64> {
        let (_, seconds) = self.before?;
        Some(self.grown(name)? as f64 / seconds)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use interweave_wire::protocol::{Durability, VersionStamp};

    pub fn segment(path: &str, incarnation: u64, number: u64) -> SegmentInfo {
        SegmentInfo {
            path: path.to_string(),
            newest: VersionStamp {
                incarnation,
                number,
                chain: 0,
            },
            durable: Durability::Memory,
            block_count: 1,
            wire_bytes: 2048,
            quota_bytes: 0,
            clients: 2,
            subscribers: 1,
            writer_locked: false,
            writers_waiting: 0,
        }
    }

    pub fn sample(at: Instant, segments: Vec<SegmentInfo>, page: &str) -> Sample {
        Sample {
            at,
            segments,
            numbers: Ok(parse(page)),
        }
    }

    #[test]
    fn rates_are_of_one_incarnation_and_of_one_start() {
        let begin = Instant::now();
        let end = begin + Duration::from_secs(2);
        let old = vec![
            segment("/a", 1, 10),
            segment("/b", 1, 10),
            segment("/c", 1, 10),
        ];
        let new = vec![
            segment("/a", 1, 30),
            segment("/b", 2, 12),
            segment("/c", 1, 9),
        ];
        let page = "# HELP x\ninterweave_releases_total 10\n\
                    interweave_segment_version{segment=\"/a\"} 7\ninterweave_errors_total 5\n";
        let before = sample(begin, old, page);
        let now = sample(
            end,
            new,
            "interweave_releases_total 14\ninterweave_errors_total 1\n",
        );
        let rates: Vec<Option<f64>> = rows(Some(&before), &now)
            .iter()
            .map(|row| row.releases_a_second)
            .collect();
        assert_eq!(rates, [Some(10.0), None, None]);
        let whole = Rates::between(Some(&before), &now).unwrap();
        assert_eq!(whole.a_second("releases_total"), Some(2.0));
        assert_eq!(whole.a_second("errors_total"), None);
        assert_eq!(whole.now("segment_version"), None);
        assert!(rows(None, &now)[0].releases_a_second.is_none());
    }
}
