//! What is whole of a store that is damaged: a new store of its whole segments, and a list of those
//! that are left out [LOG-10].

use std::path::Path;
use std::sync::mpsc::{channel, Receiver};
use std::sync::Arc;

use bytes::Bytes;
use interweave_wire::protocol::{CheckpointHead, Durability, LogBody, LogCreate, VersionStamp};

use crate::catalogue::{Entry, Listed};
use crate::creator::creator_field;
use crate::damage::Damage;
use crate::disk::{Directory, SharedDisk};
use crate::files::failed;
use crate::ordered::Threads;
use crate::owner::{read_epoch, write_epoch};
use crate::recovery::{read_store, Found};
use crate::store::{Checkpoint, Done, Next, Piece, Record, RecoveredSegment, SegmentStore};
use crate::{EmbeddedStore, Options, StoreError};

/// A segment that is not in a backup, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// `/.damaged/<segment>` if nothing tells it [LOG-12].
    pub path: String,
    pub why: String,
}

/// Makes a store in the empty directory `to` of the whole segments of the one in `from`, which
/// nobody writes to. The new store has a larger epoch.
pub fn salvage(from: &Path, listed: &Listed, to: &Path) -> Result<Vec<LeftOut>, StoreError> {
    let from: SharedDisk = Arc::new(Directory::at(from));
    let to: SharedDisk = Arc::new(Directory::at(to));
    let found = read_store(&*from, listed, true, Threads::default())?;
    let left_out = left_out(&found, listed);
    let epoch = read_epoch(&*from).unwrap_or(0).max(found.epoch);
    write_epoch(&to, epoch).map_err(|error| failed("writing", to.path(), &error))?;
    let options = Options {
        identity: found.identity,
        ..Options::default()
    };
    let (store, _) = EmbeddedStore::open_any(&to, options)?;
    let whole = found.histories.into_iter();
    for (_, mut history) in whole.filter(|(_, h)| !h.removed && h.damage.is_none()) {
        take_over(&store, history.recovered(None, (0, found.clean)))?;
    }
    Box::new(store).close(true)?;
    Ok(left_out)
}

fn left_out(found: &Found, listed: &Listed) -> Vec<LeftOut> {
    let damaged = found.histories.iter().filter(|(_, h)| !h.removed);
    let told = damaged.filter_map(|(id, history)| {
        let known = || listed.entries.get(id).and_then(Entry::known_path);
        let path = history.path().or_else(known).map(String::from);
        Some(LeftOut {
            why: history.damage.as_deref().map(Damage::to_string)?,
            path: path.unwrap_or_else(|| format!("/.damaged/{id}")),
        })
    });
    told.collect()
}

/// Writes the segment as it is, from its creation or checkpoint on.
fn take_over(store: &EmbeddedStore, segment: RecoveredSegment) -> Result<(), StoreError> {
    let id = segment.segment_id;
    let record = |body, diff| Record {
        segment_id: id,
        body,
        diff,
        fields: Vec::new(),
    };
    let create = LogBody::Create(LogCreate {
        path: segment.path,
        durable: segment.durable,
        quota_bytes: segment.quota_bytes,
        incarnation: segment.incarnation,
    });
    let serials = LogBody::Serials(segment.serials_below);
    let mut begun = vec![record(create, Bytes::new()), record(serials, Bytes::new())];
    let creator = segment.creator.as_deref();
    begun[0].fields.extend(creator.map(creator_field));
    append(store, begun)
        .recv()
        .unwrap_or(Err(StoreError::Closed))?;
    if let Some((head, diff)) = segment.checkpoint {
        let stamp = VersionStamp {
            incarnation: segment.incarnation,
            number: head.at.number,
            chain: head.at.chain,
        };
        match segment.pieces.is_empty() {
            true => save(store, Checkpoint { head, diff })?,
            false => save_in_pieces(store, head, segment.pieces)?,
        }
        let incarnation = record(LogBody::Incarnation(stamp), Bytes::new());
        append(store, vec![incarnation])
            .recv()
            .unwrap_or(Err(StoreError::Closed))?;
    }
    let releases = segment.releases.into_iter();
    let written: Vec<_> = releases
        .map(|(release, diff)| append(store, vec![record(LogBody::Release(release), diff)]))
        .collect();
    let mut answers = written.into_iter();
    answers.try_for_each(|written| written.recv().unwrap_or(Err(StoreError::Closed)))
}

fn save(store: &EmbeddedStore, checkpoint: Checkpoint) -> Result<(), StoreError> {
    let (done, saved) = answer();
    store.checkpoint(checkpoint, done);
    saved.recv().unwrap_or(Err(StoreError::Closed))
}

fn save_in_pieces(
    store: &EmbeddedStore,
    head: CheckpointHead,
    pieces: Vec<Piece>,
) -> Result<(), StoreError> {
    let segment_id = head.segment_id;
    let (want, wanted) = channel();
    let want = Box::new(move || {
        // whoever asked waits, or has failed already
        let _ = want.send(());
    });
    let (done, saved) = answer();
    store.checkpoint_in_pieces(head, want, done);
    let mut pieces = pieces.into_iter().peekable();
    while let Some(piece) = pieces.next() {
        if wanted.recv().is_err() {
            break; // it has failed, and says why
        }
        let is_last = pieces.peek().is_none();
        let next = if is_last {
            Next::Last(piece)
        } else {
            Next::Piece(piece)
        };
        store.next(segment_id, next);
    }
    saved.recv().unwrap_or(Err(StoreError::Closed))
}

fn append(store: &EmbeddedStore, group: Vec<Record>) -> Receiver<Result<(), StoreError>> {
    let (done, written) = answer();
    // the end of the store brings all of it to the disk
    store.append(group, Durability::Written, done);
    written
}

fn answer() -> (Done, Receiver<Result<(), StoreError>>) {
    let (sender, receiver) = channel();
    let done = move |result| {
        // whoever asked waits, or has failed already
        let _ = sender.send(result);
    };
    (Box::new(done), receiver)
}
