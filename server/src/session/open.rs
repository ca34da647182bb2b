//! Segments by path: opening, creating, closing, removing, listing, describing.
//! Implements [SEG-1..4] of spec/protocol/segment.x as far as they are the server's.

use super::chain::Chains;
use super::commits::Commits;
use super::engine::{stopping, Engine};
use super::journal::Entry;
use super::locks::terms;
use super::message::Outgoing;
use super::segment::{Beginning, Life, SegmentState};
use super::serials::{Serials, SERIALS_END, SERIAL_STEP};
use super::storing;
use super::wire::{At, Unanswered, Wire};
use crate::lock::SegmentLock;
use interweave_master::Segment;
use interweave_store::StoreError;
use interweave_wire::protocol::*;
use interweave_wire::Rejection;
use std::ops::Bound;

impl Engine {
    pub(super) fn open_segment(&mut self, at: At, r: &OpenSegment) -> Result<(), Rejection> {
        check_path(&r.path)?;
        let found = self.paths.get(&r.path).copied();
        let number = match found {
            Some(number) => number,
            None if !r.create => {
                let text = format!(
                    "segment {} was to be opened; there is none of that name here; create it, or \
                     see what there is with `interweave ls`",
                    r.path
                );
                return Err(Rejection::new(ErrorCode::NoSegment, text));
            }
            None => {
                self.wire.may_await(at)?;
                self.create_segment(r)?
            }
        };
        let Some(segment) = self.segments.get_mut(&number) else {
            return Ok(());
        };
        match &segment.life {
            Life::Creating => {
                self.wire.await_answer(at, Unanswered::Store)?;
                if let Some(segment) = self.segments.get_mut(&number) {
                    let creator = (at.connection, at.stream, r.read_only);
                    segment.creators.push(creator);
                }
                return Ok(());
            }
            Life::Removing => return Err(removed(&r.path)),
            Life::Damaged(what) => return Err(damaged(&r.path, what)),
            Life::Open => {}
        }
        self.note_open(at.connection, number, r.read_only)?;
        self.send_opened(at.connection, at.stream, number, found.is_none());
        Ok(())
    }

    /// Notes that the connection has the segment open.
    fn note_open(
        &mut self,
        connection: u64,
        number: u32,
        read_only: bool,
    ) -> Result<(), Rejection> {
        let is_new = self.wire.open(connection, number, read_only)?;
        if let (true, Some(segment)) = (is_new, self.segments.get_mut(&number)) {
            segment.clients.push(connection);
        }
        Ok(())
    }

    fn send_opened(&mut self, connection: u64, stream: u32, number: u32, created: bool) {
        let Some(s) = self.segments.get(&number) else {
            return;
        };
        let body = SegmentOpened {
            segment: number,
            created,
            newest: s.stamp().into(),
            durable: s.durable,
            quota_bytes: s.quota_bytes,
            block_count: s.master.block_count(),
            wire_bytes: s.master.wire_bytes(),
        };
        let reply = Outgoing::about(number, MessageType::SegmentOpened, stream, &body);
        self.wire.send(connection, reply);
    }

    /// Makes an empty segment. It is served at once if nothing has to be on the disk for that.
    fn create_segment(&mut self, r: &OpenSegment) -> Result<u32, Rejection> {
        if self.stopping {
            return Err(stopping());
        }
        self.check_bounds(r)?;
        self.check_nameless(&r.path)?;
        let durable = match self.config.stored {
            true => r.durable,
            false => Durability::Memory,
        };
        let quota_bytes = match r.quota_bytes {
            0 => self.config.quota_bytes,
            given => given,
        };
        let incarnation = self.next_incarnation();
        self.last_segment_id += 1;
        let waits = self.config.stored && durable != Durability::Memory;
        let number = self.add_segment(Beginning {
            number: 0,
            id: self.last_segment_id,
            path: r.path.clone(),
            durable,
            quota_bytes,
            incarnation,
            chains: Chains::default(),
            master: Segment::new(quota_bytes),
            lock: SegmentLock::new(terms(&self.config), self.config.first_fence),
            life: match waits {
                true => Life::Creating,
                false => Life::Open,
            },
            serials: Serials::begin(match self.config.stored {
                true => SERIAL_STEP,
                false => SERIALS_END,
            }),
        });
        if self.config.stored {
            self.log_creation(number);
        }
        Ok(number)
    }

