//! Rules are decided as the plainest reading of spec/access.md decides them.

use super::*;

/// A rule as the test made it: its words.
struct Plain {
    is_allow: bool,
    who: &'static str,
    operations: Vec<&'static str>,
    path: String,
}

const IDENTITIES: [&str; 5] = ["a", "b", "cert:c", "uid:1", "anyone"];
/// A group's line, and all identities that are its members.
const GROUPS: [(&str, &[&str]); 3] = [
    ("group g a cert:c", &["a", "cert:c"]),
    ("group h @g uid:1 a", &["a", "cert:c", "uid:1"]),
    ("group k anyone b", &["anyone", "b"]),
];
const WHO: [&str; 9] = ["a", "b", "cert:c", "uid:1", "anyone", "*", "@g", "@h", "@k"];
const IN_RULES: [&str; 13] = [
    "**", "**", "*", "x", "y", "x*", "*y", "*x*", "", "xy*", "x*xy", "*yx", "y*x",
];
const IN_PATHS: [&str; 9] = ["x", "y", "xy", "yx", "", "**", "x*", "xyx", "\u{e4}yx"];

/// A generator of numbers below a bound (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn path(&mut self, words: &[&str]) -> String {
        let count = 1 + self.below(5);
        (0..count)
            .map(|_| format!("/{}", words[self.below(words.len())]))
            .collect()
    }

    fn rule(&mut self) -> Plain {
        let is_of_server = self.below(8) == 0;
        let words: &[_] = match is_of_server {
            true => &["metrics", "admin"],
            false => &["read", "write", "steer", "create", "remove"],
        };
        let mut operations: Vec<_> = words
            .iter()
            .copied()
            .filter(|_| self.below(2) == 0)
            .collect();
        if operations.is_empty() {
            operations.push(words[0]);
        }
        if !is_of_server && self.below(4) == 0 {
            operations = vec!["all"];
        }
        Plain {
            is_allow: self.below(2) == 0,
            who: WHO[self.below(WHO.len())],
            operations,
            path: if is_of_server {
                String::new()
            } else {
                self.path(&IN_RULES)
            },
        }
    }
}

impl Plain {
    fn line(&self) -> String {
        let word = if self.is_allow { "allow" } else { "deny" };
        format!(
            "{word} {} {} {}\n",
            self.who,
            self.operations.join(","),
            self.path
        )
    }

    fn is_for(&self, identity: &str) -> bool {
        let members = GROUPS
            .iter()
            .find(|(line, _)| self.who == format!("@{}", &line[6..7]));
        self.who == "*"
            || self.who == identity
            || members.is_some_and(|(_, members)| members.contains(&identity))
    }

    fn is_about(&self, operation: Operation) -> bool {
        let has = |word| self.operations.contains(&word);
        has(operation.word())
            || has("all") && (!operation.is_of_server() || self.path == "/**")
            || operation == Operation::Steer && self.is_allow && has("write")
            || operation == Operation::Write && !self.is_allow && has("steer")
    }
}

fn components(path: &str) -> Vec<&str> {
    path[1..].split('/').collect()
}

fn all_match(pattern: &[&str], path: &[&str]) -> bool {
    match pattern {
        [] => path.is_empty(),
        ["**", rest @ ..] => (0..=path.len()).any(|skipped| all_match(rest, &path[skipped..])),
        [first, rest @ ..] => {
            let is_match = |one: &&str| characters_match(first.as_bytes(), one.as_bytes());
            path.first().is_some_and(is_match) && all_match(rest, &path[1..])
        }
    }
}

fn characters_match(pattern: &[u8], text: &[u8]) -> bool {
    match pattern {
        [] => text.is_empty(),
        [b'*', rest @ ..] => {
            (0..=text.len()).any(|skipped| characters_match(rest, &text[skipped..]))
        }
        [first, rest @ ..] => text.first() == Some(first) && characters_match(rest, &text[1..]),
    }
}

fn plain_decision(
    rules: &[Plain],
    first_line: u32,
    identity: &str,
    operation: Operation,
    path: &str,
) -> Decision {
    for (rule, line) in rules.iter().zip(first_line..) {
        if !rule.is_for(identity) || !rule.is_about(operation) {
            continue;
        }
        let is_match =
            operation.is_of_server() || all_match(&components(&rule.path), &components(path));
        if is_match {
            return Decision {
                is_allowed: rule.is_allow,
                line: Some(line),
            };
        }
    }
    Decision {
        is_allowed: false,
        line: None,
    }
}

#[test]
fn the_index_finds_the_first_rule() {
    // [RULE-1] [RULE-2]
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let seed = match std::env::var("IW_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => now.as_nanos() as u64 | 1,
    };
    println!("IW_SEED={seed}");
    let mut numbers = Numbers(seed);
    let (mut allowed, mut reached) = (0, 0);
    for _ in 0..1500 {
        let count = 1 + numbers.below(14);
        let rules: Vec<Plain> = (0..count).map(|_| numbers.rule()).collect();
        let mut file: String = GROUPS.iter().map(|(line, _)| format!("{line}\n")).collect();
        file.extend(rules.iter().map(Plain::line));
        file += "end\n";
        let parsed = Rules::parse(&file).unwrap();
        for _ in 0..60 {
            let identity = IDENTITIES[numbers.below(IDENTITIES.len())];
            let operation = Operation::ALL[numbers.below(Operation::ALL.len())];
            let path = match operation.is_of_server() {
                true => String::new(),
                false => numbers.path(&IN_PATHS),
            };
            let expected = plain_decision(&rules, 4, identity, operation, &path);
            let found = parsed.decide(&Identity::parse(identity).unwrap(), operation, &path);
            assert_eq!(found, expected, "{identity} {operation} {path} by\n{file}");
            allowed += u32::from(found.is_allowed);
            if operation.is_of_server() {
                continue;
            }
            let identity = Identity::parse(identity).unwrap();
            let (found, reach) = parsed.decide_with_reach(&identity, operation, &path);
            assert_eq!(found, expected, "{identity} {operation} {path} by\n{file}");
            let Some(reach) = reach else {
                continue;
            };
            assert!(path.starts_with(reach) && reach.ends_with('/'), "{reach}");
            // A decision about one path of the folder holds for others.
            let other = format!("{}{}", &reach[..reach.len() - 1], numbers.path(&IN_PATHS));
            let found = parsed.decide(&identity, operation, &other);
            assert_eq!(found, expected, "{identity} {operation} {other} by\n{file}");
            reached += u32::from(other != path);
        }
    }
    // The test sees both answers.
    assert!((2_000..80_000).contains(&allowed), "{allowed}");
    assert!(reached > 10_000, "{reached}");
}
