//! Which segments a page of /status or /metrics has, and how the engine is asked for them.
//!
//! The engine is asked for a few segments at a time, and other events come between. So nobody waits
//! long for a page, however many segments there are and however often somebody asks.

use super::shell::Shell;
use crate::session::{SegmentStatistics, Totals};
use interweave_access::Identity;
use std::ops::Bound;
use tokio::task::yield_now;

/// A page has no more segments.
pub const MOST: usize = 1000;
/// So many segments are looked at without a pause.
const SLICE: usize = 16;
const SLICE_OF_TOTALS: usize = 256;

/// What is asked for: the segments from the path `from` on, at most `limit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    from: String,
    limit: usize,
    /// Somebody named segments; otherwise the first are meant.
    pub is_chosen: bool,
}

/// Segments in the order of their paths, and the path at which the next page begins.
#[derive(Debug)]
pub struct Listed {
    pub segments: Vec<SegmentStatistics>,
    pub next: Option<String>,
}

impl Wanted {
    /// The query of a request: `from=PATH&limit=N`, both optional. An error says what is allowed.
    pub fn parse(query: Option<&str>) -> Result<Wanted, String> {
        let mut wanted = Wanted {
            from: String::new(),
            limit: MOST,
            is_chosen: false,
        };
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            match (&*name, value.parse()) {
                ("from", _) => wanted.from = value.into_owned(),
                ("limit", Ok(limit)) if (1..=MOST).contains(&limit) => wanted.limit = limit,
                ("limit", _) => {
                    return Err(format!(
                        "limit is {value:?}; it is a number from 1 to {MOST}"
                    ))
                }
                _ => return Err(format!("{name:?} is unknown; a page knows from and limit")),
            }
            wanted.is_chosen = true;
        }
        Ok(wanted)
    }
}

/// Lists the segments that the identity may read. None: `is_wanted` was false meanwhile.
pub async fn list(
    shell: &Shell,
    wanted: &Wanted,
    identity: &Identity,
    is_wanted: impl Fn() -> bool,
) -> Option<Listed> {
    let mut segments: Vec<SegmentStatistics> = Vec::new();
    let mut from = Bound::Included(wanted.from.clone());
    // One more than the page has: it says where the next page begins.
    while segments.len() <= wanted.limit {
        let most = SLICE.min(wanted.limit + 1 - segments.len());
        let at = from.as_ref().map(String::as_str);
        let Some(last) = shell.add_statistics(&mut segments, identity, at, most) else {
            break;
        };
        from = Bound::Excluded(last);
        yield_now().await;
        if !is_wanted() {
            return None;
        }
    }
    let beyond = (segments.len() > wanted.limit).then(|| segments.pop());
    Some(Listed {
        next: beyond.flatten().map(|segment| segment.path),
        segments,
    })
}

/// The sums over all segments. Segments that come or go meanwhile may be in them or not. None:
/// `is_wanted` was false meanwhile.
pub async fn totals(shell: &Shell, is_wanted: impl Fn() -> bool) -> Option<Totals> {
    let mut totals = Totals::default();
    let mut last = None;
    loop {
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        let from = from.as_ref().map(String::as_str);
        last = shell.add_to_totals(&mut totals, from, SLICE_OF_TOTALS);
        if last.is_none() {
            return Some(totals);
        }
        yield_now().await;
        if !is_wanted() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_where_a_page_begins_and_how_long_it_is() {
        let wanted = Wanted::parse(Some("limit=7&from=%2Fa%20b%2Fc%3F")).expect("a right query");
        assert_eq!((&*wanted.from, wanted.limit), ("/a b/c?", 7));
        assert!(wanted.is_chosen);
        let wanted = Wanted::parse(None).expect("a right query");
        assert_eq!((&*wanted.from, wanted.limit), ("", MOST));
        assert!(!wanted.is_chosen);
    }

    #[test]
    fn a_wrong_query_is_refused_with_what_is_allowed() {
        for query in ["limit=0", "limit=1001", "limit=-1", "limit=many", "page=2"] {
            let error = Wanted::parse(Some(query)).expect_err(query);
            assert!(error.contains("limit"), "{error}");
        }
    }
}
