//! A cached copy of one segment in wire format, and its locks.

use super::error::ClientError;
use super::{Client, OpenOptions};
use bytes::Bytes;
use interweave_master::Segment;
use interweave_wire::protocol::*;
use interweave_wire::DiffBuilder;
use std::time::{Duration, Instant};

/// A copy that is brought up to date by diffs of the server.
#[derive(Debug)]
pub struct Copy {
    number: u32,
    segment: Segment,
    stamp: VersionStamp,
    diff_bytes: u64,
}

/// A writer lock that was granted.
#[derive(Debug, Clone, PartialEq)]
pub struct WriterLock {
    pub grant: WriterAcquired,
    /// The number that the release has; see [`Client::release`].
    pub sequence: u64,
}

impl Copy {
    /// Opens the segment; the copy is empty until it is fetched.
    pub fn open(
        client: &mut Client,
        path: &str,
        options: &OpenOptions,
    ) -> Result<Copy, ClientError> {
        let opened = client.open(path, options)?;
        Ok(Copy::new(opened.segment))
    }

    /// Of a segment that is open under that number.
    pub fn new(number: u32) -> Copy {
        Copy {
            number,
            segment: Segment::new(0),
            stamp: VersionStamp {
                incarnation: 0,
                number: 0,
                chain: 0,
            },
            diff_bytes: 0,
        }
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    pub fn stamp(&self) -> &VersionStamp {
        &self.stamp
    }

    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Bytes of all diffs that were taken in.
    pub fn diff_bytes(&self) -> u64 {
        self.diff_bytes
    }

    /// The segment was opened again, over another connection, and has that number now.
    pub fn reopened(&mut self, number: u32) {
        self.number = number;
    }

    /// Takes a diff in: of a reply, or of PUSH.
    pub fn update(&mut self, diff: &Bytes, now: &VersionStamp) -> Result<(), ClientError> {
        let reached = self.segment.apply(diff)?;
        if reached != now.number {
            return Err(ClientError::Unexpected(format!(
                "the server announced version {} and sent version {reached}",
                now.number
            )));
        }
        self.stamp = now.clone();
        self.diff_bytes += diff.len() as u64;
        Ok(())
    }

    /// Brings the copy up to the newest version.
    pub fn fetch(&mut self, client: &mut Client) -> Result<(), ClientError> {
        self.acquire(client, CoherenceModel::Full, 0.0).map(drop)
    }

    /// Makes the copy recent enough; tells whether it was not.
    pub fn acquire(
        &mut self,
        client: &mut Client,
        model: CoherenceModel,
        x: f64,
    ) -> Result<bool, ClientError> {
        let body = AcquireReader {
            segment: self.number,
            have: self.stamp.clone(),
            model,
            x,
            fresh: false,
            deadline_ms: milliseconds(client.patience),
        };
        let (acquired, diff): (ReaderAcquired, _) = client.request(
            MessageType::AcquireReader,
            &body,
            MessageType::ReaderAcquired,
        )?;
        if acquired.updated {
            self.update(&diff, &acquired.now)?;
        }
        Ok(acquired.updated)
    }

    /// Waits for the writer lock and brings the copy up to date.
    pub fn lock(
        &mut self,
        client: &mut Client,
        wait: Duration,
        sequence: u64,
    ) -> Result<WriterLock, ClientError> {
        let body = AcquireWriter {
            segment: self.number,
            have: self.stamp.clone(),
            deadline_ms: milliseconds(wait),
        };
        let stream = client.send(MessageType::AcquireWriter, &body, Bytes::new())?;
        let until = Instant::now() + wait + client.patience;
        let (grant, diff): (WriterAcquired, _) =
            client.reply_until(stream, MessageType::WriterAcquired, until)?;
        if grant.updated {
            self.update(&diff, &grant.now)?;
        }
        Ok(WriterLock { grant, sequence })
    }

    /// A diff from the lock's version to the next, which sets all `count` units of a block. The
    /// block is made if the copy does not have it. `values`: as a run has them.
    pub fn set_block(
        &self,
        lock: &WriterLock,
        (name, type_serial): (&str, u32),
        count: u64,
        values: &[u8],
    ) -> Bytes {
        let base = lock.grant.now.number;
        let mut diff = DiffBuilder::new(base, base + 1);
        let serial = match self.segment.block_by_name(name) {
            Some(block) => block.serial,
            None => {
                diff.add_block(lock.grant.first_serial, type_serial, count, name);
                lock.grant.first_serial
            }
        };
        diff.set(serial, count, values);
        diff.finish()
    }

    /// Gives the lock back with a diff from the copy's version to the next, which the copy takes
    /// after the acknowledgement; with an empty diff nothing changes.
    pub fn release(
        &mut self,
        client: &mut Client,
        lock: &WriterLock,
        diff: Bytes,
    ) -> Result<VersionStamp, ClientError> {
        let now = self.release_alone(client, lock, diff.clone())?;
        if !diff.is_empty() {
            self.update(&diff, &now)?;
        }
        Ok(now)
    }

    /// The same. The copy does not take the diff.
    pub fn release_alone(
        &self,
        client: &mut Client,
        lock: &WriterLock,
        diff: Bytes,
    ) -> Result<VersionStamp, ClientError> {
        let stream = self.send_release(client, lock, diff)?;
        let (released, _): (WriterReleased, _) =
            client.reply(stream, MessageType::WriterReleased)?;
        released.versions.into_iter().next().ok_or_else(|| {
            ClientError::Unexpected("a release was answered without a version".to_string())
        })
    }

    /// Sends a release without waiting for its answer.
    pub fn send_release(
        &self,
        client: &mut Client,
        lock: &WriterLock,
        diff: Bytes,
    ) -> Result<u32, ClientError> {
        let part = ReleasePart {
            segment: self.number,
            fence: lock.grant.fence,
            base: lock.grant.now.clone(),
            diff_bytes: diff.len() as u64,
        };
        let body = ReleaseWriter {
            sequence: lock.sequence,
            parts: vec![part],
        };
        client.send(MessageType::ReleaseWriter, &body, diff)
    }

    /// Gives the lock back without a change.
    pub fn abort(&self, client: &mut Client, lock: &WriterLock) -> Result<(), ClientError> {
        let body = AbortWriter {
            segment: self.number,
            fence: lock.grant.fence,
        };
        client.request_done(MessageType::AbortWriter, &body)
    }
}

fn milliseconds(wait: Duration) -> u32 {
    u32::try_from(wait.as_millis()).unwrap_or(u32::MAX)
}
