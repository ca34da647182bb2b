//! Segments that damage has stopped, and a store that is gone.

use super::durability::{found, full, restarted};
use super::*;

#[test]
fn a_damaged_segment_is_stopped_and_the_others_served() {
    let mut before = World::new(true);
    let (mut segment, _) = found(&mut before, false, Durability::Synced);
    segment.damage = Some("log-1.iwl, byte 99: a bad checksum".to_string());
    let (mut world, remarks) = restarted(segment);
    assert_eq!(remarks.len(), 1);
    world.hello(1);
    let answer = world.ask(1, open("/list", Durability::Synced));
    assert_eq!(answer.error(), ErrorCode::Damaged);
    let text = answer.body::<ErrorReply>().text;
    assert!(text.contains("byte 99"), "{text}");
    world.open(1, "/other", Durability::Synced);
}

#[test]
fn log_12_while_a_damaged_segment_has_no_name_nothing_is_made_in_its_place() {
    let mut before = World::new(true);
    let (mut segment, _) = found(&mut before, false, Durability::Synced);
    segment.path = String::new();
    segment.damage = Some("log-1.iwl, byte 99: a bad checksum".to_string());
    let id = segment.segment_id;
    let (mut world, remarks) = restarted(segment);
    assert!(
        remarks[0].contains(&format!("/.damaged/{id}")),
        "{remarks:?}"
    );
    world.hello(1);
    let refused = world.ask(1, open("/list", Durability::Synced));
    assert_eq!(refused.error(), ErrorCode::Damaged);
    let text = refused.body::<ErrorReply>().text;
    assert!(text.contains(&format!("/.damaged/{id}")), "{text}");
    assert_eq!(world.engine.health().damaged, 1);
    let removing = world.send(
        1,
        Request::RemoveSegment(RemoveSegment {
            path: format!("/.damaged/{id}"),
        }),
    );
    world.store_all();
    assert_eq!(world.answer(removing).type_, MessageType::Done);
    assert_eq!(world.engine.health().damaged, 0);
    world.open(1, "/list", Durability::Synced);
}

#[test]
fn log_12_each_damaged_segment_without_a_name_is_to_be_removed() {
    let mut before = World::new(true);
    let (mut first, _) = found(&mut before, false, Durability::Synced);
    first.path = String::new();
    first.damage = Some("log-1.iwl, byte 99: a bad checksum".to_string());
    let mut second = first.clone();
    second.segment_id = 2;
    let mut world = World::with(Config {
        stored: true,
        first_fence: FIRST_FENCE + (1 << 32),
        ..Config::default()
    });
    world.engine.recover(0, vec![first, second]);
    world.drain();
    world.hello(1);
    for id in [1, 2] {
        let refused = world.ask(1, open("/list", Durability::Synced));
        assert_eq!(refused.error(), ErrorCode::Damaged, "{id}");
        let path = format!("/.damaged/{id}");
        let removing = world.send(1, Request::RemoveSegment(RemoveSegment { path }));
        world.store_all();
        assert_eq!(world.answer(removing).type_, MessageType::Done);
    }
    world.open(1, "/list", Durability::Synced);
}

#[test]
fn damage_that_is_found_while_a_segment_is_removed_outlasts_the_failed_removal() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    let grant = world.lock(1, segment);
    world.release(1, segment, &grant, 1);
    let path = "/list".to_string();
    let removing = world.send(1, Request::RemoveSegment(RemoveSegment { path }));
    let damage = StoreError::Damaged {
        file: "log-1.iwl".to_string(),
        offset: 99,
        what: "a bad checksum".to_string(),
    };
    let release = world.asked.remove(0);
    world.stored(&release, Err(damage));
    let removal = world.asked.remove(0);
    world.stored(&removal, full());
    assert_eq!(world.answer(removing).error(), ErrorCode::StoreFull);
    let again = world.ask(1, open("/list", Durability::Synced));
    assert_eq!(again.error(), ErrorCode::Damaged);
    assert_eq!(world.engine.health().damaged_paths, ["/list"]);
}

#[test]
fn damage_that_a_release_finds_is_told_by_health() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    let grant = world.lock(1, segment);
    let releasing = world.release(1, segment, &grant, 1);
    let damage = StoreError::Damaged {
        file: "log-1.iwl".to_string(),
        offset: 99,
        what: "a bad checksum".to_string(),
    };
    let release = world.asked.remove(0);
    world.stored(&release, Err(damage));
    assert_eq!(world.answer(releasing).error(), ErrorCode::Damaged);
    assert_eq!(world.engine.health().damaged_paths, ["/list"]);
}

#[test]
fn store_4_a_server_stops_when_its_store_is_gone_and_not_when_it_refuses() {
    let text = || "of the test".to_string();
    let remaining = [
        StoreError::Full(text()),
        StoreError::Io(text()),
        StoreError::Closed,
    ];
    let gone = [
        StoreError::Fenced(text()),
        StoreError::SegmentsFenced(vec![1]),
        StoreError::Unknown(text()),
        StoreError::Ended(text()),
    ];
    let lost = |why: &StoreError| {
        let mut world = World::new(true);
        world.engine.store_stopped(why.clone());
        world.engine.lost_store().cloned()
    };
    assert!(remaining.iter().all(|why| lost(why).is_none()));
    assert!(gone.iter().all(|why| lost(why).as_ref() == Some(why)));
}
