//! What a decision on a right costs with 10,000 rules, and what reading the rules costs.
//!
//! Rival: the plainest way, which asks one rule after another.
//!
//!   decisions
//!
//! Writes decisions.csv: rules,shape,operation,us. Medians; a decision's time is the mean of a
//! round of 1,000 decisions on different identities and paths.

use interweave_access::{Identity, Operation, Rules};
use std::fmt::Write;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

const RULES: usize = 10_000;
const ROUNDS: usize = 101;
const ASKED: usize = 1000;
const TARGET_US: f64 = 1.0;

/// A file of rules, and what is asked.
struct Shape {
    name: &'static str,
    file: String,
    asked: Vec<(Identity, String)>,
}

fn identity(word: &str) -> Identity {
    Identity::parse(word).expect("an identity")
}

/// The number of the asked one among the rules: all parts of the file are asked about.
fn spread(asked: usize) -> usize {
    asked * (RULES / ASKED)
}

fn shape(
    name: &'static str,
    head: &str,
    rule: impl Fn(usize) -> String,
    ask: impl Fn(usize) -> (String, String),
) -> Shape {
    let mut file = head.to_string();
    for number in 0..RULES {
        writeln!(file, "{}", rule(number)).expect("a string takes it");
    }
    file += "end\n";
    let asked = (0..ASKED).map(|number| ask(spread(number)));
    let asked = asked.map(|(who, path)| (identity(&who), path)).collect();
    Shape { name, file, asked }
}

fn groups(count: usize) -> String {
    let line = |group: usize| {
        let members = (0..100).map(|member| format!(" u{}", group * 7 + member));
        format!("group g{group}{}\n", members.collect::<String>())
    };
    (0..count).map(line).collect()
}

fn shapes() -> Vec<Shape> {
    vec![
        shape(
            "own rules",
            "",
            |n| format!("allow u{n} read,write /lab/cell-{n}/robot/**"),
            |n| (format!("u{n}"), format!("/lab/cell-{n}/robot/arm/pose")),
        ),
        shape(
            "one identity",
            "",
            |n| format!("allow alice read /lab/cell-{n}/robot/**"),
            |n| ("alice".into(), format!("/lab/cell-{n}/robot/arm/pose")),
        ),
        shape(
            "no rule matches",
            "",
            |n| format!("allow * read /lab/cell-{n}/robot/**"),
            |n| ("alice".into(), format!("/lab/cell-{n}/camera/left/image")),
        ),
        shape(
            "groups",
            &groups(100),
            |n| format!("allow @g{} read /lab/cell-{n}/**", n % 100),
            |n| {
                (
                    format!("u{}", n % 700),
                    format!("/lab/cell-{n}/robot/arm/pose"),
                )
            },
        ),
        shape(
            "a star in the middle",
            "",
            |n| format!("allow * read /lab/*/robot-{n}/**"),
            |n| ("alice".into(), format!("/lab/cell/robot-{n}/arm/pose")),
        ),
        shape(
            "a star behind a name",
            "",
            |n| format!("allow * read /jobs/user-{n}-*/state"),
            |n| ("alice".into(), format!("/jobs/user-{n}-17/state")),
        ),
        shape(
            "a star before a name",
            "",
            |n| format!("allow * read /jobs/*-user-{n}/state"),
            |n| ("alice".into(), format!("/jobs/17-user-{n}/state")),
        ),
        shape(
            "any depth",
            "",
            |n| format!("allow * read /**/robot-{n}/**"),
            |n| ("alice".into(), format!("/lab/cell/robot-{n}/arm/pose")),
        ),
    ]
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// Asks one rule after another, as far as the rules of these shapes need it: the components of the
/// path are compared with those of the rule, and a star is looked for in each.
fn decision_by_reading(rules: &[(String, Vec<String>)], who: &str, path: &str) -> Option<usize> {
    let path: Vec<&str> = path[1..].split('/').collect();
    rules.iter().position(|(subject, pattern)| {
        (subject == "*" || subject == who) && all_match(pattern, &path)
    })
}

fn all_match(pattern: &[String], path: &[&str]) -> bool {
    match pattern.split_first() {
        None => path.is_empty(),
        Some((first, rest)) if first == "**" => {
            (0..=path.len()).any(|skipped| all_match(rest, &path[skipped..]))
        }
        Some((first, rest)) => {
            let is_match = |text: &&str| match first.split_once('*') {
                None => first == text,
                Some((before, behind)) => text.starts_with(before) && text.ends_with(behind),
            };
            path.first().is_some_and(is_match) && all_match(rest, &path[1..])
        }
    }
}

/// The rules as words. Groups are not written out here, so that shape has no rival.
fn as_words(file: &str) -> Option<Vec<(String, Vec<String>)>> {
    let rule = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let components = words[3][1..].split('/').map(str::to_owned).collect();
        (words[1].to_owned(), components)
    };
    let has_groups = file.starts_with("group");
    (!has_groups).then(|| {
        file.lines()
            .filter(|line| *line != "end")
            .map(rule)
            .collect()
    })
}

