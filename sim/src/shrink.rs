//! Makes the plan of a run that failed shorter, as long as the run fails in the same way.

use crate::plan::Plan;
use crate::world::run;

/// The shortest plan that was found with so many runs.
pub fn shrink(plan: &Plan, most_runs: usize) -> Plan {
    let Some((_, first)) = run(plan, false).violation else {
        return plan.clone();
    };
    let fails = |plan: &Plan| {
        let violation = run(plan, false).violation;
        violation.is_some_and(|(_, violation)| violation.is_like(&first))
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
