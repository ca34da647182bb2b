//! How much an identity may use: [LIM-1..6].

use super::access::{access, certified, enter};
use super::*;
use interweave_store::RecoveredSegment;
use interweave_wire::Fields;

/// A world whose rules allow everything, with these limits.
fn limited(limits: &str) -> World {
    let mut world = World::new(false);
    let rules = format!("{limits}\nallow * all /**\nend\n");
    world.engine.set_access(world.now_ns(), access(&rules));
    world
}

fn greet(world: &mut World, connection: u64, name: &str, session: SessionId) -> Sent {
    let now_ns = world.now_ns();
    let id = session_of(connection);
    world
        .engine
        .connected(now_ns, connection, id, certified(name));
    world.ask(connection, Request::Hello(hello(session)))
}

fn text(sent: &Sent) -> String {
    let known = from_bytes::<ErrorReply>(&sent.body).map(|reply| reply.text);
    known.unwrap_or_else(|_| sent.body::<PlainError>().text)
}

#[test]
fn lim_1_a_connection_beyond_the_limit_is_refused_until_another_one_is_gone() {
    let mut world = limited("limit cert:a connections 2");
    let first = enter(&mut world, 1, "a");
    enter(&mut world, 2, "a");
    enter(&mut world, 3, "b");
    let refused = greet(&mut world, 4, "a", [0; 16]);
    assert_eq!(refused.error(), ErrorCode::TooLarge);
    for part in ["cert:a", "line 1", "2 connections"] {
        assert!(text(&refused).contains(part), "[LIM-3] {}", text(&refused));
    }
    assert_eq!(world.closed, [4]);
    // One that takes the place of another does not count.
    let resumed = greet(&mut world, 5, "a", first.session).body::<Welcome>();
    assert!(resumed.resumed);
    assert_eq!(
        greet(&mut world, 6, "a", [0; 16]).error(),
        ErrorCode::TooLarge
    );
    world.engine.disconnected(world.now_ns(), 2);
    world.drain();
    let welcome = greet(&mut world, 7, "a", [0; 16]);
    assert_eq!(welcome.type_, MessageType::Welcome);
    // A connection that never said hello counted for nobody.
    assert_eq!(
        greet(&mut world, 8, "a", [0; 16]).error(),
        ErrorCode::TooLarge
    );
}

#[test]
fn lim_2_segments_and_their_quotas_are_bounded_by_who_made_them() {
    let mut world = limited("limit * segments 2\nlimit cert:b bytes 100M");
    enter(&mut world, 1, "a");
    enter(&mut world, 2, "b");
    world.open(1, "/1", Durability::Memory);
    world.open(1, "/2", Durability::Memory);
    let refused = world.ask(1, open("/3", Durability::Memory));
    assert_eq!(refused.error(), ErrorCode::TooLarge);
    assert!(text(&refused).contains("2 segments"), "{}", text(&refused));
    // To open one of another is allowed, and whoever removes it makes room for its creator.
    world.open(2, "/1", Durability::Memory);
    let remove = Request::RemoveSegment(RemoveSegment {
        path: "/1".to_string(),
    });
    assert_eq!(world.ask(2, remove).type_, MessageType::Done);
    world.open(1, "/3", Durability::Memory);

    let of_bytes = |path: &str, quota_bytes| {
        let Request::OpenSegment(mut request) = open(path, Durability::Memory) else {
            unreachable!("open makes an OPEN_SEGMENT");
        };
        request.quota_bytes = quota_bytes;
        Request::OpenSegment(request)
    };
    // A segment whose creator asks for no quota has the server's.
    let refused = world.ask(2, of_bytes("/b", 0));
    assert_eq!(refused.error(), ErrorCode::Quota);
    let made = world.ask(2, of_bytes("/b", 60 << 20));
    assert_eq!(made.type_, MessageType::SegmentOpened);
    let refused = world.ask(2, of_bytes("/c", 41 << 20));
    assert_eq!(refused.error(), ErrorCode::Quota);
    assert!(text(&refused).contains("line 2"), "{}", text(&refused));
    let made = world.ask(2, of_bytes("/c", 40 << 20));
    assert_eq!(made.type_, MessageType::SegmentOpened);
}

#[test]
fn lim_2_a_segment_that_the_store_refuses_does_not_count() {
    let mut world = World::with(Config {
        stored: true,
        first_fence: FIRST_FENCE,
        ..Config::default()
    });
    let rules = "limit * segments 1\nallow * all /**\nend\n";
    world.engine.set_access(world.now_ns(), access(rules));
    enter(&mut world, 1, "a");
    for _ in 0..2 {
        let stream = world.send(1, open("/x", Durability::Synced));
        let asked = world.asked.remove(0);
        world.stored(&asked, Err(StoreError::Full("no space".into())));
        assert_eq!(world.answer(stream).error(), ErrorCode::StoreFull);
    }
}

