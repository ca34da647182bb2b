//! The conformance suite on a real cluster.

use crate::place::PostgresPlace;
use interweave_postgres_cluster::Cluster;
use interweave_store_suite::{all, run_one, Ability, Outcome};
use std::sync::{Arc, Mutex, PoisonError};

/// Stops the cluster at the end of a test: the threads of proxies keep it alive.
pub struct Stopping(pub Arc<Mutex<Cluster>>);

impl Drop for Stopping {
    fn drop(&mut self) {
        let cluster = self.0.lock();
        cluster.unwrap_or_else(PoisonError::into_inner).stop();
    }
}

/// Asserts that every case holds, but for those that need one of these abilities.
fn check(can_lose_power: bool, lacking: &[Ability]) {
    let cluster = Arc::new(Mutex::new(Cluster::start()));
    let _stopping = Stopping(Arc::clone(&cluster));
    let make = || Box::new(PostgresPlace::new(Arc::clone(&cluster), can_lose_power)) as _;
    let only = std::env::var("IW_CASE").unwrap_or_default();
    let (mut missed, mut broken) = (0, Vec::new());
    for case in all().into_iter().filter(|case| case.name.contains(&only)) {
        let began = std::time::Instant::now();
        let outcome = run_one(&case, &make);
        println!(
            "{:6.2} s  {}: {outcome:?}",
            began.elapsed().as_secs_f64(),
            case.name
        );
        match outcome {
            Outcome::Held => {}
            Outcome::LeftOut(ability) if lacking.contains(&ability) => missed += 1,
            other => broken.push(format!("{} [{}]: {other:?}", case.name, case.promises)),
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(missed > 0 || lacking.is_empty() || !only.is_empty());
}

#[test]
fn every_promise_that_needs_no_loss_of_power() {
    check(false, &[Ability::LosePower]);
}

/// Each loss of power kills both nodes, and every second one has the standby take over.
#[test]
#[ignore = "takes minutes; make test-deep runs it"]
fn every_promise() {
    check(true, &[]);
}
