//! Listing segments by their paths, and describing blocks of one that is open.

use super::engine::Engine;
use super::message::ServerMessage;
use super::segment::SegmentState;
use super::wire::At;
use interweave_wire::protocol::*;
use interweave_wire::Rejection;
use std::ops::Bound;

impl Engine {
    pub(super) fn list_segments(&mut self, at: At, r: &ListSegments) -> Result<(), Rejection> {
        let from = match r.after < r.prefix {
            true => Bound::Included(r.prefix.as_str()),
            false => Bound::Excluded(r.after.as_str()),
        };
        let mut paths = self
            .segments
            .starting_at(from)
            .take_while(|s| s.path.starts_with(&r.prefix))
            .filter(|s| self.may_see(at.session, &s.path));
        let segments = paths
            .by_ref()
            .take(MAX_LISTED as usize)
            .map(SegmentState::info)
            .collect();
        let list = SegmentList {
            segments,
            more: paths.next().is_some(),
        };
        // Paths are bounded, but 128 of the longest do not fit in one control part.
        let list = fitted(list);
        self.wire.send(
            at.connection,
            ServerMessage::new(MessageType::SegmentList, at.stream, &list),
        );
        Ok(())
    }

    pub(super) fn describe_blocks(&mut self, at: At, r: &DescribeBlocks) -> Result<(), Rejection> {
        let (segment, _) = self.open_segment_of(at.connection, r.segment)?;
        let most = MAX_DESCRIBED as usize;
        let described = segment
            .master
            .describe(&r.serials, &r.names, r.after_serial, most);
        let body = BlocksDescribed {
            newest: segment.stamp().into(),
            more: described.more,
        };
        let type_ = MessageType::BlocksDescribed;
        let mut reply =
            ServerMessage::with_bulk(r.segment, type_, at.stream, &body, described.diff.into());
        // The list may be large, but only this connection pays for it.
        reply.lent = false;
        self.wire.send(at.connection, reply);
        Ok(())
    }
}

impl SegmentState {
    fn info(&self) -> SegmentInfo {
        SegmentInfo {
            path: self.path.to_string(),
            newest: self.stamp().into(),
            durable: self.durable,
            block_count: self.master.block_count(),
            wire_bytes: self.master.wire_bytes(),
            quota_bytes: self.quota_bytes,
            clients: self.users.clients.len() as u32,
            subscribers: self.users.subscribers.len() as u32,
            writer_locked: self.lock.is_write_locked(),
            writers_waiting: self.lock.waiting_writers() as u32,
        }
    }
}

/// Takes as much of the list as one control part holds.
fn fitted(mut list: SegmentList) -> SegmentList {
    const FIXED_BYTES: usize = 80;
    let mut room = MAX_CONTROL_BYTES as usize - 64;
    let fits = list.segments.iter().position(|s| {
        let bytes = FIXED_BYTES + s.path.len();
        let full = bytes > room;
        room = room.saturating_sub(bytes);
        full
    });
    if let Some(fits) = fits {
        list.segments.truncate(fits);
        list.more = true;
    }
    list
}