#[test]
fn lim_5_too_many_releases_make_the_connections_of_their_identity_rest() {
    let mut world = limited("limit cert:a releases 2");
    enter(&mut world, 1, "a");
    enter(&mut world, 2, "a");
    enter(&mut world, 3, "b");
    let segment = world.open(1, "/x", Durability::Memory);
    world.open(3, "/x", Durability::Memory);
    let rest = |world: &mut World, connection| {
        let now_ns = world.now_ns();
        world.engine.rest_ns(now_ns, connection)
    };
    for sequence in 1..=3 {
        assert_eq!(rest(&mut world, 1), 0);
        world.write(1, segment, sequence);
    }
    let rests = rest(&mut world, 1);
    assert!((490_000_000..=500_000_001).contains(&rests), "{rests}");
    assert_eq!(rest(&mut world, 2), rests, "another connection of it");
    world.write(3, segment, 1);
    assert_eq!(rest(&mut world, 3), 0, "another identity");
    world.pass(501);
    assert_eq!(rest(&mut world, 1), 0);
}

#[test]
fn lim_5_bytes_that_come_and_go_make_a_connection_rest_for_a_quarter_of_a_lease_at_most() {
    let mut world = limited("limit cert:a rate 1M");
    enter(&mut world, 1, "a");
    let now_ns = world.now_ns();
    world.engine.carried(now_ns, 1, 1 << 20);
    assert_eq!(world.engine.rest_ns(now_ns, 1), 0, "a second at once");
    world.engine.carried(now_ns, 1, 1 << 19);
    let rests = world.engine.rest_ns(now_ns, 1);
    assert!((499_000_000..=500_000_001).contains(&rests), "{rests}");
    world.engine.carried(now_ns, 1, 1 << 30);
    let most_ns = u64::from(LEASE_MS) * 1_000_000 / 4;
    let rests = world.engine.rest_ns(now_ns, 1);
    assert!(rests <= most_ns && rests > most_ns * 9 / 10, "{rests}");
}

#[test]
fn lim_6_new_limits_hold_for_what_comes_then() {
    let mut world = limited("");
    for connection in 1..=3 {
        enter(&mut world, connection, "a");
    }
    let now_ns = world.now_ns();
    let rules = "limit * connections 2\nallow * all /**\nend\n";
    world.engine.set_access(now_ns, access(rules));
    world.drain();
    assert!(world.closed.is_empty());
    assert_eq!(
        greet(&mut world, 4, "a", [0; 16]).error(),
        ErrorCode::TooLarge
    );
    for connection in 2..=3 {
        world.engine.disconnected(now_ns, connection);
    }
    let welcome = greet(&mut world, 5, "a", [0; 16]);
    assert_eq!(welcome.type_, MessageType::Welcome);
}

/// A server that starts with these segments.
fn started_with(found: Vec<RecoveredSegment>, rules: &str) -> World {
    let mut world = World::with(Config {
        stored: true,
        first_fence: FIRST_FENCE,
        ..Config::default()
    });
    world.engine.recover(world.now_ns(), found);
    let rules = format!("{rules}\nallow * all /**\nend\n");
    world.engine.set_access(world.now_ns(), access(&rules));
    world.drain();
    world.store_all();
    world
}

fn segment_of(id: u64, path: &str, creator: Option<IdentityField>) -> RecoveredSegment {
    RecoveredSegment {
        segment_id: id,
        epoch: FIRST_FENCE >> 32,
        path: path.to_string(),
        durable: Durability::Synced,
        quota_bytes: 1 << 20,
        creator: creator.map(Box::new),
        incarnation: 1,
        checkpoint: None,
        pieces: Vec::new(),
        releases: Vec::new(),
        serials_below: 1 << 20,
        clean: true,
        damage: None,
    }
}

fn certificate(name: &str) -> Option<IdentityField> {
    Some(IdentityField {
        scheme: "cert".to_string(),
        name: name.to_string(),
    })
}

/// Has the segment made, and returns who made it, as the store was told.
fn made_in_store(world: &mut World, connection: u64, path: &str) -> Option<IdentityField> {
    world.send(connection, open(path, Durability::Synced));
    let Some(Asked::Append(_, group, _)) = world.asked.first() else {
        panic!("a creation was due: {:?}", world.asked);
    };
    let fields = Fields::of(&group[0].fields).unwrap();
    let creator = fields.get(FieldKey::Identity).unwrap();
    assert!(group[1..].iter().all(|record| record.fields.is_empty()));
    world.store_all();
    creator
}

