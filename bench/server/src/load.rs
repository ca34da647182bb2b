//! Writers in threads, each with a connection of its own, and how long their writes take.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

const STACK_BYTES: usize = 256 << 10;
const WARM_UP: u64 = 5;

/// A client that changes a value of its own again and again.
pub trait Writer {
    /// Writes the value of that round, and waits until it is durable. Returns how long the writer
    /// waited for that, without what it did before to be allowed to write.
    fn write(&mut self, round: u64) -> Duration;
}

/// Servers that run. They end with this.
pub trait Servers: Sync {
    /// The writer of that number. The thread that uses it asks for it.
    fn writer(&self, number: usize) -> Box<dyn Writer>;
}

/// Microseconds of the middle and of the slowest hundredth.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    pub p50_us: f64,
    pub p99_us: f64,
}

#[derive(Debug, Clone, Copy)]
pub struct Figure {
    pub a_second: f64,
    /// From before the lock until the write is durable; rivals have no lock.
    pub whole: Times,
    /// Of the durable write alone.
    pub write: Times,
}

#[derive(Default)]
struct Samples {
    whole: Vec<Duration>,
    write: Vec<Duration>,
}

/// So many writers write for so long.
pub fn measure(servers: &dyn Servers, writers: usize, time: Duration) -> Figure {
    let ready = Barrier::new(writers + 1);
    let is_over = AtomicBool::new(false);
    let all = Mutex::new(Samples::default());
    let mut took = Duration::ZERO;
    std::thread::scope(|scope| {
        for number in 0..writers {
            let (ready, is_over, all) = (&ready, &is_over, &all);
            let write = move || {
                let samples = write_until(ready, is_over, servers.writer(number));
                let mut all = all.lock().unwrap();
                all.whole.extend(samples.whole);
                all.write.extend(samples.write);
            };
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            thread.spawn_scoped(scope, write).expect("a thread");
        }
        ready.wait();
        let begun = Instant::now();
        std::thread::sleep(time);
        is_over.store(true, Ordering::Relaxed);
        took = begun.elapsed();
    });
    let mut all = all.into_inner().unwrap();
    Figure {
        a_second: all.whole.len() as f64 / took.as_secs_f64(),
        whole: times(&mut all.whole),
        write: times(&mut all.write),
    }
}

fn write_until(ready: &Barrier, is_over: &AtomicBool, mut writer: Box<dyn Writer>) -> Samples {
    let mut samples = Samples::default();
    for round in 0..WARM_UP {
        writer.write(round);
    }
    ready.wait();
    for round in WARM_UP.. {
        let begun = Instant::now();
        let write = writer.write(round);
        // A write that was under way at the end is not one of that time.
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        samples.whole.push(begun.elapsed());
        samples.write.push(write);
    }
    samples
}

fn times(samples: &mut [Duration]) -> Times {
    samples.sort_unstable();
    let at = |hundredth: usize| {
        let found = samples.get(samples.len() * hundredth / 100);
        found.map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
    };
    Times {
        p50_us: at(50),
        p99_us: at(99),
    }
}
