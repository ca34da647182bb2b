//! Runs seeds, each twice and several at a time, until the time is over or one fails.

use interweave_sim::plan::space::{AIMED_SEEDS, DATABASE_SEEDS};
use interweave_sim::plan::Action;
use interweave_sim::shrink::shrink;
use interweave_sim::{run, Counts, Outcome, Plan, Violation};
use interweave_wire::planted::Defect;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const HELP: &str = "\
interweave-sim [--seed N] [--trace N] [--from N] [--seeds N] [--minutes N] [--workers N] [--all]
               [--space] [--moves] [--no-shrink] [--no-grants] [--planted DEFECT]
  --seed N     run this seed alone, and say what happens
  --space      run seeds of spaces alone: several servers on one database
  --moves      run seeds of moves alone: as those of spaces, and segments move between the servers.
               Without these two, runs within so many minutes are of all three kinds by turns
  --trace N    run this seed with a client that is recorded, and print its trace
               (spec/vectors/traces/README.md)
  --no-grants  that client keeps no grants
  --from N     begin with this seed (1)
  --seeds N    run so many seeds
  --minutes N  run so long (2)
  --workers N  run so many seeds at a time (one a core)
  --all        continue after a seed that fails, and name all that fail
  --no-shrink  do not look for a short way to what fails
  --planted D  run the engines with this defect, to find the seeds that find it; in a build with the
               feature `planted` alone
";
const SHRINKING_RUNS: usize = 2_000;
/// So many lines at the beginning and at the end of a short way are shown.
const LINES: usize = 40;

struct Wish {
    seed: Option<u64>,
    trace: Option<u64>,
    keeps_grants: bool,
    from: u64,
    seeds: u64,
    minutes: u64,
    workers: usize,
    goes_on: bool,
    shrinks: bool,
    kind: Option<Kind>,
    defect: Option<Defect>,
}

/// The kinds of runs. Seeds of different kinds have nothing in common but the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Alone,
    Space,
    Moves,
}

/// The kinds of a run of some minutes, and the seed from which each has the faults that are meant.
const KINDS: [(Kind, u64); 5] = [
    (Kind::Alone, 0),
    (Kind::Space, 0),
    (Kind::Space, DATABASE_SEEDS),
    (Kind::Moves, 0),
    (Kind::Moves, AIMED_SEEDS),
];

type Named = (u64, Kind);

fn plan_of((seed, kind): Named) -> Plan {
    match kind {
        Kind::Alone => Plan::of(seed),
        Kind::Space => Plan::space(seed),
        Kind::Moves => Plan::moves(seed),
    }
}

fn kind_of(plan: &Plan) -> Kind {
    match &plan.space {
        Some(space) if space.moves => Kind::Moves,
        Some(_) => Kind::Space,
        None => Kind::Alone,
    }
}

fn name_of(plan: &Plan) -> String {
    let kind = match kind_of(plan) {
        Kind::Alone => "seed",
        Kind::Space => "space",
        Kind::Moves => "moves",
    };
    format!("{kind} {}", plan.seed)
}

impl Wish {
    /// The run of that number. Within so many minutes, runs are of all kinds by turns.
    fn run_of(&self, number: u64) -> Option<Named> {
        let count = KINDS.len() as u64;
        match self.kind {
            None if self.seeds == u64::MAX => {
                let (kind, first) = KINDS[(number % count) as usize];
                Some((first + self.from + number / count, kind))
            }
            kind => {
                let kind = kind.unwrap_or(Kind::Alone);
                (number < self.seeds).then_some((self.from + number, kind))
            }
        }
    }
}

fn wish() -> Option<Wish> {
    let mut wish = Wish {
        seed: None,
        trace: None,
        keeps_grants: true,
        from: 1,
        seeds: u64::MAX,
        minutes: 2,
        workers: thread::available_parallelism().map_or(1, usize::from),
        goes_on: false,
        shrinks: true,
        kind: None,
        defect: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--no-shrink" {
            wish.shrinks = false;
            continue;
        }
        if word == "--no-grants" {
            wish.keeps_grants = false;
            continue;
        }
        if word == "--space" {
            wish.kind = Some(Kind::Space);
            continue;
        }
        if word == "--moves" {
            wish.kind = Some(Kind::Moves);
            continue;
        }
        if word == "--all" {
            wish.goes_on = true;
            continue;
        }
        if word == "--planted" {
            let name = words.next()?;
            let mut all = Defect::ALL.into_iter();
            wish.defect = Some(all.find(|defect| format!("{defect:?}") == name)?);
            continue;
        }
        let number: u64 = words.next()?.parse().ok()?;
        match word.as_str() {
            "--seed" => wish.seed = Some(number),
            "--trace" => wish.trace = Some(number),
            "--from" => wish.from = number,
            "--seeds" => {
                wish.seeds = number;
                wish.minutes = u64::MAX / 60;
            }
            "--minutes" => wish.minutes = number,
            "--workers" => wish.workers = usize::try_from(number).ok().filter(|n| *n > 0)?,
            _ => return None,
        }
    }
    Some(wish)
}