fn remove(world: &mut World, connection: u64, path: &str) {
    let path = path.to_string();
    let stream = world.send(connection, Request::RemoveSegment(RemoveSegment { path }));
    world.store_all();
    assert_eq!(world.answer(stream).type_, MessageType::Done);
}

#[test]
fn lim_4_a_segment_counts_for_its_maker_also_after_a_start() {
    let rules = "limit * segments 2";
    let mut world = started_with(Vec::new(), rules);
    enter(&mut world, 1, "a");
    enter(&mut world, 2, "b");
    let found = vec![
        segment_of(1, "/1", made_in_store(&mut world, 1, "/1")),
        segment_of(2, "/2", made_in_store(&mut world, 1, "/2")),
    ];
    assert!(found[0].creator.is_some());
    let mut world = started_with(found, rules);
    enter(&mut world, 1, "a");
    enter(&mut world, 2, "b");
    let refused = world.ask(1, open("/3", Durability::Synced));
    assert_eq!(refused.error(), ErrorCode::TooLarge, "before a removal");
    // A removal by another client makes room for the maker.
    remove(&mut world, 2, "/1");
    made_in_store(&mut world, 1, "/3");
    let refused = world.ask(1, open("/4", Durability::Synced));
    assert_eq!(refused.error(), ErrorCode::TooLarge);
}

#[test]
fn lim_4_quotas_of_before_the_start_count() {
    let found = (1..=3).map(|id| segment_of(id, &format!("/{id}"), certificate("b")));
    let mut world = started_with(found.collect(), "limit * bytes 4M");
    enter(&mut world, 1, "b");
    let of_bytes = |path: &str, quota_bytes| {
        let Request::OpenSegment(mut request) = open(path, Durability::Memory) else {
            unreachable!("open makes an OPEN_SEGMENT");
        };
        request.quota_bytes = quota_bytes;
        Request::OpenSegment(request)
    };
    let refused = world.ask(1, of_bytes("/4", (1 << 20) + 1));
    assert_eq!(refused.error(), ErrorCode::Quota);
    let made = world.ask(1, of_bytes("/4", 1 << 20));
    assert_eq!(made.type_, MessageType::SegmentOpened);
}

#[test]
fn lim_4_a_damaged_segment_counts_until_it_is_removed() {
    let mut found = segment_of(1, "/1", certificate("a"));
    found.damage = Some("a hole".to_string());
    let mut world = started_with(vec![found], "limit * segments 1");
    enter(&mut world, 1, "a");
    let refused = world.ask(1, open("/2", Durability::Memory));
    assert_eq!(refused.error(), ErrorCode::TooLarge);
    remove(&mut world, 1, "/1");
    world.open(1, "/2", Durability::Memory);
}

#[test]
fn lim_4_a_segment_whose_maker_is_not_known_counts_for_nobody() {
    let unknown = IdentityField {
        scheme: "of a later server".to_string(),
        name: "a".to_string(),
    };
    let found = vec![
        segment_of(1, "/before", None),
        segment_of(2, "/later", Some(unknown)),
    ];
    let mut world = started_with(found, "limit * segments 1");
    enter(&mut world, 1, "a");
    world.open(1, "/before", Durability::Synced);
    world.open(1, "/new", Durability::Memory);
    remove(&mut world, 1, "/before");
    let refused = world.ask(1, open("/more", Durability::Memory));
    assert_eq!(refused.error(), ErrorCode::TooLarge);
}

/// The server tells the store of a MEMORY segment again, because the store has failed before.
#[test]
fn log_20_a_creation_that_is_told_again_and_a_checkpoint_say_the_maker() {
    let mut world = started_with(Vec::new(), "limit * segments 1");
    enter(&mut world, 1, "a");
    let stream = world.send(1, open("/x", Durability::Memory));
    let asked = world.asked.remove(0);
    world.stored(&asked, Err(StoreError::Full("no space".into())));
    let segment = world.answer(stream).body::<SegmentOpened>().segment;
    world.write(1, segment, 1);
    let now_ns = world.now_ns();
    world.engine.store_looked_at(now_ns, &[], &[]);
    world.drain();
    let Some(Asked::Append(_, group, _)) = world.asked.first() else {
        panic!("the creation was due again: {:?}", world.asked);
    };
    let creator = |fields: &[HeaderField]| {
        let fields = Fields::of(fields).unwrap();
        fields.get::<IdentityField>(FieldKey::Identity).unwrap()
    };
    assert_eq!(creator(&group[0].fields), certificate("a"));
    world.store_all();
    world.engine.stop(world.now_ns());
    world.engine.save_and_part(world.now_ns());
    world.drain();
    let Some(Asked::Checkpoint(_, checkpoint)) = world.asked.first() else {
        panic!("a checkpoint was due: {:?}", world.asked);
    };
    assert_eq!(creator(&checkpoint.head.fields), certificate("a"));
}
