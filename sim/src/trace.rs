//! A run's events, as a hash and, if somebody wants to read it, as lines.

const PRIME: u64 = 0x0100_0000_01b3;

/// The way of one run. Two runs of a seed have the same hash.
#[derive(Debug)]
pub struct Trace {
    hash: u64,
    events: u64,
    lines: Option<Vec<String>>,
}

impl Trace {
    pub fn new(keeps_lines: bool) -> Trace {
        Trace {
            hash: 0xcbf2_9ce4_8422_2325,
            events: 0,
            lines: keeps_lines.then(Vec::new),
        }
    }

    /// Takes note of an event: numbers that tell it from others.
    pub fn note(&mut self, now_ns: u64, numbers: &[u64]) {
        self.events += 1;
        self.add(now_ns);
        numbers.iter().for_each(|number| self.add(*number));
    }

    fn add(&mut self, number: u64) {
        self.hash = (self.hash ^ number).wrapping_mul(PRIME).rotate_left(23);
    }

    /// A line for people.
    pub fn say(&mut self, now_ns: u64, text: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(format!("{:12.6} {}", now_ns as f64 / 1e9, text()));
        }
    }

    pub fn hash(&self) -> u64 {
        self.hash
    }

    pub fn events(&self) -> u64 {
        self.events
    }

    pub fn take_lines(&mut self) -> Vec<String> {
        self.lines.take().unwrap_or_default()
    }
}
