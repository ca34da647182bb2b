//! The record of an incarnation that the store has refused comes later.

use super::moving::hand_over;
use super::space::{claimed, member, sought, PATH};
use super::*;
use interweave_store::StoreError;

fn away() -> Result<(), StoreError> {
    Err(StoreError::Away("the database is away".to_string()))
}

/// The kinds of the records that are appended together.
fn kinds(asked: &Asked) -> Vec<&'static str> {
    let Asked::Append(_, group, _) = asked else {
        panic!("{asked:?} is not an append");
    };
    let kind = |record: &Record| match record.body {
        LogBody::Incarnation(_) => "incarnation",
        LogBody::Release(_) => "release",
        _ => "another",
    };
    group.iter().map(kind).collect()
}

/// A member that has claimed a segment whose versions may be lost. Client 1 has it open, and 9 is
/// an operator; its number.
fn refused(world: &mut World) -> u32 {
    for connection in [1, 9] {
        world.hello(connection);
    }
    let opening = world.send(1, open(PATH, Durability::Written));
    sought(world, Ok(claimed(Durability::Written)));
    for asked in std::mem::take(&mut world.asked) {
        let begins = kinds(&asked) == ["incarnation"];
        world.stored(&asked, if begins { away() } else { Ok(()) });
    }
    world.answer(opening).body::<SegmentOpened>().segment
}

#[test]
fn log_7_a_release_brings_the_record_along() {
    let mut world = member();
    let number = refused(&mut world);
    for (sequence, is_kept, wanted) in [
        (1, false, &["incarnation", "release"][..]),
        (2, true, &["incarnation", "release"]),
        (3, true, &["release"]),
    ] {
        let grant = world.lock(1, number);
        let releasing = world.release(1, number, &grant, sequence);
        let asked = world.asked.remove(0);
        assert_eq!(kinds(&asked), wanted);
        world.stored(&asked, if is_kept { Ok(()) } else { away() });
        match is_kept {
            true => assert_eq!(world.answer(releasing).type_, MessageType::WriterReleased),
            false => assert_eq!(world.answer(releasing).error(), ErrorCode::StoreAway),
        }
        let abort = AbortWriter {
            segment: number,
            fence: grant.fence,
        };
        world.send(1, Request::AbortWriter(abort));
    }
}

#[test]
fn space_19_a_hand_over_brings_the_record_along() {
    let mut world = member();
    let number = refused(&mut world);
    let handing = world.send(9, hand_over(10_000));
    let asked = world.asked.remove(0);
    assert_eq!(kinds(&asked), ["incarnation"]);
    assert!(world.gives.is_empty(), "the next owner would not know it");
    world.stored(&asked, away());
    assert_eq!(world.answer(handing).error(), ErrorCode::StoreAway);
    world.send(9, hand_over(10_000));
    let asked = world.asked.remove(0);
    world.stored(&asked, Ok(()));
    assert_eq!(world.gives.len(), 1);
    assert_eq!(world.gives[0].0, number);
}
