//! The small segments, for the example and for the test of a real server with very many of them.

use std::path::Path;
use std::sync::mpsc::{channel, Receiver};

use bytes::Bytes;
use interweave_store::{EmbeddedStore, Options, Record, SegmentStore, StoreError};
use interweave_wire::protocol::{Durability, LogBody, LogCreate, LogRelease, Primitive};
use interweave_wire::{chain, DiffBuilder};

/// The integers of each segment: the segment's number, and the numbers that follow.
pub const INTS: u64 = 16;
const SERIALS_BELOW: u64 = 1 << 20;
/// So many segments are on their way to the log together.
const TOGETHER: u64 = 1000;

/// From nothing to a block of integers, the first of which is `first`.
fn diff(first: u64) -> Bytes {
    let mut diff = DiffBuilder::new(0, 1);
    diff.add_block(1, Primitive::Int as u32, INTS, "ints");
    let values: Vec<u8> = (first..first + INTS)
        .flat_map(|value| (value as u32).to_be_bytes())
        .collect();
    diff.set(1, INTS, &values);
    diff.finish()
}

fn append(
    store: &EmbeddedStore,
    group: Vec<Record>,
    said: &std::sync::mpsc::Sender<Result<(), StoreError>>,
) {
    let said = said.clone();
    let done = Box::new(move |result| drop(said.send(result)));
    store.append(group, Durability::Written, done);
}

fn wait(hear: &Receiver<Result<(), StoreError>>, count: u64) -> Result<(), StoreError> {
    let heard = (0..count).map(|_| hear.recv().unwrap_or(Err(StoreError::Closed)));
    heard.collect()
}

/// Writes the segments /small/0, /small/1 and so on. `is_clean`: the store ends cleanly.
pub fn write(dir: &Path, count: u64, is_clean: bool) -> Result<(), StoreError> {
    let (store, found) = EmbeddedStore::open(dir, Options::default())?;
    let first_id = found.iter().map(|s| s.segment_id).max().unwrap_or(0) + 1;
    let (said, hear) = channel();
    for begin in (0..count).step_by(TOGETHER as usize) {
        let end = count.min(begin + TOGETHER);
        for number in begin..end {
            let record = |body, diff| Record {
                segment_id: first_id + number,
                body,
                diff,
                fields: Vec::new(),
            };
            let create = LogBody::Create(LogCreate {
                path: format!("/small/{number}"),
                durable: Durability::Written,
                quota_bytes: 1 << 30,
                incarnation: 1,
            });
            let diff = diff(number);
            let release = LogBody::Release(LogRelease {
                version: 1,
                chain: chain::next(0, &diff),
                session: [1; 16],
                sequence: number + 1,
                fence: 1,
            });
            let serials = LogBody::Serials(SERIALS_BELOW);
            let created = vec![record(create, Bytes::new()), record(serials, Bytes::new())];
            append(&store, created, &said);
            append(&store, vec![record(release, diff)], &said);
        }
        wait(&hear, 2 * (end - begin))?;
    }
    Box::new(store).close(is_clean)
}