    /// Whether there may be another segment, and as large.
    fn check_bounds(&self, r: &OpenSegment) -> Result<(), Rejection> {
        let (most, most_bytes) = (self.config.max_segments, self.config.max_quota_bytes);
        let text = if self.segments.len() >= most {
            format!(
                "segment {} was to be created; this server has {} and creates no more than {most}: \
                 remove some, or start it with a larger --max-segments",
                r.path,
                self.segments.len()
            )
        } else if r.quota_bytes > most_bytes {
            format!(
                "segment {} was to be created with a quota of {} bytes; this server gives at most \
                 {most_bytes}: ask for less, or start it with a larger --max-quota",
                r.path, r.quota_bytes
            )
        } else {
            return Ok(());
        };
        Err(Rejection::new(ErrorCode::TooLarge, text))
    }

    /// Nothing is made anew that may be there, damaged, under a name that is lost [LOG-12].
    fn check_nameless(&self, path: &str) -> Result<(), Rejection> {
        let nameless = self.nameless.iter().filter_map(|n| self.segments.get(n));
        let Some(first) = nameless.map(|s| &s.path).min() else {
            return Ok(());
        };
        let text = format!(
            "segment {path} was to be created; it may be one of {} damaged segments whose names are \
             lost: restore a backup (interweave restore), or remove them if they are not missed, \
             first {first} (interweave rm)",
            self.nameless.len()
        );
        Err(Rejection::new(ErrorCode::Damaged, text))
    }

    /// Gives the segment its number and its place among the paths.
    pub(super) fn add_segment(&mut self, mut beginning: Beginning) -> u32 {
        self.last_number += 1;
        beginning.number = self.last_number;
        let mut state = SegmentState::from(beginning);
        state.saved_ns = self.wire.now_ns();
        state.commits = Commits::begin(state.master.newest(), self.wire.now_ns());
        state.master.tune(self.config.tuning);
        self.paths.insert(state.path.clone(), self.last_number);
        self.segments.insert(self.last_number, state);
        self.last_number
    }

    pub(super) fn next_incarnation(&mut self) -> u64 {
        self.last_incarnation += 1;
        self.last_incarnation
    }

    pub(super) fn log_creation(&mut self, number: u32) {
        let Some(s) = self.segments.get(&number) else {
            return;
        };
        let create = LogBody::Create(LogCreate {
            path: s.path.clone(),
            durable: s.durable,
            quota_bytes: s.quota_bytes,
            incarnation: s.incarnation,
        });
        let group = vec![
            storing::record(s.id, create),
            storing::record(s.id, LogBody::Serials(s.serials.below())),
        ];
        let durable = s.durable;
        let entry = Entry::Creation { segment: number };
        self.journal.append(entry, group, durable);
    }

    /// The creation is durable, or failed.
    pub(super) fn creation_stored(&mut self, number: u32, result: Result<(), StoreError>) {
        let Some(s) = self.segments.get_mut(&number) else {
            return;
        };
        let creators = std::mem::take(&mut s.creators);
        match result {
            Ok(()) => {
                s.life = Life::Open;
                s.unlogged = false;
            }
            Err(error) if s.life == Life::Creating => {
                self.remove_state(number);
                for (connection, stream, _) in creators {
                    self.wire.answered(connection, stream);
                    let rejection = storing::rejection(&error);
                    self.wire.send(
                        connection,
                        Outgoing::error(stream, rejection.code, rejection.text),
                    );
                }
                return;
            }
            // A MEMORY segment is served all the same; the log is asked again later.
            Err(_) => {
                s.unlogged = true;
                return;
            }
        }
        for (index, (connection, stream, read_only)) in creators.into_iter().enumerate() {
            self.wire.answered(connection, stream);
            match self.note_open(connection, number, read_only) {
                Ok(()) => self.send_opened(connection, stream, number, index == 0),
                Err(e) => self
                    .wire
                    .send(connection, Outgoing::error(stream, e.code, e.text)),
            }
        }
    }

