//! The actions that the engine asks of the shell.

use super::message::ServerMessage;
use interweave_store::{Checkpoint, Record};
use interweave_wire::protocol::Durability;

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
    /// Append to the log; tell [`super::Engine::stored`].
    Append {
        ticket: u64,
        group: Vec<Record>,
        durable: Durability,
    },
    /// Save the segment; tell [`super::Engine::stored`].
    Checkpoint { ticket: u64, checkpoint: Checkpoint },
    /// See how the store is; tell [`super::Engine::store_looked_at`].
    LookAfterStore,
}
