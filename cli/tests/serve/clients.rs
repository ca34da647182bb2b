//! Clients of a server, and the diffs that they release: one block of equal ints.

use crate::server::Server;
use bytes::Bytes;
use interweave_server::client::{Client, ClientError, Copy, Greeting, OpenOptions, WriterLock};
use interweave_wire::protocol::{Durability, ErrorCode, Primitive, SessionId};
use std::time::Duration;

pub const PATIENT: Duration = Duration::from_secs(30);
const NAME: &str = "numbers";

pub fn connect(server: &Server) -> Client {
    Client::connect(&server.address(), Greeting::default()).expect("the server answers")
}

/// Connects with that token.
pub fn connect_with(server: &Server, token: &str) -> Client {
    let greeting = Greeting {
        token: token.to_string(),
        ..Greeting::default()
    };
    Client::connect(&server.address(), greeting).expect("it is let in")
}

/// Goes on with a session.
pub fn resume(server: &Server, session: SessionId) -> Client {
    let greeting = Greeting {
        session,
        ..Greeting::default()
    };
    Client::connect(&server.address(), greeting).expect("the server answers")
}

pub fn open(client: &mut Client, path: &str, durable: Durability) -> Copy {
    Copy::open(client, path, &OpenOptions::creating(durable)).expect("the segment opens")
}

/// From the lock's version to the next: the block of `count` ints, made if it is not there, all
/// with that value.
pub fn all_equal(copy: &Copy, lock: &WriterLock, count: u64, value: i32) -> Bytes {
    let values: Vec<u8> = (0..count).flat_map(|_| value.to_le_bytes()).collect();
    copy.set_block(lock, (NAME, Primitive::Int as u32), count, &values)
}

/// Lock, change, release; the new version. A full store leaves the lock with its holder, who gives
/// it back here.
pub fn write(
    client: &mut Client,
    copy: &mut Copy,
    sequence: u64,
    count: u64,
    value: i32,
) -> Result<u64, ClientError> {
    let lock = copy.lock(client, PATIENT, sequence)?;
    let diff = all_equal(copy, &lock, count, value);
    let released = copy.release(client, &lock, diff);
    if let Err(error) = &released {
        if let Some(ErrorCode::StoreFull | ErrorCode::StoreAlone | ErrorCode::StoreAway) =
            error.code()
        {
            copy.abort(client, &lock)?;
        }
    }
    Ok(released?.number)
}

/// The value that all ints have; None: there is no block. A mixture is torn.
pub fn value(copy: &Copy) -> Option<i32> {
    let block = copy.segment().block_by_name(NAME)?;
    let slots = block.slots.expect("it was written");
    let mut values = slots
        .chunks_exact(4)
        .map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let first = values.next().expect("one int at least");
    assert!(values.all(|other| other == first), "a torn version");
    Some(first)
}
