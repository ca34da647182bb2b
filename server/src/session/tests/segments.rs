//! Opening, listing, closing, removing.

use super::durability::{found, restarted};
use super::*;

#[test]
fn seg_2_opening_twice_gives_the_same_number() {
    let mut world = World::new(false);
    world.hello(1);
    let first = world.ask(1, open("/list", Durability::Memory));
    let second = world.ask(1, open("/list", Durability::Memory));
    let (first, second): (SegmentOpened, SegmentOpened) = (first.body(), second.body());
    assert!(first.created && !second.created);
    assert_eq!(first.segment, second.segment);
    assert_eq!(first.newest, second.newest);
    assert_eq!(first.newest.number, 0);
    assert!(first.newest.incarnation > 0);
}

#[test]
fn seg_2_an_existing_segment_keeps_its_durability_and_quota() {
    let mut world = World::new(true);
    world.hello(1);
    world.open(1, "/list", Durability::Written);
    let opened: SegmentOpened = world.ask(1, open("/list", Durability::Synced)).body();
    assert_eq!(opened.durable, Durability::Written);
    assert_eq!(opened.quota_bytes, world.engine.config().quota_bytes);
}

#[test]
fn without_a_store_a_segment_does_not_claim_to_be_durable() {
    let mut world = World::new(false);
    world.hello(1);
    let opened: SegmentOpened = world.ask(1, open("/list", Durability::Synced)).body();
    assert_eq!(opened.durable, Durability::Memory);
}

#[test]
fn a_segment_that_is_not_there_is_not_made_unasked() {
    let mut world = World::new(false);
    world.hello(1);
    let Request::OpenSegment(mut request) = open("/list", Durability::Memory) else {
        unreachable!()
    };
    request.create = false;
    let answer = world.ask(1, Request::OpenSegment(request));
    assert_eq!(answer.error(), ErrorCode::NoSegment);
}

#[test]
fn paths_that_are_none_are_refused() {
    let mut world = World::new(false);
    world.hello(1);
    for path in ["", "list", "/li#st", "/li\nst"] {
        let answer = world.ask(1, open(path, Durability::Memory));
        assert_eq!(answer.error(), ErrorCode::BadUrl, "{path:?}");
    }
}

#[test]
fn a_durable_segment_is_opened_once_its_creation_is_stored() {
    let mut world = World::new(true);
    world.hello(1);
    world.hello(2);
    let first = world.send(1, open("/list", Durability::Synced));
    let second = world.send(2, open("/list", Durability::Synced));
    assert!(world.try_answer(first).is_none() && world.try_answer(second).is_none());
    world.store_all();
    let (first, second) = (world.answer(first), world.answer(second));
    assert!(first.body::<SegmentOpened>().created);
    assert!(!second.body::<SegmentOpened>().created);
}

#[test]
fn a_creation_that_the_store_refuses_leaves_nothing() {
    let mut world = World::new(true);
    world.hello(1);
    let stream = world.send(1, open("/list", Durability::Synced));
    let asked = world.asked.remove(0);
    world.stored(&asked, Err(StoreError::Full("no room".to_string())));
    assert_eq!(world.answer(stream).error(), ErrorCode::StoreFull);
    let list: SegmentList = world.ask(1, list("", "")).body();
    assert!(list.segments.is_empty());
}

fn list(prefix: &str, after: &str) -> Request {
    Request::ListSegments(ListSegments {
        prefix: prefix.to_string(),
        after: after.to_string(),
    })
}

#[test]
fn segments_are_listed_by_prefix_in_order_page_by_page() {
    let mut world = World::new(false);
    world.hello(1);
    let long = "x".repeat(900);
    for number in 0..200 {
        world.open(1, &format!("/a/{number:03}{long}"), Durability::Memory);
    }
    world.open(1, "/b", Durability::Memory);
    let mut found: Vec<String> = Vec::new();
    loop {
        let after = found.last().cloned().unwrap_or_default();
        let page: SegmentList = world.ask(1, list("/a/", &after)).body();
        assert!(!page.segments.is_empty(), "a page brings something");
        found.extend(page.segments.into_iter().map(|s| s.path));
        if !page.more {
            break;
        }
    }
    assert_eq!(found.len(), 200);
    assert!(found.is_sorted());
}

