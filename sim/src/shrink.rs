//! Makes the plan of a run that failed shorter, as long as the run fails in the same way.

use crate::history::Violation;
use crate::plan::Plan;
use crate::world::run;

/// The shortest plan that was found with so many runs, and that breaks the same promise.
pub fn shrink(plan: &Plan, broken: &Violation, most_runs: usize) -> Plan {
    let fails = |plan: &Plan| {
        let violation = run(plan, false).violation;
        violation.is_some_and(|(_, violation)| violation.is_like(broken))
    };
    let mut best = plan.clone();
    let mut part = best.events.len().div_ceil(2);
    let mut runs = 0;
    while part > 0 && runs < most_runs {
        let mut at = 0;
        let mut has_shrunk = false;
        while at < best.events.len() && runs < most_runs {
            let mut shorter = best.clone();
            let end = (at + part).min(shorter.events.len());
            shorter.events.drain(at..end);
            runs += 1;
            match fails(&shorter) {
                true => {
                    best = shorter;
                    has_shrunk = true;
                }
                false => at += part,
            }
        }
        part = match (part, has_shrunk) {
            (1, false) => 0,
            (1, true) => 1,
            _ => part.div_ceil(2),
        };
    }
    best
}
