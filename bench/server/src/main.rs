//! Durable writes a second of 1 to 512 writers, each of a value of its own. InterWeave's server has
//! the store of files or one on PostgreSQL; the rivals are Redis, etcd and NATS JetStream. A writer
//! of InterWeave locks a segment, changes all of its 100 bytes and releases. A rival's writer
//! writes 100 bytes. All answer once the change is on disk, in one copy or in several. All talk
//! TCP on this machine.
//!
//! Writes server.csv: system,copies,writers,a_second,p50_us,p99_us,write_p50_us,write_p99_us; the
//! median of the rounds by a_second.
//!
//!     interweave-bench-server [SECONDS [ROUNDS [WRITERS,...]]]

mod etcd;
mod interweave;
mod load;
mod nats;
mod process;
mod redis;

use etcd::Etcd;
use interweave::{Server, Space};
use load::{measure, Figure, Servers};
use nats::Nats;
use redis::Redis;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Less than 128, for the one message that is encoded by hand.
const VALUE_BYTES: usize = 100;

/// A system as it is compared: how many of its copies are on disk before it answers.
struct System {
    name: &'static str,
    copies: usize,
    start: fn() -> Box<dyn Servers>,
}

const fn system(name: &'static str, copies: usize, start: fn() -> Box<dyn Servers>) -> System {
    System {
        name,
        copies,
        start,
    }
}

const SYSTEMS: &[System] = &[
    system("interweave", 1, || Box::new(Server::with_files())),
    system("interweave-postgres", 1, || Box::new(Space::alone())),
    system("redis", 1, || Box::new(Redis::start())),
    system("etcd", 1, || Box::new(Etcd::start(1))),
    system("nats", 1, || Box::new(Nats::start(1))),
    system("interweave-postgres", 2, || Box::new(Space::start(1))),
    system("interweave-postgres-two-servers", 2, || {
        Box::new(Space::start(2))
    }),
    system("etcd-three", 2, || Box::new(Etcd::start(3))),
    system("nats-three", 2, || Box::new(Nats::start(3))),
];

struct Plan {
    time: Duration,
    rounds: usize,
    writers: Vec<usize>,
}

impl Plan {
    fn of_arguments() -> Plan {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let number = |at: usize, default: &str| {
            let word = words.get(at).map_or(default, String::as_str);
            word.parse()
                .unwrap_or_else(|_| panic!("'{word}' is not a number"))
        };
        let writers = words.get(2).map_or("1,8,64,512", String::as_str).split(',');
        Plan {
            time: Duration::from_secs(number(0, "3")),
            rounds: number(1, "3").max(1) as usize,
            writers: writers
                .map(|word| word.parse().expect("numbers of writers"))
                .collect(),
        }
    }

    /// All systems in turn, then again: so each meets the machine's good and bad times.
    fn figures(&self) -> Vec<(&'static System, usize, Vec<Figure>)> {
        let cases = self
            .writers
            .iter()
            .flat_map(|writers| SYSTEMS.iter().map(|s| (s, *writers)));
        let mut figures: Vec<_> = cases.map(|(s, writers)| (s, writers, Vec::new())).collect();
        for _ in 0..self.rounds {
            for (system, writers, found) in &mut figures {
                let servers = (system.start)();
                found.push(measure(&*servers, *writers, self.time));
                eprintln!("{} {writers} {:?}", system.name, found.last());
            }
        }
        figures
    }
}

fn main() {
    let plan = Plan::of_arguments();
    let folder = std::env::var_os("BENCH_RESULTS").map_or_else(PathBuf::new, PathBuf::from);
    let mut rows =
        String::from("system,copies,writers,a_second,p50_us,p99_us,write_p50_us,write_p99_us\n");
    for (system, writers, mut found) in plan.figures() {
        found.sort_by(|a, b| a.a_second.total_cmp(&b.a_second));
        let Figure {
            a_second,
            whole,
            write,
        } = found[found.len() / 2];
        rows += &format!(
            "{},{},{writers},{a_second:.0},{:.0},{:.0},{:.0},{:.0}\n",
            system.name, system.copies, whole.p50_us, whole.p99_us, write.p50_us, write.p99_us
        );
    }
    print!("{rows}");
    std::io::stdout().flush().expect("a place for the table");
    std::fs::write(folder.join("server.csv"), rows).expect("a file of results");
}