#[test]
fn a_list_begins_behind_the_path_that_it_names() {
    let mut world = World::new(false);
    world.hello(1);
    for path in ["/a", "/a/b", "/c"] {
        world.open(1, path, Durability::Memory);
    }
    for (after, expected) in [("", &["/a", "/a/b"][..]), ("/a", &["/a/b"])] {
        let page: SegmentList = world.ask(1, list("/a", after)).body();
        let paths: Vec<_> = page.segments.iter().map(|s| s.path.as_str()).collect();
        assert_eq!(paths, expected, "after {after}");
    }
}

#[test]
fn a_client_that_closes_or_goes_is_not_counted_any_more() {
    let mut world = World::new(false);
    let segment = world.clients(4, Durability::Memory);
    for connection in [2, 3, 4] {
        super::notifications::subscribe(&mut world, connection, segment, 0);
    }
    let counted = |world: &mut World| {
        let known: SegmentList = world.ask(1, list("/", "")).body();
        (known.segments[0].clients, known.segments[0].subscribers)
    };
    assert_eq!(counted(&mut world), (4, 3));
    world.ask(2, Request::CloseSegment(CloseSegment { segment }));
    assert_eq!(counted(&mut world), (3, 2));
    world.engine.disconnected(world.now_ns(), 3);
    assert_eq!(counted(&mut world), (2, 1));
    world.ask(4, Request::Unsubscribe(Unsubscribe { segment }));
    assert_eq!(counted(&mut world), (2, 0));
}

#[test]
fn closing_gives_up_locks_and_waits() {
    let mut world = World::new(false);
    let segment = world.clients(3, Durability::Memory);
    world.lock(1, segment);
    let second = world.send(2, acquire_writer(segment, 60_000));
    let third = world.send(3, acquire_writer(segment, 60_000));
    let close = |segment| Request::CloseSegment(CloseSegment { segment });
    assert_eq!(world.ask(2, close(segment)).type_, MessageType::Done);
    assert_eq!(world.answer(second).error(), ErrorCode::Cancelled);
    assert_eq!(world.ask(1, close(segment)).type_, MessageType::Done);
    assert_eq!(world.answer(third).type_, MessageType::WriterAcquired);
    let again = world.ask(1, acquire_writer(segment, 0));
    assert_eq!(again.error(), ErrorCode::NotOpen);
}

#[test]
fn removing_tells_everybody_and_a_new_one_is_another_incarnation() {
    let mut world = World::new(true);
    let segment = world.clients(2, Durability::Synced);
    let before = world.newest(1, segment);
    let waiting = {
        world.lock(1, segment);
        world.send(2, acquire_writer(segment, 60_000))
    };
    let remove = Request::RemoveSegment(RemoveSegment {
        path: "/list".to_string(),
    });
    let stream = world.send(1, remove);
    assert!(
        world.try_answer(stream).is_none(),
        "not before it is stored"
    );
    world.store_all();
    assert_eq!(world.answer(stream).type_, MessageType::Done);
    assert_eq!(world.answer(waiting).error(), ErrorCode::Removed);
    for connection in [1, 2] {
        let gone = world.notifications(connection, MessageType::SegmentGone);
        assert_eq!(gone.len(), 1);
    }
    // A request may be on its way when the client hears of that.
    let late = world.ask(2, acquire_writer(segment, 0));
    assert_eq!(late.error(), ErrorCode::Removed);
    let close = || Request::CloseSegment(CloseSegment { segment });
    assert_eq!(world.ask(2, close()).type_, MessageType::Done);
    assert_eq!(world.ask(2, close()).error(), ErrorCode::NotOpen);
    let anew = world.open(2, "/list", Durability::Synced);
    assert_ne!(anew, segment);
    let incarnation = world.newest(2, anew).incarnation;
    assert!(FIRST_FENCE < before.incarnation && before.incarnation < incarnation);
}

