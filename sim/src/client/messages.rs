//! Messages as bytes, and their bodies.

use crate::history::{violation, Checked};
use interweave_wire::protocol::xdr::Xdr;
use interweave_wire::protocol::{ErrorCode, ErrorReply, PlainError};
use interweave_wire::Message;

/// The message's frames.
pub(crate) fn bytes_of(message: Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut frames = message.into_frames();
    while let Some((head, bulk)) = frames.next_frame() {
        bytes.extend_from_slice(&head);
        for piece in bulk.into_pieces() {
            bytes.extend_from_slice(&piece);
        }
    }
    bytes
}

pub(crate) fn decoded<T: Xdr>(message: &Message) -> Checked<T> {
    message
        .decode()
        .or_else(|rejection| violation("messages", rejection.text))
}

/// Code and text of an ERROR.
pub(crate) fn error_of(message: &Message) -> Checked<(ErrorCode, String)> {
    let told = message.decode::<ErrorReply>().map(|r| (r.code, r.text));
    let told = told.or_else(|_| message.decode::<PlainError>().map(|p| (p.code, p.text)));
    told.or_else(|rejection| violation("messages", rejection.text))
}

/// Whether a release that is refused so leaves its lock with the client, which may try it again
/// [LOCK-7].
pub(crate) fn keeps_lock(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::StoreFull
            | ErrorCode::StoreAlone
            | ErrorCode::StoreAway
            | ErrorCode::TimedOut
            | ErrorCode::TooLarge
    )
}
