//! What the server says of itself: counters, sums over segments, who is there.

use super::super::statistics::{Counters, Totals};
use super::access::{access, enter};
use super::notifications::subscribe;
use super::*;
use interweave_access::Identity;
use std::ops::Bound;

/// The counters that grew since `before`, which becomes now.
fn grown(world: &World, before: &mut Counters) -> Vec<String> {
    let now = world.engine.statistics().counters;
    let lines = |counters: &Counters| -> Vec<(String, u64)> {
        let text = format!("{counters:#?}");
        let lines = text.lines().filter_map(|line| line.split_once(": "));
        let number = |text: &str| text.trim_end_matches(',').parse().expect("a number");
        lines
            .map(|(name, value)| (name.trim().to_string(), number(value)))
            .collect()
    };
    let both = lines(before).into_iter().zip(lines(&now));
    let grown = both.filter(|((_, old), (_, new))| old != new);
    let grown = grown.map(|((name, old), (_, new))| format!("{name} {}", new.wrapping_sub(old)));
    *before = now;
    grown.collect()
}

#[test]
fn releases_and_what_follows_from_them_are_counted() {
    let mut world = World::new(true);
    let mut counters = Counters::default();
    let segment = world.clients(3, Durability::Synced);
    assert_eq!(
        grown(&world, &mut counters),
        ["connections 3", "requests 6"]
    );
    let grant = world.lock(1, segment);
    let bytes = int_diff(&grant, 7).len();
    let granted = grown(&world, &mut counters);
    assert_eq!(granted[..2], ["requests 1", "grants 1"]);

    subscribe(&mut world, 2, segment, 1 << 20);
    subscribe(&mut world, 3, segment, 0);
    grown(&world, &mut counters);
    let stream = world.release(1, segment, &grant, 1);
    world.store_all();
    world.answer(stream);
    let expected = [
        "requests 1".to_string(),
        "releases 1".to_string(),
        format!("release_bytes {bytes}"),
        "pushes 1".to_string(),
        format!("push_bytes {bytes}"),
        "announcements 1".to_string(),
    ];
    assert_eq!(grown(&world, &mut counters), expected);

    let grant = world.lock(1, segment);
    grown(&world, &mut counters);
    world.release(1, segment, &grant, 2);
    let asked = world.asked.remove(0);
    world.stored(&asked, Err(StoreError::Full("no space".into())));
    let refused = ["requests 1", "releases_refused 1", "store_errors 1"];
    assert_eq!(grown(&world, &mut counters), refused);
    let stranger = WriterAcquired { fence: 1, ..grant };
    world.release(2, segment, &stranger, 1);
    let refused = ["requests 1", "errors 1", "releases_refused 1"];
    assert_eq!(grown(&world, &mut counters), refused);
}

#[test]
fn readers_that_ask_are_counted_with_where_their_diffs_came_from() {
    let mut world = World::new(false);
    let segment = world.clients(3, Durability::Memory);
    for sequence in 1..=2 {
        world.write(1, segment, sequence);
    }
    let mut counters = world.engine.statistics().counters;
    let known = |world: &World| {
        let now_ns = world.now_ns();
        let known = world.engine.segment_statistics(now_ns, Bound::Unbounded, 1);
        (
            known[0].sent_bytes,
            known[0].whole_bytes,
            known[0].wire_bytes,
        )
    };
    let (sent_bytes, whole_bytes, wire_bytes) = known(&world);
    let ask = acquire_reader(segment, stamp(0, 0), CoherenceModel::Full);
    let first = world.ask(2, ask);
    let bytes = first.bulk.len();
    let of_this_one = |origin: &str| {
        let numbers = [
            "requests 1",
            "collected 1",
            origin,
            &format!("collected_bytes {bytes}"),
        ];
        numbers.map(str::to_string)
    };
    assert_eq!(grown(&world, &mut counters), of_this_one("collections 1"));
    world.newest(3, segment);
    assert_eq!(grown(&world, &mut counters), of_this_one("cache_hits 1"));
    let (sent, whole) = (sent_bytes + 2 * bytes as u64, whole_bytes + 2 * wire_bytes);
    assert_eq!(known(&world), (sent, whole, wire_bytes));
}

