//! Walks spec/vectors (its README says what they are): every good vector is decoded, its meaning
//! compared, and written back to the same bytes where there is one way to write it; every malformed
//! one is refused with the error that it names.
//!
//! A kind that is not decoded here stands in `NOT_HERE` with the reason, and a vector that fails in
//! `KNOWN_DEFECTS`; the walk fails if one of them works after all, and if there is a kind that is
//! neither decoded nor listed.

mod decode;
mod diff;
mod show;
mod units;
mod vector;

use vector::{load, Vector};

const NOT_HERE: &[(&str, &str)] = &[(
    "log-record",
    "the layout of records is the store room's; here is only the codec of their headers",
)];

/// Vectors, and what is wrong with the decoder.
const KNOWN_DEFECTS: &[(&str, &str)] = &[];

/// What is wrong; nothing if the vector is as it should be. A defect may be a panic.
fn problem_of(
    vector: &Vector,
    decoder: decode::Decoder,
    check: fn(&Vector, decode::Decoder) -> Option<String>,
) -> Option<String> {
    if !KNOWN_DEFECTS.iter().any(|(name, _)| *name == vector.name) {
        return check(vector, decoder);
    }
    match std::panic::catch_unwind(|| check(vector, decoder)) {
        Ok(None) => Some("is right now: take it off KNOWN_DEFECTS".to_string()),
        _ => None,
    }
}

fn walk(folder: &str, check: fn(&Vector, decode::Decoder) -> Option<String>) {
    let vectors = load(folder);
    assert!(
        vectors.len() > 100,
        "only {} vectors in {folder}",
        vectors.len()
    );
    let mut wrong = Vec::new();
    for vector in &vectors {
        let not_here = NOT_HERE.iter().find(|(kind, _)| *kind == vector.kind);
        let problem = match (decode::decoder(&vector.kind), not_here) {
            (Some(decoder), None) => problem_of(vector, decoder, check),
            (None, Some(_)) => None,
            (Some(_), Some(_)) => Some("is decoded now: take it off NOT_HERE".to_string()),
            (None, None) => Some(format!("nothing decodes the kind {}", vector.kind)),
        };
        wrong.extend(problem.map(|problem| format!("{}: {problem}", vector.name)));
    }
    assert!(
        wrong.is_empty(),
        "{} of {folder}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn good_vectors_mean_what_they_say() {
    walk("good", |vector, decoder| {
        let decoded = match decoder(vector) {
            Ok(decoded) => decoded,
            Err(refused) => return Some(format!("is refused: {refused}")),
        };
        let meaning = vector
            .member("meaning")
            .expect("a good vector has a meaning");
        if decoded.meaning != *meaning {
            return Some(format!("means {}\n  not {meaning}", decoded.meaning));
        }
        match decoded.bytes {
            Some(bytes) if bytes != vector.bytes() => Some(format!("is written as {bytes:02x?}")),
            _ => None,
        }
    });
}

#[test]
fn malformed_vectors_are_refused_with_their_error() {
    walk("malformed", |vector, decoder| match decoder(vector) {
        Ok(decoded) => Some(format!("is accepted as {}", decoded.meaning)),
        Err(refused) => {
            let right = Some(refused.code.name()) == vector.text("error");
            (!right).then(|| format!("is refused, but as {refused}"))
        }
    });
}
