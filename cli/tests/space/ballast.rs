//! Segments that are large.

use crate::clients::PATIENT;
use interweave_server::client::{Client, Copy, OpenOptions};
use interweave_wire::protocol::{Durability, Primitive};
use interweave_wire::DiffBuilder;

/// Adds blocks with so many ints. Returns the version.
pub fn load(client: &mut Client, path: &str, count: usize) -> u64 {
    const AT_ONCE: usize = 16 << 18;
    let options = OpenOptions::creating(Durability::Synced);
    let mut copy = Copy::open(client, path, &options).expect("it is there");
    for sequence in 0..count.div_ceil(AT_ONCE) {
        let lock = copy.lock(client, PATIENT, sequence as u64 + 1);
        let lock = lock.expect("the lock");
        let base = lock.grant.now.number;
        let mut diff = DiffBuilder::new(base, base + 1);
        let serial = lock.grant.first_serial;
        let ints = AT_ONCE.min(count - sequence * AT_ONCE);
        diff.add_block(serial, Primitive::Int as u32, ints as u64, "");
        diff.set(serial, ints as u64, &vec![0x5a; 4 * ints]);
        let released = copy.release(client, &lock, diff.finish());
        released.expect("it is kept");
    }
    copy.stamp().number
}
