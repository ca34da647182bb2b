//! A store as far as an engine sees it: the groups and checkpoints that were answered well. An
//! engine that starts again recovers from them.

use bytes::Bytes;
use interweave_store::{Checkpoint, Next, Piece, Record, RecoveredSegment};
use interweave_wire::fields::Fields;
use interweave_wire::protocol::xdr::{from_bytes, to_bytes, Xdr};
use interweave_wire::protocol::{
    CheckpointHead, FieldKey, HeaderField, IdentityField, LogBody, LogKind,
};
use std::collections::BTreeMap;

/// A question of the engine to the store.
pub enum Asked {
    Group(Vec<Record>),
    Save(Checkpoint),
    Large(Large),
}

/// A checkpoint in pieces.
pub struct Large {
    pub head: Box<CheckpointHead>,
    pieces: Vec<Piece>,
    is_whole: bool,
    is_given_up: bool,
}

impl Large {
    pub fn begin(head: Box<CheckpointHead>) -> Self {
        Large {
            head,
            pieces: Vec::new(),
            is_whole: false,
            is_given_up: false,
        }
    }

    pub fn wants_more(&self) -> bool {
        !self.is_whole && !self.is_given_up
    }

    pub fn take(&mut self, next: Next) {
        match next {
            Next::Piece(piece) => self.pieces.push(piece),
            Next::Last(piece) => {
                self.pieces.push(piece);
                self.is_whole = true;
            }
            Next::Nothing => self.is_given_up = true,
        }
    }
}

#[derive(Default)]
pub struct Disk {
    segments: BTreeMap<u64, RecoveredSegment>,
}

impl Disk {
    pub fn keep(&mut self, asked: &Asked) {
        match asked {
            Asked::Group(records) => records.iter().for_each(|record| self.keep_record(record)),
            Asked::Save(checkpoint) => {
                self.save(&checkpoint.head, &checkpoint.diff, Vec::new());
            }
            Asked::Large(large) if large.is_whole => {
                self.save(&large.head, &Bytes::new(), large.pieces.clone());
            }
            Asked::Large(_) => {}
        }
    }

    fn keep_record(&mut self, record: &Record) {
        let id = record.segment_id;
        if let LogBody::Create(create) = &record.body {
            let segment = RecoveredSegment {
                segment_id: id,
                epoch: 0,
                path: create.path.clone(),
                durable: create.durable,
                quota_bytes: create.quota_bytes,
                creator: creator_of(&record.fields),
                incarnation: create.incarnation,
                checkpoint: None,
                pieces: Vec::new(),
                releases: Vec::new(),
                serials_below: 1,
                clean: false,
                damage: None,
            };
            self.segments.insert(id, segment);
        }
        // Its removal may have been answered first.
        let Some(segment) = self.segments.get_mut(&id) else {
            return;
        };
        match &record.body {
            LogBody::Create(_) => {}
            LogBody::Release(release) => {
                let release = (written(release), record.diff.clone());
                segment.releases.push(release);
            }
            LogBody::Serials(below) => segment.serials_below = segment.serials_below.max(*below),
            LogBody::Incarnation(stamp) => segment.incarnation = stamp.incarnation,
            LogBody::Other(kind) if *kind == LogKind::Remove as i32 => {
                self.segments.remove(&id);
            }
            LogBody::Other(kind) => panic!("the engine logs a record of kind {kind}"),
        }
    }

    fn save(&mut self, head: &CheckpointHead, diff: &Bytes, pieces: Vec<Piece>) {
        let Some(segment) = self.segments.get_mut(&head.segment_id) else {
            return;
        };
        segment
            .releases
            .retain(|(release, _)| release.version > head.at.number);
        segment.incarnation = head.at.incarnation;
        let creator = creator_of(&head.fields);
        assert_eq!(segment.creator, creator, "a segment's maker stays");
        segment.serials_below = segment.serials_below.max(head.next_serial);
        segment.checkpoint = Some((written(head), diff.clone()));
        segment.pieces = pieces;
    }

    /// The segments for an engine that starts now, as an owner with that epoch. `clean`: the last
    /// one had stopped in order.
    pub fn found(&self, epoch: u64, clean: bool) -> Vec<RecoveredSegment> {
        let of_owner = |segment| RecoveredSegment {
            epoch,
            clean,
            ..segment
        };
        self.segments.values().cloned().map(of_owner).collect()
    }
}

/// Reads the maker from the fields of a record or checkpoint. Panics where the store would ignore a
/// field that does not hold, because the engine must not write one.
fn creator_of(fields: &[HeaderField]) -> Option<Box<IdentityField>> {
    let fields = Fields::of(fields).expect("each key once");
    let creator = fields.get(FieldKey::Identity);
    creator.expect("a value that decodes").map(Box::new)
}

/// The value as it is read again. XDR panics where a value is longer than its type allows.
fn written<T: Xdr>(value: &T) -> T {
    from_bytes(&to_bytes(value)).expect("its own bytes")
}