#[test]
fn blocks_are_described_without_their_data() {
    let mut world = World::new(false);
    let segment = world.clients(1, Durability::Memory);
    world.write(1, segment, 1);
    let describe = Request::DescribeBlocks(DescribeBlocks {
        segment,
        after_serial: 0,
        serials: Vec::new(),
        names: Vec::new(),
    });
    let answer = world.ask(1, describe);
    let described: BlocksDescribed = answer.body();
    assert_eq!(described.newest.number, 1);
    assert!(!described.more && !answer.bulk.is_empty());
}

#[test]
fn no_more_segments_are_created_than_the_server_is_to_have() {
    let mut world = World::with(Config {
        max_segments: 2,
        ..Config::default()
    });
    world.hello(1);
    world.open(1, "/a", Durability::Memory);
    world.open(1, "/b", Durability::Memory);
    let refused = world.ask(1, open("/c", Durability::Memory));
    assert_eq!(refused.error(), ErrorCode::TooLarge);
    let text = refused.body::<ErrorReply>().text;
    assert!(text.contains("--max-segments"), "{text}");
    world.open(1, "/b", Durability::Memory);
    let path = "/a".to_string();
    world.ask(1, Request::RemoveSegment(RemoveSegment { path }));
    world.open(1, "/c", Durability::Memory);
}

#[test]
fn a_creator_gets_no_larger_quota_than_the_server_gives() {
    let mut world = World::with(Config {
        max_quota_bytes: 1000,
        ..Config::default()
    });
    world.hello(1);
    for (quota_bytes, fits) in [(1001, false), (1000, true), (u64::MAX, true)] {
        let Request::OpenSegment(mut request) = open("/list", Durability::Memory) else {
            unreachable!()
        };
        request.quota_bytes = quota_bytes;
        let answer = world.ask(1, Request::OpenSegment(request));
        if fits {
            let opened: SegmentOpened = answer.body();
            assert_eq!(opened.quota_bytes, 1000, "that of its creation");
        } else {
            assert_eq!(answer.error(), ErrorCode::TooLarge);
            let text = answer.body::<ErrorReply>().text;
            assert!(text.contains("--max-quota"), "{text}");
        }
    }
}

#[test]
fn a_creation_that_is_logged_late_does_not_bring_back_a_segment_that_is_going() {
    let mut world = World::new(true);
    world.hello(1);
    let made = world.send(1, open("/list", Durability::Memory));
    assert_eq!(world.answer(made).type_, MessageType::SegmentOpened);
    let path = "/list".to_string();
    let removing = world.send(1, Request::RemoveSegment(RemoveSegment { path }));
    let creation = world.asked.remove(0);
    world.stored(&creation, Ok(()));
    let again = world.ask(1, open("/list", Durability::Memory));
    assert_eq!(again.error(), ErrorCode::Removed);
    world.store_all();
    assert_eq!(world.answer(removing).type_, MessageType::Done);
}

#[test]
fn the_id_of_a_segment_that_the_store_has_is_not_given_again() {
    let mut before = World::new(true);
    let (mut segment, _) = found(&mut before, true, Durability::Synced);
    let id = FIRST_FENCE + (1 << 32) + 1;
    segment.segment_id = id;
    let (mut world, _) = restarted(segment);
    world.hello(1);
    world.send(1, open("/other", Durability::Synced));
    let [Asked::Append(_, group, _)] = &world.asked[..] else {
        panic!("one append: {:?}", world.asked);
    };
    assert!(group[0].segment_id > id);
}
