//! What commands ask of a server: segments listed, fetched, watched, changed and removed.

use std::time::Duration;

use bytes::Bytes;
use interweave_master::Segment;
use interweave_wire::mip::Address;
use interweave_wire::protocol::{
    AbortWriter, AcquireReader, AcquireWriter, CoherenceModel, Credit, Durability, ListSegments,
    MessageType, OpenSegment, Push, ReaderAcquired, ReleasePart, ReleaseWriter, RemoveSegment,
    SegmentInfo, SegmentList, SegmentOpened, Subscribe, Subscribed, VersionStamp, WriterAcquired,
    WriterReleased,
};
use interweave_wire::{value, DiffBuilder, Url};

use crate::connection::Connection;
use crate::copy::Copy;
use crate::failure::Failure;

/// How many bytes of pushed diffs a watcher lets the server send ahead.
const PUSH_BYTES: u64 = 16 << 20;

/// A change of one value: what `set` makes of its arguments, under the writer lock.
pub struct Change {
    pub serial: u64,
    pub first_unit: u64,
    pub units: u64,
    /// Where in the block's slot form the value begins, and the value.
    pub byte: u64,
    pub bytes: Vec<u8>,
}

pub struct Watched {
    pub copy: Copy,
    segment: u32,
    at: VersionStamp,
}

pub struct Remote {
    connection: Connection,
}

impl Remote {
    pub fn connect(server: &Address) -> Result<Remote, Failure> {
        Ok(Remote {
            connection: Connection::open(server)?,
        })
    }

    pub fn list(&mut self, prefix: &str) -> Result<Vec<SegmentInfo>, Failure> {
        let mut found: Vec<SegmentInfo> = Vec::new();
        loop {
            let request = ListSegments {
                prefix: prefix.to_string(),
                after: found
                    .last()
                    .map(|segment| segment.path.clone())
                    .unwrap_or_default(),
            };
            let (list, _) = self.connection.request::<_, SegmentList>(
                MessageType::ListSegments,
                &request,
                MessageType::SegmentList,
            )?;
            let more = list.more && !list.segments.is_empty();
            found.extend(list.segments);
            if !more {
                return Ok(found);
            }
        }
    }

    /// False if the segment was not there, and that is no error.
    pub fn remove(&mut self, url: &Url, if_exists: bool) -> Result<bool, Failure> {
        if if_exists
            && !self
                .list(&url.path)?
                .iter()
                .any(|segment| segment.path == url.path)
        {
            return Ok(false);
        }
        let request = RemoveSegment {
            path: url.path.clone(),
        };
        self.connection.exchange(
            MessageType::RemoveSegment,
            &request,
            Bytes::new(),
            MessageType::Done,
        )?;
        Ok(true)
    }

    /// A copy of the newest version.
    pub fn fetch(&mut self, url: &Url) -> Result<Copy, Failure> {
        Ok(self.fetch_to_watch(url)?.copy)
    }

    fn fetch_to_watch(&mut self, url: &Url) -> Result<Watched, Failure> {
        let opened = self.open(url)?;
        let mut watched = Watched {
            copy: Copy {
                url: url.clone(),
                segment: Segment::new(0),
            },
            segment: opened.segment,
            at: VersionStamp {
                incarnation: 0,
                number: 0,
            },
        };
        self.update(&mut watched)?;
        Ok(watched)
    }

    fn open(&mut self, url: &Url) -> Result<SegmentOpened, Failure> {
        let request = OpenSegment {
            path: url.path.clone(),
            create: false,
            read_only: false,
            durable: Durability::Synced,
            quota_bytes: 0,
        };
        let (opened, _) = self.connection.request::<_, SegmentOpened>(
            MessageType::OpenSegment,
            &request,
            MessageType::SegmentOpened,
        )?;
        Ok(opened)
    }

    /// Brings the copy to the newest version; returns the bytes of the diff.
    fn update(&mut self, watched: &mut Watched) -> Result<u64, Failure> {
        let request = AcquireReader {
            segment: watched.segment,
            have: watched.at.clone(),
            model: CoherenceModel::Full,
            x: 0.0,
            fresh: true,
            deadline_ms: 0,
        };
        let (acquired, diff) = self.connection.request::<_, ReaderAcquired>(
            MessageType::AcquireReader,
            &request,
            MessageType::ReaderAcquired,
        )?;
        if acquired.updated {
            apply(watched, &diff, &acquired.now)?;
        }
        watched.at = acquired.now;
        Ok(diff.len() as u64)
    }

