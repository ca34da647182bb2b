//! Counts the memory that each thread has allocated, for the targets that bound it.
//!
//! A library may reserve much more than it uses: room for the whole frame that a head announces.
//! The system gives memory only for pages that are written. So of a large block only those pages
//! count that do not begin any more with the mark that this allocator wrote there.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

/// Of a block of so many bytes only the used pages count.
const LARGE_BYTES: usize = 8 << 10;
const PAGE_BYTES: usize = 4096;
/// Further large blocks count as a whole.
const MOST_LARGE: usize = 16;
type Mark = [u8; 16];
const MARK: Mark = *b"iw: not used yet";

struct Counting;

#[derive(Clone, Copy)]
struct Block {
    memory: *mut u8,
    bytes: usize,
}

const NONE: Block = Block {
    memory: ptr::null_mut(),
    bytes: 0,
};

thread_local! {
    /// Without the large blocks.
    static HELD: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
    /// Large blocks of the work that is watched.
    static LARGE: Cell<[Block; MOST_LARGE]> = const { Cell::new([NONE; MOST_LARGE]) };
}

// SAFETY: everything is passed on to the system's allocator. The counters allocate nothing, and
// marks are written only to blocks that nobody has yet.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let memory = unsafe { System.alloc(layout) };
        let bytes = layout.size();
        if !memory.is_null() && bytes >= LARGE_BYTES && replace(NONE, Block { memory, bytes }) {
            marks(bytes).for_each(|at| unsafe { memory.add(at).cast::<Mark>().write(MARK) });
        } else {
            count(bytes, 0);
        }
        memory
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if bytes.max(layout.size()) < LARGE_BYTES {
            // The old memory and the new one may be there at the same time.
            count(bytes, 0);
            count(0, layout.size());
            return unsafe { System.realloc(memory, layout, bytes) };
        }
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(bytes, layout.align()));
            if !new.is_null() {
                // The marks of unused pages are at the same places there.
                ptr::copy_nonoverlapping(memory, new, bytes.min(layout.size()));
                self.dealloc(memory, layout);
            }
            new
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let bytes = layout.size();
        // The pages that were used last count, too.
        count(0, 0);
        if bytes < LARGE_BYTES || !replace(Block { memory, bytes }, NONE) {
            count(0, bytes);
        }
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns whether the old block, or place for one, was there.
fn replace(old: Block, new: Block) -> bool {
    // While a thread ends there is nothing to count with.
    let replaced = LARGE.try_with(|large| {
        let mut blocks = large.get();
        let found = blocks
            .iter()
            .position(|block| block.memory == old.memory)
            .filter(|_| IS_WATCHED.get());
        if let Some(at) = found {
            blocks[at] = new;
            large.set(blocks);
        }
        found.is_some()
    });
    replaced.unwrap_or(false)
}

fn used_bytes(block: Block) -> usize {
    let used = |at: usize| {
        // SAFETY: the block is there until it is taken out of the list.
        let mark = unsafe { block.memory.add(at).cast::<Mark>().read_volatile() };
        let page = PAGE_BYTES.min(block.bytes - at);
        if mark == MARK {
            0
        } else {
            page
        }
    };
    marks(block.bytes).map(used).sum()
}

/// Where the marks of a block are. A rest that is too short for one counts as unused.
fn marks(bytes: usize) -> impl Iterator<Item = usize> {
    (0..(bytes + 1).saturating_sub(size_of::<Mark>())).step_by(PAGE_BYTES)
}

fn count(more: usize, less: usize) {
    // While a thread ends there is nothing to count with.
    let _ = HELD.try_with(|held| {
        held.set(held.get().wrapping_add(more).wrapping_sub(less));
        let large = LARGE.try_with(|large| large.get().map(used_bytes).iter().sum::<usize>());
        let now = held.get().wrapping_add(large.unwrap_or(0));
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now)));
    });
}

/// Returns the most bytes that this thread had during the work, beyond those that it had before.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    IS_WATCHED.set(true);
    let result = work();
    count(0, 0);
    let peak = PEAK.get();
    IS_WATCHED.set(false);
    // Large blocks that outlive the work count as a whole from here on.
    for block in LARGE.replace([NONE; MOST_LARGE]) {
        count(block.bytes, 0);
    }
    (result, peak.wrapping_sub(before))
}
