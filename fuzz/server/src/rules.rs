//! Rules files: whatever the bytes are, an error points into the file; a file that is taken decides
//! by its own lines, and is not taken once its end is gone [RULE-3].

use crate::file_error;
use interweave_access::{Identity, Operation, Rules};

pub fn run(data: &[u8]) {
    let rules = match Rules::parse(data) {
        Ok(rules) => rules,
        Err(error) => return file_error::check(data, &error),
    };
    let text = std::str::from_utf8(data).expect("what was taken is text");
    let shifted = Rules::parse(format!("# one line more\n{text}"));
    for (identity, path) in asked(text) {
        for operation in Operation::ALL {
            let path = if operation.is_of_server() { "" } else { &path };
            let decision = rules.decide(&identity, operation, path);
            let Some(line) = decision.line else {
                assert!(!decision.is_allowed, "no rule allows it");
                continue;
            };
            let rule = text
                .lines()
                .nth(line as usize - 1)
                .expect("a line of the file");
            let word = if decision.is_allowed { "allow" } else { "deny" };
            assert_eq!(
                rule.split([' ', '\t']).find(|word| !word.is_empty()),
                Some(word)
            );
            if let Ok(shifted) = &shifted {
                let below = shifted.decide(&identity, operation, path);
                assert_eq!(
                    (below.is_allowed, below.line),
                    (decision.is_allowed, Some(line + 1))
                );
            }
        }
    }
    let is_end = |line: &&str| line.trim_start_matches([' ', '\t']).starts_with("end");
    let above = text.lines().rev().skip_while(|line| !is_end(line)).skip(1);
    let mut above: Vec<&str> = above.collect();
    above.reverse();
    assert!(
        Rules::parse(above.join("\n")).is_err(),
        "a file without its end"
    );
    assert!(
        Rules::parse(format!("{text}\nend")).is_err(),
        "a file with two ends"
    );
}

/// The identities and paths that the file names, so that its rules match.
fn asked(text: &str) -> Vec<(Identity, String)> {
    let words = || text.split([' ', '\t', '\n']).take(400);
    let mut paths: Vec<String> = words()
        .filter(|word| word.starts_with('/'))
        .map(|path| path.replace("**", "x/yy").replace('*', "z"))
        .take(6)
        .collect();
    paths.push("/".to_string());
    let mut identities: Vec<Identity> = words().filter_map(Identity::parse).take(6).collect();
    identities.push(Identity::Anyone);
    let pairs = |identity: &Identity| {
        let of = |path: &String| (identity.clone(), path.clone());
        paths.iter().map(of).collect::<Vec<_>>()
    };
    identities.iter().flat_map(pairs).collect()
}
