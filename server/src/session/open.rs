//! Opens segments, makes new ones, and knows which connection has which segment open.
//! Implements the server's part of [SEG-1..4] of spec/protocol/segment.x, with removing.rs and
//! listing.rs.

use super::chain::Chains;
use super::commits::Commits;
use super::creators::creator_fields;
use super::engine::{stopping, Engine};
use super::journal::{Entry, Journal};
use super::locks::terms;
use super::message::ServerMessage;
use super::segment::{Beginning, Life, SegmentState};
use super::segments::{damaged, removed};
use super::serials::{Serials, SERIALS_END, SERIAL_STEP};
use super::space::elsewhere_rejection;
use super::storing;
use super::wire::{At, Moved, Unanswered, Wire};
use crate::lock::SegmentLock;
use interweave_access::Operation;
use interweave_master::Segment;
use interweave_store::{Record, StoreError};
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::*;
use interweave_wire::{Fields, Rejection};

impl Engine {
    pub(super) fn open_segment(&mut self, at: At, r: &OpenSegment) -> Result<(), Rejection> {
        check_path(&r.path)?;
        // No field of this message has a meaning to this server yet.
        Fields::of(&r.fields)?;
        let found = self.segments.number_at(&r.path);
        let number = match found {
            Some(number) => number,
            None if !r.create => {
                let text = format!(
                    "segment {} was to be opened; this server has no such segment; create it, or \
                     see what there is with `interweave ls`",
                    r.path
                );
                return Err(Rejection::new(ErrorCode::NoSegment, text));
            }
            None => {
                self.permit(at, Operation::Create, &r.path)?;
                self.wire.may_await(at)?;
                self.check_limits(at, self.quota_of(r))?;
                self.create_segment(at, r)?
            }
        };
        let segment = self.segments.found(number);
        match &segment.life {
            Life::Creating => {
                self.wire.await_answer(at, Unanswered::Store)?;
                let creator = (at.connection, at.stream, r.read_only);
                segment.users.creators.push(creator);
                Ok(())
            }
            // It waits before it comes here.
            Life::ToRemove(_) | Life::Removing | Life::Giving => Err(removed(&r.path)),
            Life::Damaged(what) => Err(damaged(&r.path, what)),
            Life::Open => {
                if !r.read_only {
                    // After a start the first writer would wait for that.
                    segment.extend_serials(&mut self.journal);
                }
                let asker = (at.connection, at.stream, r.read_only);
                segment.open_for(&mut self.wire, asker, found.is_none())
            }
        }
    }

    fn quota_of(&self, r: &OpenSegment) -> u64 {
        match r.quota_bytes {
            0 => self.config.quota_bytes,
            given => given,
        }
    }

    /// Makes an empty segment. The segment is served at once if it need not be on the disk first.
    fn create_segment(&mut self, at: At, r: &OpenSegment) -> Result<u32, Rejection> {
        if self.stopping {
            return Err(stopping());
        }
        self.segments.check_bounds(r, &self.config)?;
        self.segments.check_nameless(&r.path)?;
        let durable = match self.config.stored {
            true => r.durable,
            false => Durability::Memory,
        };
        let quota_bytes = self.quota_of(r);
        // Another server may make the path, too; only the store can tell which of the two is first.
        let is_shared = self.config.space_lease_ms.is_some();
        let waits = self.config.stored && (durable != Durability::Memory || is_shared);
        let beginning = Beginning {
            id: self.segments.next_id(),
            path: r.path.clone(),
            durable,
            quota_bytes,
            incarnation: self.segments.next_incarnation(),
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
            is_stored: self.config.stored,
            creator: self.account_of(at.connection).unwrap_or(0),
        };
        let number = self.add_segment(beginning);
        if self.config.stored {
            let segment = self.segments.found(number);
            let creator = creator_fields(&self.accounts, segment.creator);
            // Where it was lost, another server would make the path, and this one still serve it.
            let lasting = match is_shared && !planted::is_in(Defect::CreationUnsynced) {
                true => Durability::Synced,
                false => durable,
            };
            segment.log_creation(creator, lasting, &mut self.journal);
        }
        Ok(number)
    }

    /// Adds the segment, and counts it for its creator.
    pub(super) fn add_segment(&mut self, beginning: Beginning) -> u32 {
        self.accounts.made(beginning.creator, beginning.quota_bytes);
        let mut state = SegmentState::from(beginning);
        state.saved_ns = self.wire.now_ns();
        state.commits = Commits::begin(state.master.newest(), self.wire.now_ns());
        state.master.tune(self.config.tuning);
        self.segments.add(state).number
    }

