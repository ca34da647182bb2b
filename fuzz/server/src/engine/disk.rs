//! A store as far as an engine sees it: the groups and checkpoints that were answered well. An
//! engine that starts again recovers from them.

use interweave_store::{Checkpoint, Record, RecoveredSegment};
use interweave_wire::protocol::xdr::{from_bytes, to_bytes, Xdr};
use interweave_wire::protocol::{LogBody, LogKind};
use std::collections::BTreeMap;

/// A question of the engine to the store.
pub enum Asked {
    Group(Vec<Record>),
    Save(Checkpoint),
}

#[derive(Default)]
pub struct Disk {
    segments: BTreeMap<u64, RecoveredSegment>,
}

impl Disk {
    pub fn keep(&mut self, asked: &Asked) {
        match asked {
            Asked::Group(records) => records.iter().for_each(|record| self.keep_record(record)),
            Asked::Save(checkpoint) => self.save(checkpoint),
        }
    }

    fn keep_record(&mut self, record: &Record) {
        let id = record.segment_id;
        if let LogBody::Create(create) = &record.body {
            let segment = RecoveredSegment {
                segment_id: id,
                path: create.path.clone(),
                durable: create.durable,
                quota_bytes: create.quota_bytes,
                incarnation: create.incarnation,
                checkpoint: None,
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

    fn save(&mut self, checkpoint: &Checkpoint) {
        let head = &checkpoint.head;
        let Some(segment) = self.segments.get_mut(&head.segment_id) else {
            return;
        };
        segment
            .releases
            .retain(|(release, _)| release.version > head.at.number);
        segment.incarnation = head.at.incarnation;
        segment.serials_below = segment.serials_below.max(head.next_serial);
        segment.checkpoint = Some((written(head), checkpoint.diff.clone()));
    }

    /// The segments for an engine that starts now. `clean`: the last one had stopped in order.
    pub fn found(&self, clean: bool) -> Vec<RecoveredSegment> {
        let found = self.segments.values().cloned();
        found
            .map(|segment| RecoveredSegment { clean, ..segment })
            .collect()
    }
}

/// The value as it is read again. XDR panics where a value is longer than its type allows.
fn written<T: Xdr>(value: &T) -> T {
    from_bytes(&to_bytes(value)).expect("its own bytes")
}
