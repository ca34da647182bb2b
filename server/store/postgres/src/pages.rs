//! Pages of the catalogue: the segments of all servers, in the order of their paths [SPACE-34].
//!
//! A page is read from the index of paths, from behind the last one. So each page costs the same,
//! however many segments there are, and nobody holds the catalogue as a whole.

use crate::connection::Connection;
use crate::members;
use crate::reading;
use interweave_store::{Elsewhere, Holder, Listed, Page, PageAsked, StoreError, Watch};
use std::ops::Bound;
use std::time::Instant;
use tokio_postgres::{Row, Statement};

/// From which path, before which bytes, how many. The rows of the page are taken before anything is
/// joined to them.
pub const PAGE: &str = "
SELECT p.path, s.owner, s.incarnation, s.version,
  o.epoch, o.counter, o.lease_ms, o.is_clean, o.address, o.tls_name
FROM (SELECT path, segment FROM {s}.creation
      WHERE path >= $1 AND path < $2 ORDER BY path LIMIT $3) p
  LEFT JOIN {s}.segment s ON s.id = p.segment LEFT JOIN {s}.owner o ON o.epoch = s.owner
ORDER BY p.path";

/// Reads the page, for the server of that epoch.
pub async fn read(
    connection: &Connection,
    statement: &Statement,
    (asked, epoch): (&PageAsked, u64),
    (watch, now): (&Watch, impl Fn() -> Instant),
) -> Result<Page, StoreError> {
    let first = match &asked.from {
        Bound::Unbounded => Vec::new(),
        Bound::Included(path) => path.clone().into_bytes(),
        // Nothing lies between a path and the same with a zero behind it.
        Bound::Excluded(path) => [path.as_bytes(), &[0]].concat(),
    };
    let first = first.max(asked.prefix.clone().into_bytes());
    let end = end_of(asked.prefix.as_bytes());
    let most = i64::from(asked.most);
    let begun = now();
    let read = connection
        .rows_of(statement, &[&first, &end, &most])
        .await?;
    let look = (begun, now());
    for row in &read {
        reading::expect_row(row, 1, row.get(0))?;
    }
    let segments = read.iter().map(|row| listed_in(row, epoch, watch, look));
    Ok(Page {
        segments: segments.collect(),
        is_last: read.len() < asked.most as usize,
    })
}

/// Bytes behind all paths that begin so. UTF-8 has no byte 0xff.
fn end_of(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    match end.last_mut() {
        Some(last) => *last += 1,
        None => end.push(0xff),
    }
    end
}

fn listed_in(row: &Row, epoch: u64, watch: &Watch, look: (Instant, Instant)) -> Listed {
    let number = |index| row.get::<_, i64>(index) as u64;
    let is_clean: Option<bool> = row.get(7);
    let address: Option<String> = row.get(8);
    let holder = match (is_clean, address) {
        _ if number(1) == epoch => Holder::Asked,
        (Some(false), Some(address)) => {
            let (epoch, counter, lease) = members::seen_in(row, 4);
            match watch.saw((epoch, counter), lease, look) {
                true => Holder::Nobody,
                false => Holder::Other(Elsewhere {
                    address,
                    tls_name: row.get(9),
                }),
            }
        }
        _ => Holder::Nobody,
    };
    Listed {
        path: String::from_utf8_lossy(row.get(0)).into_owned(),
        incarnation: number(2),
        version: number(3),
        holder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_paths_of_a_prefix_are_before_its_end() {
        for (prefix, inside, outside) in [
            ("/", "/\u{10ffff}", "0"),
            ("/a", "/a\u{10ffff}", "/b"),
            ("/\u{7ff}", "/\u{7ff}x", "/\u{800}"),
        ] {
            let end = end_of(prefix.as_bytes());
            assert!(
                *inside.as_bytes() < *end && *end <= *outside.as_bytes(),
                "{prefix}"
            );
        }
        assert!(*"/\u{10ffff}".as_bytes() < *end_of(b""));
    }
}
