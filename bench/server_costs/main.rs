//! The server's half of Figures 4 and 5 of ICDCS'03: what a master copy needs to take a release in
//! (apply: check and commit), and to collect a diff for a reader one version behind, without the
//! diff cache (collect). The releases are a client's, written by `bench_server_releases DIR`; only
//! their version numbers change from round to round. Every collected diff of the first rounds and
//! of the last is applied to a second copy, which must then have equal bytes.
//!
//!   server_costs DIR
//!
//! Writes server_costs.csv: figure,shape,operation,us; of Figure 5 the shape is the ratio. Medians.
//! "Figure" 3.3 is not in the paper as a figure: 65,536 blocks with one word changed in each, with
//! the diff cache and prediction, without the cache, and without both (ICDCS'03, section 3.3). The
//! verdict compares these costs with the client's, which are in translate.csv.

use bytes::Bytes;
use interweave_master::{Segment, Tuning};
use std::collections::HashMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

const ROUNDS: u64 = 81;
const WARM_UP: u64 = 12;

/// Versions stay below 128, so that their varints are one byte, at fixed places of a diff's head.
const _: () = assert!(ROUNDS + WARM_UP < 127);
const FROM_AT: usize = 5;
const TO_AT: usize = 6;

struct Case {
    figure: String,
    name: String,
    /// All blocks; then the changes there and back.
    releases: [Vec<u8>; 3],
}

/// Medians in microseconds.
struct Costs {
    collect: f64,
    apply: f64,
}

struct Measured {
    figure: String,
    name: String,
    collect: f64,
    apply: f64,
}

