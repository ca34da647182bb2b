//! Runs seeds one after the other, each twice, until the time is over or one fails.

use interweave_sim::plan::Action;
use interweave_sim::shrink::shrink;
use interweave_sim::{run, Counts, Outcome, Plan};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const HELP: &str = "\
interweave-sim [--seed N] [--from N] [--seeds N] [--minutes N] [--trace]
  --seed N     run this seed alone, and say what happens
  --from N     begin with this seed (1)
  --seeds N    run so many seeds
  --minutes N  run so long (2)
  --no-shrink  do not look for a short way to what fails
";
const SHRINKING_RUNS: usize = 2_000;
/// So many lines at the beginning and at the end of a short way are shown.
const LINES: usize = 40;

struct Wish {
    seed: Option<u64>,
    from: u64,
    seeds: u64,
    minutes: u64,
    shrinks: bool,
}

fn wish() -> Option<Wish> {
    let mut wish = Wish {
        seed: None,
        from: 1,
        seeds: u64::MAX,
        minutes: 2,
        shrinks: true,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--no-shrink" {
            wish.shrinks = false;
            continue;
        }
        let number: u64 = words.next()?.parse().ok()?;
        match word.as_str() {
            "--seed" => wish.seed = Some(number),
            "--from" => wish.from = number,
            "--seeds" => {
                wish.seeds = number;
                wish.minutes = u64::MAX / 60;
            }
            "--minutes" => wish.minutes = number,
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
    match wish.seed {
        Some(seed) => run_one(seed, &wish),
        None => run_many(&wish),
    }
}

fn run_one(seed: u64, wish: &Wish) -> ExitCode {
    let plan = Plan::of(seed);
    let outcome = run(&plan, true);
    outcome.lines.iter().for_each(|line| println!("{line}"));
    println!(
        "seed {seed}: hash {:016x}, {:?}",
        outcome.hash, outcome.counts
    );
    match is_repeated(&plan, &outcome) && outcome.violation.is_none() {
        true => ExitCode::SUCCESS,
        false => {
            tell(&plan, &outcome, wish);
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
            "seed {}: two runs differ: {:016x} ({} events), {:016x} ({} events)",
            plan.seed, first.hash, first.events, second.hash, second.events
        );
    }
    same
}

fn run_many(wish: &Wish) -> ExitCode {
    let begin = Instant::now();
    let until = Duration::from_secs(wish.minutes.saturating_mul(60));
    let mut sum = Sum::default();
    for seed in (wish.from..).take(usize::try_from(wish.seeds).unwrap_or(usize::MAX)) {
        if begin.elapsed() >= until {
            break;
        }
        let plan = Plan::of(seed);
        let outcome = run(&plan, false);
        sum.add(&outcome);
        let is_repeated = is_repeated(&plan, &outcome);
        if outcome.violation.is_some() || !is_repeated {
            tell(&plan, &outcome, wish);
            sum.tell(begin.elapsed());
            return ExitCode::FAILURE;
        }
    }
    sum.tell(begin.elapsed());
    ExitCode::SUCCESS
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
        let (sum, one) = (&mut self.counts, outcome.counts);
        sum.operations += one.operations;
        sum.releases += one.releases;
        sum.reads += one.reads;
        sum.faults += one.faults;
        sum.starts += one.starts;
        sum.messages += one.messages;
    }

    fn tell(&self, took: Duration) {
        let Counts {
            operations,
            releases,
            reads,
            faults,
            starts,
            messages,
        } = self.counts;
        let seconds = took.as_secs_f64();
        println!("seeds            {}", self.seeds);
        println!("operations       {operations} ({releases} releases, {reads} reads)");
        println!("messages         {messages}");
        println!("faults           {faults}");
        println!("server starts    {starts}");
        println!("simulated hours  {:.2}", self.simulated_ns as f64 / 3.6e12);
        // each seed was run twice
        println!("operations/s     {:.0}", 2.0 * operations as f64 / seconds);
    }
}

fn tell(plan: &Plan, outcome: &Outcome, wish: &Wish) {
    let seed = plan.seed;
    let Some((at_ns, violation)) = &outcome.violation else {
        return;
    };
    let at = *at_ns as f64 / 1e9;
    println!(
        "seed {seed}, at {at:.6}: {}: {}",
        violation.checker, violation.text
    );
    if !wish.shrinks {
        return;
    }
    let short = shrink(plan, SHRINKING_RUNS);
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
    println!("again: make sim SEED={seed}");
}