    pub(super) fn close_segment(&mut self, at: At, r: &CloseSegment) -> Result<(), Rejection> {
        self.check_open(at.connection, r.segment)?;
        self.cancel_waits(at.connection, r.segment);
        if let Some(s) = self.segments.get_mut(&r.segment) {
            s.lock.end_session(at.session);
        }
        self.forget_client(r.segment, at.connection);
        self.wire.close_segment(at.connection, r.segment);
        self.answer(at, MessageType::Done)?;
        self.grant_waiting(r.segment);
        Ok(())
    }

    /// The connection neither has the segment open nor watches it any more.
    pub(super) fn forget_client(&mut self, segment: u32, connection: u64) {
        if let Some(s) = self.segments.get_mut(&segment) {
            s.clients.retain(|c| *c != connection);
            s.subscribers.retain(|c| *c != connection);
        }
    }

    pub(super) fn remove_segment(&mut self, at: At, r: &RemoveSegment) -> Result<(), Rejection> {
        if self.stopping {
            return Err(stopping());
        }
        let number = self.paths.get(&r.path).copied();
        let segment = number.and_then(|n| self.segments.get_mut(&n));
        let Some(segment) = segment else {
            let text = format!(
                "segment {} was to be removed; there is none of that name here",
                r.path
            );
            return Err(Rejection::new(ErrorCode::NoSegment, text));
        };
        match segment.life {
            Life::Removing | Life::Creating => return Err(removed(&r.path)),
            Life::Open | Life::Damaged(_) => {}
        }
        let (number, id, durable) = (segment.number, segment.id, segment.durable);
        if !self.config.stored {
            self.answer(at, MessageType::Done)?;
            self.remove_state(number);
            return Ok(());
        }
        self.wire.await_answer(at, Unanswered::Store)?;
        let Some(segment) = self.segments.get_mut(&number) else {
            return Ok(());
        };
        let before = std::mem::replace(&mut segment.life, Life::Removing);
        let record = storing::record(id, LogBody::Other(LogKind::Remove as i32));
        let entry = Entry::Removal {
            segment: number,
            before,
            connection: at.connection,
            stream: at.stream,
        };
        self.journal.append(entry, vec![record], durable);
        Ok(())
    }

    pub(super) fn removal_stored(
        &mut self,
        number: u32,
        before: Life,
        (connection, stream): (u64, u32),
        result: Result<(), StoreError>,
    ) {
        self.wire.answered(connection, stream);
        let reply = match result {
            Ok(()) => {
                self.remove_state(number);
                Outgoing::new(MessageType::Done, stream, &())
            }
            Err(error) => {
                if let Some(s) = self.segments.get_mut(&number) {
                    s.life = before;
                }
                let rejection = storing::rejection(&error);
                Outgoing::error(stream, rejection.code, rejection.text)
            }
        };
        self.wire.send(connection, reply);
    }

    /// The segment exists no more: whoever waits for it or has it open is told.
    fn remove_state(&mut self, number: u32) {
        let Some(mut segment) = self.segments.remove(&number) else {
            return;
        };
        self.paths.remove(&segment.path);
        self.nameless.retain(|n| *n != number);
        let rejection = removed(&segment.path);
        for (at, _) in segment.serials.take_awaiting() {
            self.wire
                .refuse_awaiting(at.connection, at.stream, &rejection);
        }
        for connection in segment.clients {
            self.wire.segment_gone(connection, number, &rejection);
        }
    }

