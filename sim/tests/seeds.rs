//! Runs are repeated exactly, and the first seeds find nothing.

use interweave_sim::{run, Outcome, Plan};

/// Returns the outcome of both.
fn two_runs(plan: &Plan) -> Outcome {
    let seed = plan.seed;
    let (first, second) = (run(plan, false), run(plan, true));
    assert_eq!(first.violation, None, "seed {seed}");
    assert_eq!(
        (first.hash, first.events),
        (second.hash, second.events),
        "seed {seed}"
    );
    first
}

#[test]
fn two_runs_of_a_seed_are_the_same_and_break_no_promise() {
    for seed in 1..=6 {
        let outcome = two_runs(&Plan::of(seed));
        assert!(outcome.counts.releases > 0, "seed {seed} releases nothing");
    }
}

#[test]
fn two_seeds_are_not_the_same() {
    let hash = |seed| run(&Plan::of(seed), false).hash;
    assert_ne!(hash(1), hash(2));
}

#[test]
fn two_runs_of_a_space_are_the_same_and_break_no_promise() {
    for seed in 1..=12 {
        let outcome = two_runs(&Plan::space(seed));
        assert!(outcome.counts.releases > 0, "seed {seed} releases nothing");
    }
}

#[test]
fn two_runs_of_moves_are_the_same_and_break_no_promise() {
    for seed in 1..=4 {
        let outcome = two_runs(&Plan::moves(seed));
        let given = outcome.counts.events.get("a segment is given");
        assert!(given.is_some(), "seed {seed} moves nothing");
    }
}
