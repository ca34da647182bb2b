//! Received diffs that blocks share. A block that one run replaces whole keeps a slice of the diff
//! instead of a copy. A buffer is kept only while blocks use at least 5/6 of it. Below that, the
//! blocks that still share the buffer get copies. Sharing thus never costs more than a fifth of the
//! bytes that it saves.

use bytes::Bytes;
use interweave_wire::{Rare, Resting};

/// Smaller runs are copied.
pub(crate) const SHARE_BYTES: u64 = 4096;

/// The buffers of one segment. Most segments have no block that is large enough to share one.
#[derive(Debug, Default)]
pub(crate) struct SharedBuffers(Rare<Buffers>);

#[derive(Debug)]
struct Buffers {
    buffers: Vec<Option<Buffer>>,
    unused: Vec<u32>,
    /// Buffers that lost a user since the last `thin`.
    touched: Vec<u32>,
}

impl Resting for Buffers {
    const REST: Self = Buffers {
        buffers: Vec::new(),
        unused: Vec::new(),
        touched: Vec::new(),
    };
    const AT_REST: &'static Self = &Self::REST;
}

#[derive(Debug)]
struct Buffer {
    bytes: Bytes,
    live_bytes: u64,
    /// Serials of the blocks that began to share it.
    blocks: Vec<u64>,
}

impl SharedBuffers {
    /// Adds a buffer that no block uses yet. Returns its number.
    pub fn add(&mut self, bytes: Bytes) -> u32 {
        let buffer = Some(Buffer {
            bytes,
            live_bytes: 0,
            blocks: Vec::new(),
        });
        let all = &mut *self.0;
        let index = all.unused.pop().unwrap_or_else(|| {
            all.buffers.push(None);
            all.buffers.len() as u32 - 1
        });
        all.buffers[index as usize] = buffer;
        all.touched.push(index);
        index
    }

    fn get(&self, index: u32) -> &Buffer {
        let buffer = self.0.buffers[index as usize].as_ref();
        buffer.expect("a buffer stays while blocks share it")
    }

    fn get_mut(&mut self, index: u32) -> &mut Buffer {
        let buffer = self.0.buffers[index as usize].as_mut();
        buffer.expect("a buffer stays while blocks share it")
    }

    pub fn slice(&self, index: u32, offset: u32, bytes: usize) -> &[u8] {
        &self.get(index).bytes[offset as usize..][..bytes]
    }

    /// The same, in memory that stays when the buffer is let go.
    pub fn bytes(&self, index: u32, offset: u32, bytes: usize) -> Bytes {
        let begin = offset as usize;
        self.get(index).bytes.slice(begin..begin + bytes)
    }

    pub fn retain(&mut self, index: u32, serial: u64, bytes: u64) {
        let buffer = self.get_mut(index);
        buffer.live_bytes += bytes;
        buffer.blocks.push(serial);
    }

    pub fn release(&mut self, index: u32, bytes: u64) {
        self.get_mut(index).live_bytes -= bytes;
        self.0.touched.push(index);
    }

    /// Drops buffers that no block uses. Returns the buffers that are used too little, each with
    /// the serials of the blocks that may still share it.
    pub fn thin(&mut self) -> Vec<(u32, Vec<u64>)> {
        let mut thin = Vec::new();
        let Some(all) = self.0.awake() else {
            return thin;
        };
        for index in std::mem::take(&mut all.touched) {
            let Some(buffer) = &mut all.buffers[index as usize] else {
                continue;
            };
            if buffer.live_bytes == 0 {
                all.buffers[index as usize] = None;
                all.unused.push(index);
            } else if buffer.live_bytes * 6 < buffer.bytes.len() as u64 * 5 {
                thin.push((index, std::mem::take(&mut buffer.blocks)));
            }
        }
        thin
    }

    /// Bytes kept alive that no block uses.
    pub fn excess_bytes(&self) -> u64 {
        let buffers = self.0.buffers.iter().flatten();
        buffers
            .map(|buffer| buffer.bytes.len() as u64 - buffer.live_bytes)
            .sum()
    }

    /// Bytes of blocks in these buffers.
    pub fn live_bytes(&self) -> u64 {
        self.0
            .buffers
            .iter()
            .flatten()
            .map(|buffer| buffer.live_bytes)
            .sum()
    }
}
