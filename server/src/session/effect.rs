//! The actions that the engine asks of the shell.

use super::auditing::Audited;
use super::message::ServerMessage;
use super::segment::SegmentState;
use interweave_store::{Checkpoint, Elsewhere, Next, PageAsked, Record};
use interweave_wire::protocol::{CheckpointHead, Durability, Hello};

/// One action. The shell takes actions in the order in which [`super::Engine::take_effects`] gives
/// them.
#[derive(Debug)]
pub enum Effect {
    Send {
        connection: u64,
        message: ServerMessage,
    },
    /// Close the connection once all messages that were sent before are on the wire.
    Close { connection: u64 },
    /// Pass the connection on to the member of the space that has this address, and say this hello
    /// there. If that cannot be, tell [`super::Engine::not_relayed`] this stream.
    Relay {
        connection: u64,
        stream: u32,
        to: Elsewhere,
        hello: Box<Hello>,
    },
    /// Ask [`super::Engine::came`] about the releases that are coming in on it: one of them is not
    /// kept any more.
    RefuseBulk { connection: u64 },
    /// Append to the log; tell [`super::Engine::stored`].
    Append {
        ticket: u64,
        group: Vec<Record>,
        durable: Durability,
    },
    /// Save the segment; tell [`super::Engine::stored`].
    Checkpoint { ticket: u64, checkpoint: Checkpoint },
    /// Begin to save the large segment; tell [`super::Engine::piece_wanted`] of each piece that the
    /// store asks for, and [`super::Engine::stored`] at the end.
    CheckpointInPieces {
        ticket: u64,
        head: Box<CheckpointHead>,
    },
    /// Give the store what it asked for.
    Next { segment_id: u64, next: Next },
    /// Ask the store where the segment of that path is, and claim it if that is allowed; tell
    /// [`super::Engine::sought`].
    Seek { path: String, claims: bool },
    /// Read the segment of that path without a claim, or read it on; tell
    /// [`super::Engine::followed`].
    Follow { path: String },
    /// Let go of what was read of it.
    Unfollow { path: String },
    /// Give the segment to that member once the messages before this are on the wire; tell
    /// [`super::Engine::given`].
    Give {
        segment: u32,
        segment_id: u64,
        member: u64,
    },
    /// Free the memory of a segment that may be large. No event waits for that.
    Free(Box<SegmentState>),
    /// Have the store decide where the segments end; tell [`super::Engine::settled`].
    Settle { segments: Vec<u64> },
    /// Renew the lease of this server, and have the store know whether it was drained; tell
    /// [`super::Engine::renewed`].
    Renew { is_drained: bool },
    /// Ask the store for the servers that share it, from behind that number on; tell
    /// [`super::Engine::members_found`].
    Members {
        asked: u64,
        after: u64,
        tells_all: bool,
    },
    /// Read a page of the store's catalogue; tell [`super::Engine::page_read`].
    Page { asked: u64, page: PageAsked },
    /// See how the store is; tell [`super::Engine::store_looked_at`].
    LookAfterStore,
    /// Read the tokens file and the rules file; tell [`super::Engine::files_read`] this number, or
    /// a later one.
    ReadFiles { asked: u64 },
    /// A line for the audit log.
    Audit(Box<Audited>),
}
