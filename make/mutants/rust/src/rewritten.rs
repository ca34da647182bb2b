//! A source with its changes, each behind a switch.
//!
//! `a < b` becomes `(if crate::mutants::is(7) {/*7*/(a) <= (b)/**/} else {(a) < (b)})`. What is
//! changed stands between `/*7*/` and `/**/` and has no other change in it, so that a place where
//! the compiler complains belongs to one change, and the text grows with the depth only.

use std::collections::BTreeSet;

use crate::changes::{Change, Kind};

/// Text that is put in before a byte of the source. At one place, what ends comes before what
/// begins, and an inner change ends before an outer one.
struct Insertion {
    at: usize,
    order: (bool, i64),
    text: String,
}

/// The changes have numbers from `first`. Those of `without` are not there.
pub fn with_switches(
    source: &str,
    changes: &[Change],
    first: u32,
    without: &BTreeSet<u32>,
) -> String {
    let mut insertions = Vec::new();
    for (number, change) in (first..).zip(changes) {
        if !without.contains(&number) {
            insert(&mut insertions, source, number, change);
        }
    }
    insertions.sort_by_key(|insertion| (insertion.at, insertion.order));
    let (mut text, mut reached) = (String::new(), 0);
    for insertion in insertions {
        text += &source[reached..insertion.at];
        text += &insertion.text;
        reached = insertion.at;
    }
    text + &source[reached..]
}

fn insert(insertions: &mut Vec<Insertion>, source: &str, number: u32, change: &Change) {
    let mut begin = |at, text| {
        let order = (true, i64::from(number));
        insertions.push(Insertion { at, order, text });
    };
    match &change.kind {
        Kind::Returns { at, value } => {
            let text =
                format!("if crate::mutants::is({number}) {{/*{number}*/return {value};/**/}} ");
            begin(*at, text);
        }
        Kind::Operator { left, right, new } => {
            let (old_left, old_right) = (&source[left.clone()], &source[right.clone()]);
            let changed = format!("({old_left}) {new} ({old_right})");
            begin(left.start, format!("{}(", switch(number, &changed)));
            begin(right.start, "(".to_owned());
            end(insertions, left.end, number, ")");
            end(insertions, right.end, number, ")})");
        }
        Kind::Negation { whole, operand } => {
            begin(whole.start, switch(number, &source[operand.clone()]));
            end(insertions, whole.end, number, "})");
        }
    }
}

fn end(insertions: &mut Vec<Insertion>, at: usize, number: u32, text: &str) {
    let order = (false, -i64::from(number));
    let text = text.to_owned();
    insertions.push(Insertion { at, order, text });
}

fn switch(number: u32, changed: &str) -> String {
    format!("(if crate::mutants::is({number}) {{/*{number}*/{changed}/**/}} else {{")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes;

    fn rewritten(source: &str, without: &[u32]) -> String {
        let without = without.iter().copied().collect();
        with_switches(source, &changes::of(source).unwrap(), 1, &without)
    }

    #[test]
    fn a_change_within_another_stands_where_the_other_is_off() {
        let source = "fn f() -> T { a + 1 < b }";
        let inner = "(if crate::mutants::is(2) {/*2*/(a) - (1)/**/} else {(a) + (1)})";
        let whole = "(if crate::mutants::is(1) {/*1*/(a + 1) <= (b)/**/} else {(INNER) < (b)})";
        let expected = format!("fn f() -> T {{ {} }}", whole.replace("INNER", inner));
        assert_eq!(rewritten(source, &[]), expected);
    }

    #[test]
    fn a_change_that_is_left_out_leaves_the_other_its_number() {
        let source = "fn f() -> T { a + 1 < b }";
        let expected =
            "fn f() -> T { (if crate::mutants::is(2) {/*2*/(a) - (1)/**/} else {(a) + (1)}) < b }";
        assert_eq!(rewritten(source, &[1]), expected);
        assert_eq!(rewritten(source, &[1, 2]), source);
    }

    #[test]
    fn what_a_function_returns_comes_before_its_body() {
        let expected = "fn f() -> bool {if crate::mutants::is(1) {/*1*/return true;/**/} \
                        if crate::mutants::is(2) {/*2*/return false;/**/} \
                        (if crate::mutants::is(3) {/*3*/a/**/} else {!a})}";
        assert_eq!(rewritten("fn f() -> bool {!a}", &[]), expected);
    }

    #[test]
    fn the_result_is_rust() {
        let source = "fn f(a: u8) -> bool { if !(a & 1 == 0 || a > 2 // comment\n && a < 9) {} }";
        syn::parse_file(&rewritten(source, &[])).unwrap();
    }
}
