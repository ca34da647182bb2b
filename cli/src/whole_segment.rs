//! A whole segment on its way: as one diff, and into a new segment of a server.

use std::time::Duration;

use bytes::Bytes;
use interweave_master::Segment;
use interweave_server::client::{Client, ClientError, Copy, OpenOptions, WriterLock};
use interweave_wire::protocol::{
    Durability, ErrorCode, MessageType, MoreSerials, SegmentOpened, SerialsGranted,
};
use interweave_wire::{value, DiffBuilder, Url};

use crate::failure::Failure;
use crate::interrupt::Unfinished;
use crate::remote::{lock_lost, Remote};
use crate::view::View;

/// How many serials may be asked for at once (spec/protocol/lock.x).
const MOST_SERIALS: u64 = 1 << 19;
/// A segment with a larger serial would take minutes of asking.
const LARGEST_SERIAL: u64 = MOST_SERIALS << 12;
/// How often a segment is made that moves before it is filled.
const MOST_ATTEMPTS: u32 = 4;
/// How long the lock of a segment may take that nobody else knows of yet.
const LOCKING: Duration = Duration::from_secs(30);

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
    let first = source
        .blocks()
        .next()
        .map_or(u64::MAX, |block| block.serial);
    for _ in 0..MOST_ATTEMPTS {
        if let Some(durable) = try_to_make(remote, url, (first, last), diff.clone(), wish)? {
            return Ok(durable);
        }
    }
    Err(Failure::new(format!(
        "{url} was moved {MOST_ATTEMPTS} times before it was filled, and is not there now; copy it \
         again"
    )))
}

/// None: the segment moved before it was filled, and is not there any more. A server gives no
/// serial that the one before may have given [LOCK-6], so the blocks could not have theirs.
fn try_to_make(
    remote: &mut Remote,
    url: &Url,
    (first, last): (u64, u64),
    diff: Bytes,
    wish: &Wish,
) -> Result<Option<Durability>, Failure> {
    let opened = open_new(remote, url, wish)?;
    let mut view = View::new(url.clone(), Copy::new(opened.segment));
    let made = url.clone();
    let unfinished = Unfinished::new(move || take_away(&made))?;
    let take = |client: &mut Client, copy: &mut Copy| lock_with_serials(client, copy, last);
    let lock = remote.lock(&mut view, take)?;
    if lock.grant.first_serial > first && lock.grant.now.number == 0 {
        // Under the lock, so that nobody has written to it.
        remote.remove(url, true)?;
        return unfinished.finish(|| Ok(None));
    }
    // A signal ends this process meanwhile, because large segments take a while to send.
    let released = remote.release(&mut view, &lock, diff);
    match released.map_err(|error| remote.failure(with_advice(error)))? {
        Some(_) => unfinished.finish(|| Ok(Some(opened.durable))),
        None => Err(lock_lost(url)),
    }
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
    copy: &mut Copy,
    last: u64,
) -> Result<WriterLock, ClientError> {
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
    Ok(lock)
}

/// A segment that does not take everything may get a larger quota.
fn with_advice(error: ClientError) -> ClientError {
    let advice = match error.code() {
        Some(ErrorCode::Quota | ErrorCode::TooLarge) => Some("; ask for more with --quota"),
        _ => None,
    };
    error.with_advice(advice.map(str::to_string))
}