    /// Takes the log's answer about a creation.
    pub(super) fn creation_stored(&mut self, number: u32, result: Result<(), StoreError>) {
        let Some(s) = self.segments.if_still_there(number) else {
            return;
        };
        let path = s.path.clone();
        match result {
            Ok(()) => {
                s.created(&mut self.wire);
                if !planted::is_in(Defect::FollowedAndMade) {
                    self.follow_here(&path);
                }
            }
            Err(StoreError::PathTaken(_)) => self.path_taken(number),
            Err(error) if s.life == Life::Creating => {
                let creators = std::mem::take(&mut s.users.creators);
                self.remove_state(number);
                let rejection = storing::rejection(&error);
                for (connection, stream, _) in creators {
                    self.wire.refuse_awaiting(connection, stream, &rejection);
                }
            }
            // A MEMORY segment is served in spite of it, and the log is asked again later.
            Err(_) => self.saving.not_logged(number),
        }
    }

    /// Returns the segment, if the connection has it open and it may be used, and the wire.
    pub(super) fn open_segment_of(
        &mut self,
        connection: u64,
        number: u32,
    ) -> Result<(&mut SegmentState, &mut Wire), Rejection> {
        self.check_open(connection, number)?;
        let segment = self.segments.usable(number)?;
        Ok((segment, &mut self.wire))
    }

    /// Whether the connection has the segment open.
    pub(super) fn check_open(&mut self, connection: u64, number: u32) -> Result<(), Rejection> {
        if self.wire.opened(connection, number).is_some() {
            return Ok(());
        }
        Err(self.not_open(connection, number))
    }

    /// Makes the answer to a number that the connection has not open. It tells of a removal only
    /// whom the segment was open for, and who may still read its name; and it does not tell whether
    /// there is such a segment [RULE-6].
    pub(super) fn not_open(&mut self, connection: u64, number: u32) -> Rejection {
        if let Some(Moved(path, to)) = self.wire.moved(connection, number) {
            return match self.permit_name(connection, Operation::Read, &path) {
                Err(denied) => denied,
                Ok(()) => elsewhere_rejection(&path, &to, self.relays()),
            };
        }
        let Some(path) = self.wire.gone(connection, number) else {
            let text = format!("segment number {number} is not open on this connection; open it");
            return Rejection::new(ErrorCode::NotOpen, text);
        };
        match self.permit_name(connection, Operation::Read, &path) {
            Err(denied) => denied,
            Ok(()) => {
                let text = format!("segment {path} was removed; close it, and open its name anew");
                Rejection::new(ErrorCode::Removed, text)
            }
        }
    }
}

impl SegmentState {
    /// `creator`: the field that says who made the segment. `lasting`: what the creation survives.
    pub fn log_creation(
        &self,
        creator: Vec<HeaderField>,
        lasting: Durability,
        journal: &mut Journal,
    ) {
        let create = LogBody::Create(LogCreate {
            path: self.path.to_string(),
            durable: self.durable,
            quota_bytes: self.quota_bytes,
            incarnation: self.incarnation,
        });
        let create = Record {
            fields: creator,
            ..storing::record(self.id, create)
        };
        let serials = LogBody::Serials(self.serials.below());
        let group = vec![create, storing::record(self.id, serials)];
        let segment = self.number;
        journal.append(Entry::Creation { segment }, group, lasting);
    }

    /// The log knows of the segment, so it becomes open for the connections that asked. A segment
    /// that was served before may be on its way out again.
    fn created(&mut self, wire: &mut Wire) {
        if self.life == Life::Creating {
            self.life = Life::Open;
        }
        let creators = std::mem::take(&mut self.users.creators);
        for (index, asker) in creators.into_iter().enumerate() {
            let (connection, stream, _) = asker;
            wire.answered(connection, stream);
            if let Err(rejection) = self.open_for(wire, asker, index == 0) {
                wire.refuse(connection, stream, &rejection);
            }
        }
    }

    /// Opens the segment for the request on that stream of the connection.
    fn open_for(
        &mut self,
        wire: &mut Wire,
        (connection, stream, read_only): (u64, u32, bool),
        created: bool,
    ) -> Result<(), Rejection> {
        if wire.open(connection, self.number, read_only)? {
            self.users.clients.push(connection);
        }
        let body = SegmentOpened {
            segment: self.number,
            created,
            newest: self.stamp().into(),
            durable: self.durable,
            quota_bytes: self.quota_bytes,
            block_count: self.master.block_count(),
            wire_bytes: self.master.wire_bytes(),
            fields: Vec::new(),
        };
        let reply = ServerMessage::about(self.number, MessageType::SegmentOpened, stream, &body);
        wire.send(connection, reply);
        Ok(())
    }
}

fn check_path(path: &str) -> Result<(), Rejection> {
    let bad = |c: char| c == '#' || c.is_control();
    if path.starts_with('/') && !path.contains(bad) {
        return Ok(());
    }
    let text = format!(
        "{path:?} is not a segment's path: a path begins with '/' and has no '#' and no control \
         characters, like /list"
    );
    Err(Rejection::new(ErrorCode::BadUrl, text))
}
