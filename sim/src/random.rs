//! The one source of chance. Each use has a generator of its own, made of the seed and a name, so
//! that leaving an event out changes little of what follows.

/// A generator: splitmix64, because each of its states is a good one.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn of(seed: u64, name: &str) -> Random {
        let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
        for byte in name.bytes() {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut random = Random(state);
        random.next();
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// From `first` to `last`, both of them possible.
    pub fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// Short mostly, long rarely: each power of 2 between both is as likely as the others.
    pub fn skewed(&mut self, first: u64, last: u64) -> u64 {
        let bits = u64::from((last / first.max(1)).max(1).ilog2());
        let most = first << self.between(0, bits);
        self.between(first, most.min(last).max(first))
    }

    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }

    pub fn bytes<const COUNT: usize>(&mut self) -> [u8; COUNT] {
        std::array::from_fn(|_| self.next() as u8)
    }
}
