//! Diffs that are cut off or damaged: they are refused or mean something else, but nothing panics,
//! nothing changes on refusal, and no memory is spent beyond a small multiple
//! of the bytes received.

mod model;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use bytes::Bytes;
use interweave_master::Segment;
use interweave_wire::protocol::ErrorCode;
use interweave_wire::varint;
use model::{Model, Random};

/// Counts what each thread allocates, and its peak.
struct Counting;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

// Safety: everything is passed on to the system's allocator; the counters allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(0, layout.size());
        unsafe { System.dealloc(memory, layout) }
    }
}

fn count(more: usize, less: usize) {
    // While a thread ends there is nothing to count with.
    let _ = HELD.try_with(|held| {
        held.set(held.get().wrapping_add(more).wrapping_sub(less));
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What the work allocates at most at a time, beyond what is held already.
fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    (result, PEAK.get() - before)
}

const QUOTA: u64 = 4 << 20;

/// A segment with some history, and a good diff for it.
fn segment_and_diff(seed: u64) -> (Bytes, Segment, Bytes) {
    let mut random = Random::new(seed);
    let mut model = Model::new();
    let mut master = Segment::new(QUOTA);
    for _ in 0..15 {
        let checked = master.check_logged(&model.release(&mut random)).unwrap();
        master.commit(checked);
    }
    (master.checkpoint(), master, model.release(&mut random))
}

/// Offers a diff to the segment; one that is accepted is carried out on a copy.
fn offer(diff: &Bytes, segment: &Segment, checkpoint: &Bytes) {
    // One block of 64 bytes, one of its checked entry and one type's structures cost most a byte.
    let bound = 64 * diff.len() + 64 * 1024;
    let (checked, peak) = peak_of(|| segment.check_logged(diff).is_ok());
    assert!(
        peak <= bound,
        "{peak} bytes for checking {} bytes",
        diff.len()
    );
    if checked {
        let mut copy = Segment::restore(checkpoint, QUOTA).unwrap();
        copy.use_serials_below(segment.next_serial());
        let checked = copy.check_logged(diff).unwrap();
        let ((), peak) = peak_of(|| {
            copy.commit(checked);
        });
        let bound = bound as u64 + 2 * QUOTA;
        assert!(peak as u64 <= bound, "{peak} bytes for committing");
        assert!(copy.charged_bytes() <= QUOTA);
        Segment::restore(&copy.checkpoint(), 0).unwrap();
    }
    assert_eq!(
        &segment.checkpoint(),
        checkpoint,
        "checking changes nothing"
    );
}

#[test]
fn no_truncation_is_taken_for_the_diff() {
    for seed in 1..=3 {
        let (checkpoint, segment, diff) = segment_and_diff(seed);
        offer(&diff, &segment, &checkpoint);
        let step = 1 + diff.len() / 1500;
        for length in (0..diff.len()).step_by(step) {
            offer(&diff.slice(..length), &segment, &checkpoint);
        }
    }
}

#[test]
fn damaged_diffs_are_refused_or_mean_something_else() {
    for seed in 1..=8 {
        println!("seed {seed}");
        let (checkpoint, segment, diff) = segment_and_diff(seed);
        let mut random = Random::new(seed ^ 0xdead);
        for _ in 0..600 {
            let mut bytes = diff.to_vec();
            // Near the head more often: there the structure is.
            let within = match random.one_in(2) {
                true => bytes.len(),
                false => bytes.len().min(200),
            };
            for _ in 0..=random.below(3) {
                let at = random.below(within as u64) as usize;
                bytes[at] = match random.below(3) {
                    0 => bytes[at] ^ (1 << random.below(8)),
                    1 => 0xff,
                    _ => random.next() as u8,
                };
            }
            offer(&bytes.into(), &segment, &checkpoint);
        }
    }
}

#[test]
fn damaged_checkpoints_and_updates_do_no_harm() {
    let (checkpoint, _, _) = segment_and_diff(5);
    let mut random = Random::new(99);
    for _ in 0..1500 {
        let mut bytes = checkpoint.to_vec();
        let at = random.below(bytes.len().min(3000) as u64) as usize;
        bytes[at] = random.next() as u8;
        let mut copy = Segment::new(QUOTA);
        if copy.apply(&bytes.into()).is_err() {
            assert_eq!((copy.newest(), copy.block_count()), (0, 0));
        }
    }
}

#[test]
fn counts_that_the_bytes_cannot_hold_cost_nothing() {
    let segment = Segment::new(1 << 20);
    let with_section = |tag: u8, body: &[u8]| {
        let mut diff = b"IWD1\x00\x00\x01".to_vec();
        diff.push(tag);
        varint::put(body.len() as u64, &mut diff);
        diff.extend_from_slice(body);
        Bytes::from(diff)
    };
    let mut block = vec![2, 10];
    varint::put(1 << 37, &mut block);
    block.push(0);
    let mut enum_of_4096 = Vec::new();
    for word in [64u32, 0, 0, 0, 0, 0, 2, 4096] {
        enum_of_4096.extend(word.to_be_bytes());
    }
    let cases = [
        (with_section(5, &block), ErrorCode::Quota),
        (with_section(1, &enum_of_4096), ErrorCode::Malformed),
    ];
    for (diff, code) in cases {
        let (refused, peak) = peak_of(|| segment.check(&diff, 0, &[(1, 10)]).unwrap_err());
        assert_eq!(refused.code, code, "{refused}");
        assert!(peak < 16 * 1024, "{peak} bytes");
    }
}