    /// Fetches the segment and subscribes to what follows.
    pub fn watch(&mut self, url: &Url) -> Result<Watched, Failure> {
        let watched = self.fetch_to_watch(url)?;
        let request = Subscribe {
            segment: watched.segment,
            have: watched.at.clone(),
            model: CoherenceModel::Full,
            x: 0.0,
            push: true,
            push_bytes: PUSH_BYTES,
        };
        self.connection.request::<_, Subscribed>(
            MessageType::Subscribe,
            &request,
            MessageType::Subscribed,
        )?;
        Ok(watched)
    }

    /// Waits for a newer version and applies it; returns the bytes of the diff.
    pub fn next_change(&mut self, watched: &mut Watched) -> Result<u64, Failure> {
        loop {
            let message = self.connection.next_notification()?;
            match message.kind() {
                Some(MessageType::Push) => {
                    let push: Push = message.decode()?;
                    let bytes = message.bulk.len() as u64;
                    self.give_credit(watched.segment, bytes)?;
                    if push.from != watched.at {
                        return self.update(watched);
                    }
                    apply(watched, &message.bulk, &push.now)?;
                    watched.at = push.now;
                    return Ok(bytes);
                }
                Some(MessageType::NotRecent) => return self.update(watched),
                Some(MessageType::SegmentGone) => {
                    return Err(Failure::new(format!(
                        "{} was removed",
                        watched.copy.url_text()
                    )));
                }
                _ => {}
            }
        }
    }

    fn give_credit(&mut self, segment: u32, bytes: u64) -> Result<(), Failure> {
        self.connection
            .tell(MessageType::Credit, &Credit { segment, bytes })
    }

    /// Changes one value under the writer lock and returns the new version. `decide` sees the newest
    /// version; if it refuses, nothing is changed.
    pub fn change(
        &mut self,
        url: &Url,
        timeout: Duration,
        decide: impl FnOnce(&Copy) -> Result<Change, Failure>,
    ) -> Result<u64, Failure> {
        let mut watched = self.fetch_to_watch(url)?;
        let request = AcquireWriter {
            segment: watched.segment,
            have: watched.at.clone(),
            deadline_ms: timeout.as_millis().min(u32::MAX.into()) as u32,
        };
        let (granted, diff) = self.connection.request::<_, WriterAcquired>(
            MessageType::AcquireWriter,
            &request,
            MessageType::WriterAcquired,
        )?;
        if granted.updated {
            apply(&mut watched, &diff, &granted.now)?;
        }
        match decide(&watched.copy) {
            Ok(change) => self.release(&watched, &granted, change),
            Err(failure) => {
                let abort = AbortWriter {
                    segment: watched.segment,
                    fence: granted.fence,
                };
                self.connection.exchange(
                    MessageType::AbortWriter,
                    &abort,
                    Bytes::new(),
                    MessageType::Done,
                )?;
                Err(failure)
            }
        }
    }

    fn release(
        &mut self,
        watched: &Watched,
        granted: &WriterAcquired,
        change: Change,
    ) -> Result<u64, Failure> {
        let diff = diff_of(&watched.copy, granted.now.number, change);
        let request = ReleaseWriter {
            sequence: 1,
            parts: vec![ReleasePart {
                segment: watched.segment,
                fence: granted.fence,
                base: granted.now.number,
                diff_bytes: diff.len() as u64,
            }],
        };
        let reply = self.connection.exchange(
            MessageType::ReleaseWriter,
            &request,
            diff,
            MessageType::WriterReleased,
        )?;
        let released: WriterReleased = reply.decode()?;
        let version = released.versions.first().map(|version| version.number);
        version.ok_or_else(|| Failure::new("the server released the lock without a version"))
    }
}

fn apply(watched: &mut Watched, diff: &Bytes, now: &VersionStamp) -> Result<(), Failure> {
    let reached = watched.copy.segment.apply(diff)?;
    match reached == now.number {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "the server announced version {} and sent version {reached}",
            now.number
        ))),
    }
}

fn diff_of(copy: &Copy, base: u64, change: Change) -> Bytes {
    let block = copy
        .segment
        .block(change.serial)
        .expect("the change was decided on this copy");
    let mut slots = copy.slots(&block);
    slots[change.byte as usize..change.byte as usize + change.bytes.len()]
        .copy_from_slice(&change.bytes);
    let mut run = Vec::new();
    let units = (change.first_unit, change.units);
    value::put_run(block.layout, change.first_unit, units, &slots, &mut run);
    let mut builder = DiffBuilder::new(base, base + 1);
    builder.change(change.serial, &run);
    builder.finish()
}