impl Measured {
    fn operations(&self) -> [(&'static str, f64); 2] {
        [("collect", self.collect), ("apply", self.apply)]
    }
}

fn read_cases(directory: &Path) -> Vec<Case> {
    let list = std::fs::read_to_string(directory.join("cases")).expect("DIR/cases");
    let case = |line: &str| {
        let (figure, name) = line.split_once(' ').expect("FIGURE NAME");
        let release = |version: u32| {
            let path = directory.join(format!("{figure}-{name}.{version}"));
            std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        Case {
            figure: figure.to_string(),
            name: name.to_string(),
            releases: [0, 1, 2].map(release),
        }
    };
    list.lines().map(case).collect()
}

/// The release as one from that version to the next.
fn renumbered(release: &[u8], from: u64) -> Bytes {
    let mut release = release.to_vec();
    release[FROM_AT] = from as u8;
    release[TO_AT] = from as u8 + 1;
    release.into()
}

fn apply(segment: &mut Segment, release: &Bytes, serials: &[(u64, u64)]) {
    let base = segment.newest();
    let checked = segment.check(release, base, serials).expect("a client's");
    segment.commit(checked);
}

fn timed_us<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let begin = Instant::now();
    let done = black_box(work());
    (done, begin.elapsed().as_secs_f64() * 1e6)
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn assert_equal(one: &Segment, other: &Segment, name: &str) {
    assert_eq!(one.block_count(), other.block_count(), "{name}");
    for (a, b) in one.blocks().zip(other.blocks()) {
        assert!(a.serial == b.serial && a.slots == b.slots, "{name}: bytes");
    }
}

/// As figures 4 and 5 are measured.
fn uncached() -> Tuning {
    Tuning {
        cache_bytes: 0,
        ..Tuning::default()
    }
}

fn measure(case: &Case, tuning: Tuning) -> Costs {
    let mut master = Segment::new(0);
    master.tune(tuning);
    let mut reader = Segment::new(0);
    let first = Bytes::from(case.releases[0].clone());
    apply(&mut master, &first, &[(1, 1 << 20)]);
    reader
        .apply(&master.collect(0).joined())
        .expect("a complete copy");
    let (mut applies, mut collects) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS + WARM_UP {
        let base = master.newest();
        let release = renumbered(&case.releases[1 + round as usize % 2], base);
        let ((), apply_us) = timed_us(|| apply(&mut master, &release, &[]));
        let (diff, collect_us) = timed_us(|| master.collect(base).joined());
        if round < WARM_UP {
            reader.apply(&diff).expect("a server's");
            assert_equal(&master, &reader, &case.name);
            continue;
        }
        applies.push(apply_us);
        collects.push(collect_us);
    }
    reader
        .apply(&master.collect(WARM_UP + 1).joined())
        .expect("a server's");
    assert_equal(&master, &reader, &case.name);
    // The cache has the writer's diffs; only the last copy here is from another version.
    let collections = match tuning.cache_bytes {
        0 => ROUNDS + WARM_UP + 2,
        _ => 1,
    };
    assert_eq!(master.collections(), collections, "the cache is on or off");
    Costs {
        apply: median(applies),
        collect: median(collects),
    }
}

fn results() -> PathBuf {
    let set = std::env::var_os("BENCH_RESULTS");
    set.map_or_else(|| "bench/results".into(), PathBuf::from)
}

/// Of each shape and operation, what the client needs in block mode: the translation alone.
fn client_costs() -> HashMap<(String, String), f64> {
    let text = std::fs::read_to_string(results().join("translate.csv")).unwrap_or_default();
    let cost = |line: &str| {
        let mut fields = line.split(',');
        let (shape, operation) = (fields.next()?, fields.next()?);
        let us = fields.next().filter(|system| *system == "interweave-block");
        us.and_then(|_| fields.next()?.parse().ok())
            .map(|us| ((shape.to_string(), operation.to_string()), us))
    };
    text.lines().filter_map(cost).collect()
}

/// Row 47: lower than the client's but for pointers and small strings, in the paper.
fn verdict_of_figure_4(all: &[Measured]) {
    let client = client_costs();
    let (mut lower, mut higher) = (Vec::new(), Vec::new());
    for one in all.iter().filter(|one| one.figure == "4") {
        for (operation, us) in one.operations() {
            let Some(client_us) = client.get(&(one.name.clone(), operation.to_string())) else {
                println!("there is no translate.csv to compare with: make bench ONLY=translate");
                return;
            };
            let text = format!("{} {operation} {:.2}x", one.name, us / client_us);
            match us <= *client_us {
                true => lower.push(text),
                false => higher.push(text),
            }
        }
    }
    println!(
        "verdict, Figure 4: of 18 costs of the server {} are at most the client's in block mode; \
         higher: {}",
        lower.len(),
        if higher.is_empty() {
            "none".to_string()
        } else {
            higher.join(", ")
        }
    );
}

/// Subblocks of 16 units: up to one word in 16 everything is collected.
fn verdict_of_figure_5(all: &[Measured]) {
    let collect = |ratio: u32| {
        let is_it = |one: &&Measured| one.figure == "5" && one.name == ratio.to_string();
        all.iter().find(is_it).map_or(f64::NAN, |one| one.collect)
    };
    let flat = [1, 2, 4, 8, 16].map(collect);
    let least = flat.iter().copied().fold(f64::INFINITY, f64::min);
    let most = flat.iter().copied().fold(0.0, f64::max);
    println!(
        "verdict, Figure 5: collect takes {least:.1} to {most:.1} us from 1 to 16 (subblocks of 16 \
         units are sent whole), {:.1} at 32, {:.1} at 1024, {:.1} at 16384",
        collect(32),
        collect(1024),
        collect(16384)
    );
}

/// The names and tunings under which a case is measured.
fn variants(case: &Case) -> Vec<(String, Tuning)> {
    if case.figure != "3.3" {
        return vec![(case.name.clone(), uncached())];
    }
    let unpredicted = Tuning {
        prediction: false,
        ..uncached()
    };
    let all = [
        ("all_on", Tuning::default()),
        ("cache_off", uncached()),
        ("both_off", unpredicted),
    ];
    all.map(|(name, tuning)| (name.to_string(), tuning)).into()
}

fn measure_all(cases: &[Case]) -> Vec<Measured> {
    println!("figure  shape            collect     apply   us, server");
    let mut all = Vec::new();
    for case in cases {
        for (name, tuning) in variants(case) {
            let costs = measure(case, tuning);
            let (figure, Costs { collect, apply }) = (case.figure.clone(), costs);
            println!("{figure:<8}{name:<14}{collect:>10.1}{apply:>10.1}");
            all.push(Measured {
                figure,
                name,
                collect,
                apply,
            });
        }
    }
    all
}

fn main() {
    let directory = std::env::args_os().nth(1).expect("server_costs DIR");
    let all = measure_all(&read_cases(Path::new(&directory)));
    verdict_of_figure_4(&all);
    verdict_of_figure_5(&all);
    let mut table = String::from("figure,shape,operation,us\n");
    for one in &all {
        for (operation, us) in one.operations() {
            table += &format!("{},{},{operation},{us:.2}\n", one.figure, one.name);
        }
    }
    let path = results().join("server_costs.csv");
    let unfinished = path.with_extension("csv.new");
    std::fs::write(&unfinished, table).expect("bench/results can be written");
    std::fs::rename(unfinished, path).expect("bench/results can be written");
}
