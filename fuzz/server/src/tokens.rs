//! Tokens files: whatever the bytes are, an error points into the file; a file that is taken says
//! the same when its lines are written again, and is not taken once its end is gone [RULE-3].

use crate::file_error;
use interweave_access::Tokens;
use std::fmt::Write;

pub fn run(data: &[u8]) {
    let tokens = match Tokens::parse(data, 0) {
        Ok(tokens) => tokens,
        Err(error) => return file_error::check(data, &error),
    };
    let mut again = String::new();
    for line in tokens.lines() {
        writeln!(again, "{line}").expect("a string takes it");
    }
    assert!(Tokens::parse(&again, 0).is_err(), "a file without its end");
    again += "end\n";
    let same = Tokens::parse(&again, 0).expect("its own lines");
    assert_eq!(same.lines(), tokens.lines());
    let mut now = 0;
    while let Some(next) = tokens.without_expired(now).next_expiry() {
        assert!(next > now, "time passes");
        now = next;
    }
    let expiries = tokens.lines().iter().map(|line| line.expires);
    assert_eq!(now, expiries.max().unwrap_or(0));
}
