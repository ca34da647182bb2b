//! A whole segment on its way: as one diff, and into a new segment of a server.

use std::time::Duration;

use bytes::Bytes;
use interweave_master::Segment;
use interweave_server::client::{Client, ClientError, Copy, OpenOptions, WriterLock};
use interweave_wire::protocol::{
    Durability, ErrorCode, MessageType, MoreSerials, SegmentOpened, SerialsGranted, WriterReleased,
};
use interweave_wire::{value, DiffBuilder, Url};

use crate::failure::Failure;
use crate::interrupt::Unfinished;
use crate::remote::Remote;

/// How many serials may be asked for at once (spec/protocol/lock.x).
const MOST_SERIALS: u64 = 1 << 19;
/// A segment with a larger serial would take minutes of asking.
const LARGEST_SERIAL: u64 = MOST_SERIALS << 12;
/// How long the lock of a segment may take that nobody else knows of yet.
const LOCKING: Duration = Duration::from_secs(30);
/// The slowest connection that is waited for.
const SLOWEST_BYTES_A_SECOND: u64 = 1 << 20;

/// A new segment's properties, without its contents.
pub struct Wish {
    pub durable: Durability,
    pub quota_bytes: u64,
    /// Remove a segment that has the path.
    pub replace: bool,
}

/// A diff from version 0 to `to` with everything in the segment, blocks in the order of their
/// serials. `slot_text` words the entries of the slot table anew.
pub fn complete_diff(segment: &Segment, to: u64, slot_text: impl Fn(&str) -> String) -> Bytes {
    let mut diff = DiffBuilder::new(0, to);
    let types = segment.types().described();
    types.iter().for_each(|ty| diff.add_type(&ty.descriptor));
    let slots: Vec<String> = segment.slots().iter().map(|text| slot_text(text)).collect();
    if !slots.is_empty() {
        diff.slots(1, slots.iter().map(String::as_str));
    }
    for block in segment.blocks() {
        let name = block.name.unwrap_or_default();
        diff.add_block(block.serial, block.type_serial, block.layout.count, name);
        // A new block is all zeros.
        if let Some(slots) = block.slots {
            let mut run = Vec::new();
            let units = (0, block.layout.units());
            value::put_run(block.layout, 0, units, slots, &mut run);
            diff.change(block.serial, &run);
        }
    }
    diff.finish()
}

/// Makes a segment of that URL with everything in `source`. The segment then has version 1. If it
/// cannot be filled, it is taken away again. Returns its durability: a server without a disk keeps
/// every segment in memory.
pub fn make(
    remote: &mut Remote,
    url: &Url,
    source: &Segment,
    slot_text: impl Fn(&str) -> String,
    wish: &Wish,
) -> Result<Durability, Failure> {
    let last = source.blocks().last().map_or(0, |block| block.serial);
    if last > LARGEST_SERIAL {
        return Err(Failure::new(format!(
            "{url} cannot be made: a block has the serial {last}, and at most {LARGEST_SERIAL} can \
             be copied; copy the values by a program"
        )));
    }
    let diff = complete_diff(source, 1, slot_text);
    if wish.replace {
        remote.remove(url, true)?;
    }
    let opened = open_new(remote, url, wish)?;
    let (copy, durable) = (Copy::new(opened.segment), opened.durable);
    let made = url.clone();
    let unfinished = Unfinished::new(move || take_away(&made))?;
    let client = remote.client();
    let lock = lock_with_serials(client, copy, last);
    let (copy, lock) = lock.map_err(|error| remote.failure(error))?;
    // A signal ends this process meanwhile, because large segments take a while to send.
    let released = release(remote.client(), &copy, &lock, diff);
    released.map_err(|error| remote.failure(error))?;
    unfinished.finish(|| Ok(durable))
}

fn open_new(remote: &mut Remote, url: &Url, wish: &Wish) -> Result<SegmentOpened, Failure> {
    let options = OpenOptions {
        quota_bytes: wish.quota_bytes,
        ..OpenOptions::creating(wish.durable)
    };
    let opened = remote.make(&url.path, &options)?;
    match opened.created {
        true => Ok(opened),
        false => Err(Failure::new(format!(
            "{url} exists; choose another path, or say --replace to remove it first"
        ))),
    }
}

/// Removes the segment if nothing was ever released to it. Its connection may be in use, so another
/// one asks.
fn take_away(url: &Url) {
    let removed = Remote::connect(&url.servers).and_then(|mut remote| remote.remove_if_empty(url));
    if let Err(failure) = removed {
        eprint!("{failure}");
        eprintln!("interweave: {url} may be left, empty; interweave rm removes it");
    }
}

fn lock_with_serials(
    client: &mut Client,
    mut copy: Copy,
    last: u64,
) -> Result<(Copy, WriterLock), ClientError> {
    let lock = copy.lock(client, LOCKING, 1)?;
    let grant = &lock.grant;
    let mut next = grant.first_serial + u64::from(grant.serial_count);
    while next <= last {
        let wanted = (last + 1 - next).min(MOST_SERIALS) as u32;
        let more = MoreSerials {
            segment: copy.number(),
            fence: grant.fence,
            count: wanted,
        };
        let reply = MessageType::SerialsGranted;
        let (more, _): (SerialsGranted, _) =
            client.request(MessageType::MoreSerials, &more, reply)?;
        next = more.first_serial + u64::from(more.serial_count);
    }
    Ok((copy, lock))
}

fn release(
    client: &mut Client,
    copy: &Copy,
    lock: &WriterLock,
    diff: Bytes,
) -> Result<(), ClientError> {
    client.patience += Duration::from_secs(diff.len() as u64 / SLOWEST_BYTES_A_SECOND);
    let stream = copy.send_release(client, lock, diff)?;
    let released: Result<(WriterReleased, _), ClientError> =
        client.reply(stream, MessageType::WriterReleased);
    if let Err(ClientError::Refused(why)) = &released {
        if matches!(why.code, ErrorCode::Quota | ErrorCode::TooLarge) {
            let text = format!("{}; ask for more with --quota", why.text);
            return Err(interweave_wire::Rejection::new(why.code, text).into());
        }
    }
    released.map(drop)
}