struct Measured {
    parse: f64,
    decide: f64,
    rival: Option<f64>,
}

fn measure(shape: &Shape) -> Measured {
    let parse = |_| {
        let begin = Instant::now();
        black_box(Rules::parse(&shape.file).expect("rules"));
        begin.elapsed().as_secs_f64() * 1e6
    };
    let rules = Rules::parse(&shape.file).expect("rules");
    let round = |_| {
        let begin = Instant::now();
        for (who, path) in &shape.asked {
            black_box(rules.decide(who, Operation::Read, black_box(path)));
        }
        begin.elapsed().as_secs_f64() * 1e6 / ASKED as f64
    };
    let rival = as_words(&shape.file).map(|words| {
        let begin = Instant::now();
        let asked = shape.asked.iter().step_by(10);
        for (who, path) in asked {
            let line = decision_by_reading(&words, &who.to_string(), path).map(|at| at as u32 + 1);
            assert_eq!(
                rules.decide(who, Operation::Read, path).line,
                line,
                "{}",
                shape.name
            );
        }
        begin.elapsed().as_secs_f64() * 1e6 / (ASKED / 10) as f64
    });
    Measured {
        parse: median((0..ROUNDS / 10).map(parse).collect()),
        decide: median((0..ROUNDS).map(round).collect()),
        rival,
    }
}

fn main() {
    println!("{RULES} rules              decide, us   rules one by one, us   read the file, us");
    let mut table = String::from("rules,shape,operation,us\n");
    let mut slowest = 0.0_f64;
    for shape in shapes() {
        let Measured {
            parse,
            decide,
            rival,
        } = measure(&shape);
        let name = shape.name;
        let shown = rival.map_or("-".to_string(), |us| format!("{us:.0}"));
        println!("{name:<24}{decide:>12.3}{shown:>23}{parse:>20.0}");
        for (operation, us) in [
            ("decide", Some(decide)),
            ("one-by-one", rival),
            ("parse", Some(parse)),
        ] {
            if let Some(us) = us {
                writeln!(table, "{RULES},{name},{operation},{us:.3}").expect("a string takes it");
            }
        }
        slowest = slowest.max(decide);
    }
    let met = if slowest <= TARGET_US {
        "met"
    } else {
        "missed"
    };
    println!(
        "verdict: a decision with {RULES} rules takes {slowest:.2} us at most; target 1 us, {met}"
    );
    let results = std::env::var_os("BENCH_RESULTS").map_or("bench/results".into(), PathBuf::from);
    let unfinished = results.join("decisions.csv.new");
    std::fs::write(&unfinished, table).expect("bench/results can be written");
    std::fs::rename(unfinished, results.join("decisions.csv")).expect("they can be written");
}
