//! The actions that the engine asks of the shell.

use super::auditing::Audited;
use super::message::ServerMessage;
use interweave_store::{Checkpoint, Next, Record};
use interweave_wire::protocol::{CheckpointHead, Durability};

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
    /// See how the store is; tell [`super::Engine::store_looked_at`].
    LookAfterStore,
    /// Read the tokens file and the rules file; tell [`super::Engine::files_read`] this number, or
    /// a later one.
    ReadFiles { asked: u64 },
    /// A line for the audit log.
    Audit(Box<Audited>),
}