fn main() -> ExitCode {
    let Some(wish) = wish() else {
        eprint!("{HELP}");
        return ExitCode::from(2);
    };
    plant(&wish);
    match (wish.trace, wish.seed) {
        (Some(seed), _) => record(seed, wish.keeps_grants),
        (None, Some(seed)) => run_one(seed, &wish),
        (None, None) => run_many(&wish),
    }
}

/// Puts the wished defect in, for this thread.
#[cfg(feature = "planted")]
fn plant(wish: &Wish) {
    interweave_wire::planted::plant(wish.defect);
}

/// No defect can be put into an ordinary build.
#[cfg(not(feature = "planted"))]
fn plant(wish: &Wish) {
    if let Some(defect) = wish.defect {
        eprintln!("{defect:?} is not in this program: build it with the feature `planted`");
        std::process::exit(2);
    }
}

fn record(seed: u64, keeps_grants: bool) -> ExitCode {
    let outcome = run(&Plan::traced(seed, keeps_grants), false);
    outcome.recorded.iter().for_each(|line| println!("{line}"));
    if let Some((_, violation)) = outcome.violation {
        eprintln!("seed {seed}: {}: {}", violation.checker, violation.text);
        return ExitCode::FAILURE;
    }
    if outcome.recorded.is_empty() {
        eprintln!("this program is built without native clients; make/sim.sh builds it with them");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn run_one(seed: u64, wish: &Wish) -> ExitCode {
    let plan = plan_of((seed, wish.kind.unwrap_or(Kind::Alone)));
    let outcome = run(&plan, true);
    outcome.lines.iter().for_each(|line| println!("{line}"));
    println!(
        "{}: hash {:016x}, {:?}",
        name_of(&plan),
        outcome.hash,
        outcome.counts
    );
    match is_repeated(&plan, &outcome) && outcome.violation.is_none() {
        true => ExitCode::SUCCESS,
        false => {
            if let Some(violation) = &outcome.violation {
                tell(&plan, violation, wish);
            }
            ExitCode::FAILURE
        }
    }
}

/// Runs the plan again. Whether that was the same.
fn is_repeated(plan: &Plan, first: &Outcome) -> bool {
    let second = run(plan, false);
    let same = (first.hash, first.events) == (second.hash, second.events);
    if !same {
        println!(
            "{}: two runs differ: {:016x} ({} events), {:016x} ({} events)",
            name_of(plan),
            first.hash,
            first.events,
            second.hash,
            second.events
        );
    }
    same
}

/// The work of all workers.
#[derive(Default)]
struct Campaign {
    next: AtomicU64,
    sum: Mutex<Sum>,
    /// The seeds that failed, and how. None: their two runs differ, and break no promise.
    failed: Mutex<BTreeMap<Named, Option<(u64, Violation)>>>,
}

fn run_many(wish: &Wish) -> ExitCode {
    let campaign = Campaign::default();
    let begin = Instant::now();
    thread::scope(|scope| {
        for _ in 0..wish.workers {
            scope.spawn(|| work(&campaign, wish, begin));
        }
    });
    let took = begin.elapsed();
    let failed = campaign.failed.into_inner();
    let failed = failed.unwrap_or_else(PoisonError::into_inner);
    let mut broken = failed
        .iter()
        .filter_map(|(named, what)| Some((*named, what.as_ref()?)));
    if let Some((named, violation)) = broken.next() {
        tell(&plan_of(named), violation, wish);
    }
    let sum = campaign.sum.into_inner();
    let sum = sum.unwrap_or_else(PoisonError::into_inner);
    sum.tell(took, wish.workers);
    println!("violations       {}", failed.len());
    for (named, what) in &failed {
        let name = name_of(&plan_of(*named));
        match what {
            Some((_, violation)) => {
                println!("{name}: {}: {}", violation.checker, violation.text);
            }
            None => println!("{name}: two runs differ"),
        }
    }
    match failed.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Runs one seed after the other.
fn work(campaign: &Campaign, wish: &Wish, begin: Instant) {
    plant(wish);
    let until = Duration::from_secs(wish.minutes.saturating_mul(60));
    while begin.elapsed() < until {
        let number = campaign.next.fetch_add(1, Ordering::Relaxed);
        let Some(named) = wish.run_of(number) else {
            return;
        };
        let plan = plan_of(named);
        let outcome = run(&plan, false);
        let is_repeated = is_repeated(&plan, &outcome);
        let mut sum = campaign.sum.lock().unwrap_or_else(PoisonError::into_inner);
        sum.add(&outcome);
        drop(sum);
        let failed = campaign.failed.lock();
        let mut failed = failed.unwrap_or_else(PoisonError::into_inner);
        if outcome.violation.is_some() || !is_repeated {
            failed.insert(named, outcome.violation);
        }
        if !failed.is_empty() && !wish.goes_on {
            return;
        }
    }
}

/// The sums over all runs. Each was made twice, and counts once.
#[derive(Default)]
struct Sum {
    seeds: u64,
    counts: Counts,
    simulated_ns: u64,
}

impl Sum {
    fn add(&mut self, outcome: &Outcome) {
        self.seeds += 1;
        self.simulated_ns += outcome.simulated_ns;
        self.counts.add(&outcome.counts);
    }

    fn tell(&self, took: Duration, workers: usize) {
        let Counts {
            operations,
            releases,
            reads,
            starts,
            messages,
            ..
        } = self.counts;
        let faults = self.counts.all_faults();
        let seconds = took.as_secs_f64();
        let simulated = self.simulated_ns as f64 / 1e9;
        println!("seeds            {}, each run twice", self.seeds);
        println!("workers          {workers}");
        println!("operations       {operations} ({releases} releases, {reads} reads)");
        println!("messages         {messages}");
        println!("server starts    {starts}");
        println!("faults           {faults}");
        for (kind, count) in &self.counts.faults {
            println!("  {kind:24} {count}");
        }
        println!("beside faults");
        for (kind, count) in &self.counts.events {
            println!("  {kind:24} {count}");
        }
        println!("simulated hours  {:.2}", simulated / 3600.0);
        println!(
            "  operations a simulated second  {:.1}",
            operations as f64 / simulated
        );
        println!("real minutes     {:.1}", seconds / 60.0);
        println!("  operations a second  {:.0}", operations as f64 / seconds);
        println!("  faults a second      {:.0}", faults as f64 / seconds);
    }
}

fn tell(plan: &Plan, (at_ns, violation): &(u64, Violation), wish: &Wish) {
    let name = name_of(plan);
    let at = *at_ns as f64 / 1e9;
    println!(
        "{name}, at {at:.6}: {}: {}",
        violation.checker, violation.text
    );
    if !wish.shrinks {
        return;
    }
    let short = shrink(plan, violation, SHRINKING_RUNS);
    println!(
        "a short way there, {} events of {}:",
        short.events.len(),
        plan.events.len()
    );
    for planned in &short.events {
        let at = planned.at_ns as f64 / 1e9;
        match &planned.action {
            Action::Do { client, op } => println!("{at:12.6} client {client}: {op:?}"),
            Action::Fault(fault) => println!("{at:12.6} {fault:?}"),
            Action::Order(order) => println!("{at:12.6} {order:?}"),
        }
    }
    let again = run(&short, true);
    println!("what happens then:");
    if let Some((_, violation)) = &again.violation {
        println!("{}: {}", violation.checker, violation.text);
    }
    let mut lines = again.lines;
    lines.retain(|line| !line.contains("HEARTBEAT") && !line.contains("PONG"));
    let middle = (lines.len() / 2).min(LINES);
    let last = lines.len().saturating_sub(LINES).max(middle);
    lines[..middle].iter().for_each(|line| println!("{line}"));
    if middle < last {
        println!("...");
    }
    lines[last..].iter().for_each(|line| println!("{line}"));
    let word = match kind_of(plan) {
        Kind::Alone => "SEED",
        Kind::Space => "SPACE",
        Kind::Moves => "MOVES",
    };
    println!("again: make sim {word}={}", plan.seed);
}
