//! Each request is answered, once, and in order.

use super::{ensure, heard, Case, Held, Owner};
use crate::place::{Ability, Crash, Make};
use crate::records::{create, serials, small};
use interweave_store::StoreError;
use interweave_wire::protocol::Durability::Synced;
use std::sync::mpsc::channel;

pub const CASES: &[Case] = &[
    Case {
        name: "answers come in the order of the appends",
        promises: "STORE-2",
        needs: &[],
        run: in_order,
    },
    Case {
        name: "a close answers all that was asked before",
        promises: "STORE-10",
        needs: &[],
        run: a_close_answers,
    },
    Case {
        name: "a close does what was asked before",
        promises: "STORE-10 STORE-2",
        needs: &[Ability::Keep],
        run: a_close_keeps,
    },
    Case {
        name: "an append that a crash meets is answered",
        promises: "STORE-10",
        needs: &[Ability::Hold, Ability::Crash],
        run: a_crash_answers,
    },
];

fn in_order(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1])?;
    let (said, answers) = channel();
    for number in 0..100u64 {
        let said = said.clone();
        let done = move |_: Result<(), StoreError>| said.send(number).unwrap_or(());
        // The store refuses every third one, because the segment exists.
        let record = match number % 3 {
            0 => create(1, Synced),
            _ => serials(1, number),
        };
        owner.store.append(vec![record], Synced, Box::new(done));
    }
    drop(said);
    for expected in 0..100 {
        let number = answers.recv_timeout(super::PATIENCE);
        ensure(number == Ok(expected), || {
            format!("answer {expected} was that of request {number:?}")
        })?;
    }
    ensure(answers.recv_timeout(super::PATIENCE).is_err(), || {
        "a request was answered twice".to_string()
    })
}

fn a_close_answers(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1])?;
    let append = |version| owner.append(vec![small(1, version, 0)], Synced);
    let answers: Vec<_> = (1..=20).map(append).collect();
    owner.store.close(false).map_err(|e| e.to_string())?;
    for answer in answers {
        heard(&answer)?.map_err(|e| format!("an append before the close was refused: {e}"))?;
    }
    Ok(())
}

fn a_close_keeps(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1])?;
    let expected: Vec<_> = (1..=20).map(|version| small(1, version, 0)).collect();
    for record in &expected {
        drop(owner.append(vec![record.clone()], Synced));
    }
    owner.store.close(true).map_err(|e| e.to_string())?;
    Owner::open(&*place)?.has(1, &expected)
}

fn a_crash_answers(make: Make<'_>) -> Held {
    for step in 0..make().steps() {
        let place = make();
        let owner = Owner::with(&*place, &[1])?;
        let (_held, answer) = owner.held(&*place, step, vec![small(1, 1, 0)])?;
        let behind = owner.append(vec![small(1, 2, 0)], Synced);
        place.crash(Crash::Process);
        drop(owner);
        for answer in [answer, behind] {
            // A channel without an answer breaks with the owner's thread. The caller takes that
            // for an error.
            let heard = answer.recv_timeout(super::PATIENCE);
            let is_open = heard == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
            ensure(!is_open, || "a request was never answered".to_string())?;
            ensure(heard != Ok(Ok(())), || {
                "an append that a crash met was acknowledged".to_string()
            })?;
        }
    }
    Ok(())
}
