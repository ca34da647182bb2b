//! A reader of the segment, which follows it from server to server.

use interweave_server::client::{ClientError, Copy, Greeting, OpenOptions, Ring, MOST_HOPS};
use interweave_wire::mip::{Address, Servers};
use interweave_wire::protocol::CoherenceModel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub const PATH: &str = "/astroflow";
const LOOKS_EVERY: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(2);
/// A longer time without a version is told.
const PAUSE: Duration = Duration::from_millis(500);

/// The newest version that the reader has seen, and how it came.
#[derive(Default)]
pub struct Seen {
    /// Where the newest version came from, as HOST:PORT.
    pub from: String,
    pub version: u64,
    pub versions: u64,
    pub longest_pause: Duration,
    /// 256 rows of 256 doubles, the lowest first.
    pub density: Vec<u8>,
}

pub struct Watcher {
    ring: Ring,
    seen: Arc<Mutex<Seen>>,
    newest: Instant,
}

impl Watcher {
    /// Reads for ever, in a thread of its own. `say` is called with each pause, from there.
    pub fn start(servers: Servers, say: impl Fn(&str) + Send + 'static) -> Arc<Mutex<Seen>> {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let mut watcher = Watcher {
            ring: Ring::new(servers),
            seen: seen.clone(),
            newest: Instant::now(),
        };
        std::thread::spawn(move || loop {
            // The next server is asked, whatever the reason.
            let _ = watcher.follow(&say);
            std::thread::sleep(LOOKS_EVERY);
        });
        seen
    }

    /// Returns when it cannot continue.
    fn follow(&mut self, say: &impl Fn(&str)) -> Result<(), ClientError> {
        let (mut client, first) = self.ring.connect(&Greeting::default())?;
        let mut from = text_of(&first);
        client.patience = PATIENCE;
        let mut hops = 0;
        let mut copy = loop {
            let error = match Copy::open(&mut client, PATH, &OpenOptions::reading()) {
                Ok(copy) => break copy,
                Err(error) => error,
            };
            let Some(to) = error.redirect().filter(|_| hops < MOST_HOPS) else {
                return Err(error);
            };
            client = self.ring.follow(&client, &to, Greeting::default())?;
            client.patience = PATIENCE;
            from = to.address;
            hops += 1;
        };
        loop {
            let before = copy.stamp().number;
            copy.acquire(&mut client, CoherenceModel::Full, 0.0)?;
            if copy.stamp().number != before {
                self.note(&copy, &from, say);
            }
            std::thread::sleep(LOOKS_EVERY);
        }
    }

    fn note(&mut self, copy: &Copy, from: &str, say: &impl Fn(&str)) {
        let mut seen = self.seen.lock().unwrap();
        let is_new = copy.stamp().number > seen.version;
        if !is_new {
            return;
        }
        let pause = self.newest.elapsed();
        self.newest = Instant::now();
        let is_first = seen.versions == 0;
        seen.versions += 1;
        seen.version = copy.stamp().number;
        seen.from = from.to_string();
        if let Some(slots) = copy
            .segment()
            .block_by_name("density")
            .and_then(|it| it.slots)
        {
            seen.density = slots.to_vec();
        }
        if !is_first && pause < PAUSE {
            return;
        }
        if is_first {
            drop(seen);
            say(&format!("versions come from {from}"));
            return;
        }
        seen.longest_pause = seen.longest_pause.max(pause);
        drop(seen);
        say(&format!(
            "versions continue after {} ms, from {from}",
            pause.as_millis()
        ));
    }
}

fn text_of(address: &Address) -> String {
    match address {
        Address::Tcp { host, port, .. } => format!("{host}:{port}"),
        Address::Unix { file } => format!("unix:{file}"),
    }
}