    pub(super) fn list_segments(&mut self, at: At, r: &ListSegments) -> Result<(), Rejection> {
        let from = match r.after < r.prefix {
            true => Bound::Included(r.prefix.as_str()),
            false => Bound::Excluded(r.after.as_str()),
        };
        let mut paths = self
            .paths
            .range::<str, _>((from, Bound::Unbounded))
            .take_while(|(path, _)| path.starts_with(&r.prefix))
            .filter_map(|(_, number)| self.segments.get(number));
        let segments = paths.by_ref().take(MAX_LISTED as usize).map(info).collect();
        let list = SegmentList {
            segments,
            more: paths.next().is_some(),
        };
        // Paths are bounded, but 128 of the longest do not fit in one control part.
        let list = fitted(list);
        self.wire.send(
            at.connection,
            Outgoing::new(MessageType::SegmentList, at.stream, &list),
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
        let mut reply = Outgoing::with_bulk(r.segment, type_, at.stream, &body, described.diff);
        // However large, it is this connection's alone.
        reply.lent = false;
        self.wire.send(at.connection, reply);
        Ok(())
    }

    /// The segment, if the connection has it open and it may be used, and the wire.
    pub(super) fn open_segment_of(
        &mut self,
        connection: u64,
        number: u32,
    ) -> Result<(&mut SegmentState, &mut Wire), Rejection> {
        self.check_open(connection, number)?;
        let segment = usable(self.segments.get_mut(&number), number)?;
        Ok((segment, &mut self.wire))
    }

    /// Whether the connection has the segment open.
    pub(super) fn check_open(&mut self, connection: u64, number: u32) -> Result<(), Rejection> {
        if self.wire.opened(connection, number).is_some() {
            return Ok(());
        }
        let text = match self.segments.contains_key(&number) {
            true => format!("segment number {number} is not open on this connection; open it"),
            false => format!("segment number {number} is not, or no longer, a segment here"),
        };
        Err(Rejection::new(ErrorCode::NotOpen, text))
    }

    /// The segment, if it may be used.
    pub(super) fn segment(&mut self, number: u32) -> Result<&mut SegmentState, Rejection> {
        usable(self.segments.get_mut(&number), number)
    }
}

pub(super) fn usable(
    segment: Option<&mut SegmentState>,
    number: u32,
) -> Result<&mut SegmentState, Rejection> {
    let Some(segment) = segment else {
        let text = format!("segment number {number} was removed; open it anew");
        return Err(Rejection::new(ErrorCode::Removed, text));
    };
    match &segment.life {
        Life::Open => Ok(segment),
        Life::Creating | Life::Removing => Err(removed(&segment.path)),
        Life::Damaged(what) => Err(damaged(&segment.path, what)),
    }
}

fn info(s: &SegmentState) -> SegmentInfo {
    SegmentInfo {
        path: s.path.clone(),
        newest: s.stamp().into(),
        durable: s.durable,
        block_count: s.master.block_count(),
        wire_bytes: s.master.wire_bytes(),
        quota_bytes: s.quota_bytes,
        clients: s.clients.len() as u32,
        subscribers: s.subscribers.len() as u32,
        writer_locked: s.lock.is_write_locked(),
        writers_waiting: s.lock.waiting_writers() as u32,
    }
}

/// As much of the list as one control part holds.
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

fn check_path(path: &str) -> Result<(), Rejection> {
    let bad = |c: char| c == '#' || c.is_control();
    if path.starts_with('/') && !path.contains(bad) {
        return Ok(());
    }
    let text = format!(
        "{path:?} is no path of a segment: it begins with '/' and has no '#' and no control \
         characters, like /list"
    );
    Err(Rejection::new(ErrorCode::BadUrl, text))
}

fn removed(path: &str) -> Rejection {
    let text = format!("segment {path} is being removed or made; open it anew");
    Rejection::new(ErrorCode::Removed, text)
}

fn damaged(path: &str, what: &str) -> Rejection {
    let text = format!(
        "segment {path} is stopped because its stored bytes are damaged: {what}; restore a backup \
         (interweave restore) or remove the segment"
    );
    Rejection::new(ErrorCode::Damaged, text)
}