#[test]
fn what_goes_wrong_is_counted() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    let mut counters = world.engine.statistics().counters;
    let now_ns = world.now_ns();
    world.engine.malformed(now_ns, 2, "not a frame".to_string());
    world.drain();
    assert_eq!(grown(&world, &mut counters), ["malformed 1"]);
    world.hello(3);
    let open = world.open(3, "/list", Durability::Memory);
    world.lock(1, segment);
    world.send(3, acquire_writer(open, 60_000));
    grown(&world, &mut counters);
    world.pass_talking(u64::from(LEASE_MS), &[1, 3]);
    let lost = grown(&world, &mut counters);
    assert_eq!(lost[..2], ["leases_lost 1", "grants 1"]);
    world.pass_talking(u64::from(LEASE_MS), &[1]);
    assert!(grown(&world, &mut counters).contains(&"silent 1".to_string()));
    assert_eq!(world.closed, [2, 3]);
}

#[test]
fn requests_beyond_a_limit_and_rests_are_counted() {
    let mut world = World::new(false);
    let rules = "limit * segments 1\nallow * all /**\nend\n";
    world.engine.set_access(world.now_ns(), access(rules));
    enter(&mut world, 1, "a");
    world.open(1, "/1", Durability::Memory);
    let mut counters = world.engine.statistics().counters;
    world.ask(1, open("/2", Durability::Memory));
    let expected = ["requests 1", "errors 1", "limits_refused 1"];
    assert_eq!(grown(&world, &mut counters), expected);
    world.engine.rested(world.now_ns(), 1);
    assert_eq!(grown(&world, &mut counters), ["rests 1"]);
}

/// Also if the answer has waited for the store.
#[test]
fn requests_that_the_store_cannot_answer_are_counted_as_errors() {
    type Answer = fn(&mut Engine, u64, StoreError);
    let path = "/far".to_string();
    let refused: [(Request, Answer); 4] = [
        (
            Request::ListMembers(ListMembers { after: 0 }),
            |engine, now_ns, error| engine.members_found(now_ns, 1, Err(error)),
        ),
        (
            Request::ListPlaces(ListPlaces {
                prefix: "/".to_string(),
                after: String::new(),
            }),
            |engine, now_ns, error| engine.page_read(now_ns, 1, Err(error)),
        ),
        (
            Request::FollowSegment(FollowSegment { path }),
            |engine, now_ns, error| engine.followed(now_ns, "/far", Err(error)),
        ),
        (open("/far", Durability::Synced), |engine, now_ns, error| {
            engine.sought(now_ns, "/far", Err(error))
        }),
    ];
    let mut world = super::space::member();
    world.hello(1);
    let mut counters = world.engine.statistics().counters;
    for (request, answer) in refused {
        let stream = world.send(1, request.clone());
        let now_ns = world.now_ns();
        let error = StoreError::Io("no connection".to_string());
        answer(&mut world.engine, now_ns, error);
        world.drain();
        assert_eq!(world.answer(stream).error(), ErrorCode::StoreFull);
        let expected = ["requests 1", "errors 1"];
        assert_eq!(grown(&world, &mut counters), expected, "{request:?}");
    }
}

#[test]
fn grants_that_clients_keep_and_give_back_are_counted() {
    let mut world = World::new(false);
    super::keeping::hello_keeping(&mut world, 1, [0; 16]);
    world.hello(2);
    let segment = world.open(1, "/list", Durability::Memory);
    world.open(2, "/list", Durability::Memory);
    let mut counters = world.engine.statistics().counters;
    super::keeping::kept(&mut world, segment);
    assert!(grown(&world, &mut counters).contains(&"kept 1".to_string()));
    world.send(2, acquire_writer(segment, 60_000));
    assert_eq!(grown(&world, &mut counters), ["requests 1", "recalls 1"]);
}

#[test]
fn who_writes_waits_and_reads_is_named_as_it_calls_itself() {
    let mut world = World::new(false);
    let mut segment = 0;
    for (connection, client) in [(1, "writer"), (2, "waiter")] {
        let (now_ns, id) = (world.now_ns(), session_of(connection));
        let engine = &mut world.engine;
        engine.connected(now_ns, connection, id, Peer::default());
        let said = Hello {
            client: client.to_string(),
            ..hello([0; 16])
        };
        world.ask(connection, Request::Hello(said));
        segment = world.open(connection, "/list", Durability::Memory);
    }
    world.lock(1, segment);
    world.send(2, acquire_writer(segment, 60_000));
    let (now_ns, engine) = (world.now_ns(), &world.engine);
    let known = engine.segment_statistics(now_ns, Bound::Unbounded, 1);
    assert_eq!(known[0].writer.as_deref(), Some("writer"));
    assert_eq!(known[0].waiting, ["waiter"]);
    let readers: Vec<_> = known[0].readers.iter().map(|r| r.label.as_str()).collect();
    assert_eq!(readers, ["writer", "waiter"]);
}

