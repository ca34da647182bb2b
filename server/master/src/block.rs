//! One block of a master copy: a header of 64 bytes, which holds small data itself, and the slot
//! form of its units with the versions of its subblocks.
//!
//! Versions of subblocks exist only while they differ; what is held for them is four bytes for each
//! 64 bytes or more of data.

use interweave_wire::Layout;

use crate::shared::SharedBuffers;

/// No block: the end of a list.
pub(crate) const NONE: u32 = u32::MAX;

const INLINE_BYTES: usize = 23;

#[derive(Debug)]
pub(crate) struct Block {
    pub serial: u64,
    shape: Shape,
    pub created: u64,
    pub changed: u64,
    /// The neighbours in the list of blocks by version.
    pub older: u32,
    pub newer: u32,
    pub data: Data,
}

const _: () = assert!(size_of::<Block>() == 64);

/// From the highest bit: type serial (23 bits), whether the block has a name (1), count - 1 (40).
#[derive(Debug, Clone, Copy)]
struct Shape(u64);

#[derive(Debug)]
pub(crate) enum Data {
    /// The block was freed; its place is not yet reclaimed.
    Freed,
    Zero,
    /// The first bytes of the array are the block's slot form.
    Inline([u8; INLINE_BYTES]),
    Whole(Box<[u8]>),
    /// A slice of a received diff.
    Shared {
        buffer: u32,
        offset: u32,
    },
    Parts(Box<Parts>),
}

/// A block whose subblocks have different versions.
#[derive(Debug)]
pub(crate) struct Parts {
    pub data: Box<[u8]>,
    /// A subblock's version is `base` plus its entry. With the entry 0 it is `base` or older.
    base: u64,
    after_base: Box<[u32]>,
}

impl Block {
    pub fn new(serial: u64, type_serial: u32, count: u64, named: bool, created: u64) -> Self {
        Block {
            serial,
            shape: Shape(u64::from(type_serial) << 41 | u64::from(named) << 40 | (count - 1)),
            created,
            changed: created,
            older: NONE,
            newer: NONE,
            data: Data::Zero,
        }
    }

    pub fn type_serial(&self) -> u32 {
        (self.shape.0 >> 41) as u32
    }

    pub fn is_named(&self) -> bool {
        self.shape.0 >> 40 & 1 == 1
    }

    pub fn count(&self) -> u64 {
        (self.shape.0 & ((1 << 40) - 1)) + 1
    }

    pub fn is_freed(&self) -> bool {
        matches!(self.data, Data::Freed)
    }

    /// The slot form; None: all zeros (or freed).
    pub fn slots<'a>(&'a self, bytes: u64, shared: &'a SharedBuffers) -> Option<&'a [u8]> {
        let bytes = bytes as usize;
        match &self.data {
            Data::Freed | Data::Zero => None,
            Data::Inline(data) => Some(&data[..bytes]),
            Data::Whole(data) => Some(data),
            Data::Parts(parts) => Some(&parts.data),
            Data::Shared { buffer, offset } => Some(shared.slice(*buffer, *offset, bytes)),
        }
    }

    /// Bytes allocated for the versions of its subblocks.
    pub fn version_bytes(&self) -> u64 {
        match &self.data {
            Data::Parts(parts) => parts.version_bytes(),
            _ => 0,
        }
    }
}

impl Data {
    /// Returns the block's data in memory that no other block shares.
    pub fn into_owned(self, bytes: u64, shared: &mut SharedBuffers) -> Box<[u8]> {
        match self {
            Data::Freed | Data::Zero => vec![0; bytes as usize].into(),
            Data::Inline(data) => data[..bytes as usize].into(),
            Data::Whole(data) => data,
            Data::Parts(parts) => parts.data,
            Data::Shared { buffer, offset } => {
                let copy = shared.slice(buffer, offset, bytes as usize).into();
                shared.release(buffer, bytes);
                copy
            }
        }
    }

    /// Data of one version.
    pub fn uniform(data: Box<[u8]>) -> Data {
        if data.len() > INLINE_BYTES {
            return Data::Whole(data);
        }
        let mut inline = [0; INLINE_BYTES];
        inline[..data.len()].copy_from_slice(&data);
        Data::Inline(inline)
    }
}

impl Parts {
    /// All subblocks are of the version `base`.
    pub fn new(data: Box<[u8]>, base: u64, subblocks: u64) -> Self {
        Parts {
            data,
            base,
            after_base: vec![0; subblocks as usize].into(),
        }
    }

    fn version_bytes(&self) -> u64 {
        (size_of::<Parts>() + size_of_val(&*self.after_base)) as u64
    }

    /// Gives the subblocks of `count` units from `first` the version, which is the newest.
    pub fn mark(&mut self, first: u64, count: u64, shift: u32, version: u64) {
        let after = u32::try_from(version - self.base).unwrap_or_else(|_| {
            // After 2^32 versions all subblocks count as new. Too much is sent, never too little.
            self.base = version;
            self.after_base.fill(0);
            0
        });
        let range = (first >> shift) as usize..=((first + count - 1) >> shift) as usize;
        self.after_base[range].fill(after);
    }

    /// Calls `run` with each run of units that changed after version `from`. Adjacent runs are
    /// joined.
    pub fn changed_since(&self, from: u64, layout: Layout<'_>, mut run: impl FnMut(u64, u64)) {
        let shift = layout.ty.subblock_shift;
        let is_newer = |after: &u32| self.base + u64::from(*after) > from;
        let mut at = 0;
        while let Some(skip) = self.after_base[at..].iter().position(is_newer) {
            let begin = at + skip;
            let length = self.after_base[begin..]
                .iter()
                .position(|after| !is_newer(after));
            at = length.map_or(self.after_base.len(), |length| begin + length);
            let first = (begin as u64) << shift;
            let end = ((at as u64) << shift).min(layout.units());
            run(first, end - first);
        }
    }
}