#[test]
fn totals_are_the_sums_of_all_segments() {
    let mut world = World::new(false);
    let first = world.clients(3, Durability::Memory);
    let second = world.open(2, "/other", Durability::Memory);
    for sequence in 1..=2 {
        world.write(1, first, sequence);
    }
    world.write(2, second, 1);
    subscribe(&mut world, 3, first, 0);
    world.lock(1, first);
    world.send(2, acquire_writer(first, 60_000));

    let mut totals = Totals::default();
    let engine = &world.engine;
    let last = engine.add_to_totals(&mut totals, Bound::Unbounded, 1);
    assert_eq!(last.as_deref(), Some("/list"));
    let last = engine.add_to_totals(&mut totals, Bound::Excluded("/list"), 5);
    assert_eq!(last.as_deref(), Some("/other"));
    let end = engine.add_to_totals(&mut totals, Bound::Excluded("/other"), 5);
    assert_eq!(end, None);
    let known = engine.segment_statistics(world.now_ns(), Bound::Unbounded, 5);
    let expected = Totals {
        blocks: 3,
        wire_bytes: known.iter().map(|s| s.wire_bytes).sum(),
        overhead_bytes: known.iter().map(|s| s.overhead.total()).sum(),
        clients: 4,
        subscribers: 1,
        writer_locked: 1,
        writers_waiting: 1,
    };
    assert_eq!(totals, expected);
}

#[test]
fn the_numbers_of_connections_sessions_and_segments_are_those_that_are_there() {
    let mut world = World::new(true);
    world.clients(3, Durability::Synced);
    world.open(1, "/other", Durability::Synced);
    world.engine.disconnected(world.now_ns(), 3);
    world.send(1, open("/third", Durability::Synced));
    let known = world.engine.statistics();
    let numbers = (known.connections, known.sessions, known.store_waiting);
    assert_eq!(numbers, (2, 3, 1), "a session outlives its connection");
    world.store_all();
    let known = world.engine.statistics();
    assert_eq!((known.segments, known.store_waiting), (3, 0));
    let health = world.engine.health();
    assert_eq!(
        (health.segments, health.connections, health.damaged),
        (3, 2, 0)
    );
}

#[test]
fn accounts_share_the_server_when_there_are_several() {
    let mut world = World::new(false);
    world
        .engine
        .set_access(world.now_ns(), access("allow * all /**\nend\n"));
    enter(&mut world, 1, "a");
    enter(&mut world, 2, "a");
    assert_eq!(world.engine.sharing_account(1), None, "one identity alone");
    enter(&mut world, 3, "b");
    let account = |connection| world.engine.sharing_account(connection);
    assert!(account(1).is_some() && account(1) == account(2));
    assert!(account(3).is_some() && account(3) != account(1));
}

#[test]
fn an_identity_gets_the_numbers_of_segments_that_it_may_read() {
    let mut world = World::new(false);
    let rules = "allow cert:writer all /**\nallow cert:reader read /seen\nend\n";
    world.engine.set_access(world.now_ns(), access(rules));
    enter(&mut world, 1, "writer");
    for path in ["/hidden", "/seen", "/z"] {
        world.open(1, path, Durability::Memory);
    }
    let reader = Identity::Certificate("reader".into());
    let mut found = Vec::new();
    let mut add = |from, most| {
        let now_ns = world.now_ns();
        let engine = &world.engine;
        engine.add_statistics(now_ns, &mut found, &reader, from, most)
    };
    assert_eq!(add(Bound::Unbounded, 2).as_deref(), Some("/seen"));
    assert_eq!(add(Bound::Excluded("/seen"), 2).as_deref(), Some("/z"));
    assert_eq!(add(Bound::Excluded("/z"), 2), None);
    let paths: Vec<_> = found.iter().map(|s| s.path.as_str()).collect();
    assert_eq!(paths, ["/seen"]);
}
