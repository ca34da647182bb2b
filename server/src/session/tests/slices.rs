//! Work in slices: the sweep after new rules [RULE-7], and lists. Also the answer to RELOAD_ACCESS
//! [RULE-8].

use super::super::Act;
use super::access::{access, enter};
use super::*;
use interweave_access::Operation;

/// More than a slice of a list or a sweep.
const MANY: usize = 3000;
const RULES: &str = "\
allow cert:writer all /**
allow cert:reader read /z
end
";

fn ruled() -> World {
    let mut world = World::with(Config {
        audits: true,
        ..Config::default()
    });
    world.engine.set_access(world.now_ns(), access(RULES));
    enter(&mut world, 1, "writer");
    world
}

/// A world with many segments of the writer, the last of which the reader may see.
fn filled() -> World {
    let mut world = ruled();
    for n in 0..MANY {
        world.open(1, &format!("/lab/{n:04}"), Durability::Memory);
    }
    world.open(1, "/z", Durability::Memory);
    enter(&mut world, 2, "reader");
    world
}

/// Lets everything happen that is done in slices.
fn finish(world: &mut World) {
    for _ in 0..100 {
        world.pass(1);
    }
    assert!(!world.engine.works_in_slices());
}

fn list() -> Request {
    Request::ListSegments(ListSegments {
        prefix: "/".to_string(),
        after: String::new(),
    })
}

fn subscribe(segment: u32) -> Request {
    Request::Subscribe(Subscribe {
        segment,
        have: stamp(0, 0),
        model: CoherenceModel::Full,
        x: 0.0,
        push: false,
        push_bytes: 0,
    })
}

fn paths(answer: &Sent) -> Vec<String> {
    let list = answer.body::<SegmentList>();
    list.segments.into_iter().map(|s| s.path).collect()
}

#[test]
fn rule_4_a_list_that_finds_little_lets_others_between() {
    let mut world = filled();
    let listing = world.send(2, list());
    assert!(world.try_answer(listing).is_none());
    assert_eq!(world.ask(2, Request::Ping).type_, MessageType::Pong);
    world.pass(1);
    assert!(world.try_answer(listing).is_none());
    finish(&mut world);
    let answer = world.answer(listing);
    assert_eq!(paths(&answer), ["/z"]);
    assert!(!answer.body::<SegmentList>().more);
}

#[test]
fn rule_4_a_list_shows_nothing_that_went_or_was_forbidden_meanwhile() {
    let rules = "allow cert:writer all /**\nallow cert:reader read /lab/000*\nend\n";
    for (meanwhile, shown) in [("remove", 9), ("forbid", 0)] {
        let mut world = filled();
        let now_ns = world.now_ns();
        world.engine.set_access(now_ns, access(rules));
        finish(&mut world);
        let listing = world.send(2, list());
        assert!(world.try_answer(listing).is_none());
        match meanwhile {
            "remove" => {
                let path = "/lab/0003".to_string();
                world.ask(1, Request::RemoveSegment(RemoveSegment { path }));
            }
            _ => world.engine.set_access(now_ns, access(RULES)),
        }
        finish(&mut world);
        let answer = world.answer(listing);
        let listed = paths(&answer);
        assert_eq!(
            listed.iter().filter(|p| p.starts_with("/lab")).count(),
            shown
        );
        assert!(!listed.contains(&"/lab/0003".to_string()));
    }
}

#[test]
fn rule_4_pages_of_a_list_have_each_segment_once() {
    let mut world = filled();
    let rules = "allow cert:writer all /**\nallow cert:reader read /lab/*7\nend\n";
    let now_ns = world.now_ns();
    world.engine.set_access(now_ns, access(rules));
    finish(&mut world);
    let mut all = Vec::new();
    loop {
        let listing = world.send(
            2,
            Request::ListSegments(ListSegments {
                prefix: "/lab".to_string(),
                after: all.last().cloned().unwrap_or_default(),
            }),
        );
        finish(&mut world);
        let answer = world.answer(listing);
        all.extend(paths(&answer));
        if !answer.body::<SegmentList>().more {
            break;
        }
    }
    let expected: Vec<String> = (0..MANY / 10).map(|n| format!("/lab/{n:03}7")).collect();
    assert_eq!(all, expected);
}

#[test]
fn lists_that_are_under_way_are_few_and_go_with_their_connection() {
    let mut world = filled();
    for _ in 0..16 {
        world.send(2, list());
    }
    assert_eq!(world.ask(2, list()).error(), ErrorCode::TooLarge);
    enter(&mut world, 3, "reader");
    let other = world.send(3, list());
    world.engine.disconnected(world.now_ns(), 2);
    finish(&mut world);
    assert_eq!(paths(&world.answer(other)), ["/z"]);
}

#[test]
fn rule_7_a_sweep_of_many_subscriptions_lets_others_between() {
    let mut world = filled();
    for segment in 1..=MANY as u32 {
        assert_eq!(
            world.ask(1, subscribe(segment)).type_,
            MessageType::Subscribed
        );
    }
    let last = MANY as u32;
    let grant = world.lock(1, last);
    world.stuck.push(1);
    let now_ns = world.now_ns();
    world
        .engine
        .set_access(now_ns, access("allow cert:writer read /none\nend\n"));
    world.drain();
    let ended = world.notifications(1, MessageType::NotRecent).len();
    assert!((1..MANY).contains(&ended), "{ended}");
    finish(&mut world);
    let ended = ended + world.notifications(1, MessageType::NotRecent).len();
    assert_eq!(ended, MANY);
    let lost = world.notifications(1, MessageType::WriterLost);
    assert_eq!(lost[0].body::<WriterLost>().fence, grant.fence);
}

#[test]
fn rule_7_a_sweep_does_not_visit_segments_that_are_only_open() {
    let mut world = filled();
    let now_ns = world.now_ns();
    world
        .engine
        .set_access(now_ns, access("allow cert:writer read /none\nend\n"));
    assert!(!world.engine.works_in_slices());
    let read = acquire_reader(1, stamp(0, 0), CoherenceModel::Full);
    assert_eq!(world.ask(1, read).error(), ErrorCode::Denied);
}

#[test]
fn rule_8_a_reload_is_answered_when_the_files_were_read_that_it_asked_for() {
    let mut world = ruled();
    let first = world.send(1, Request::ReloadAccess);
    let second = world.send(1, Request::ReloadAccess);
    assert_eq!(world.readings, [1, 2]);
    let file = FileRead {
        option: "--rules".to_string(),
        taken: false,
        count: 3,
        text: "é".repeat(1000),
    };
    let now_ns = world.now_ns();
    world.engine.files_read(now_ns, 1, vec![file]);
    world.drain();
    let answer = world.answer(first).body::<AccessReloaded>();
    assert_eq!((answer.files[0].taken, answer.files[0].count), (false, 3));
    assert_eq!(answer.files[0].text, "é".repeat(512));
    assert!(world.try_answer(second).is_none());
    // The answer comes after the change.
    world.engine.set_access(now_ns, access("end\n"));
    world.engine.files_read(now_ns, 2, Vec::new());
    world.drain();
    let later = world.answer(second).body::<AccessReloaded>();
    assert_eq!(later.generation, answer.generation + 1);
    assert_eq!(
        world.ask(1, Request::ReloadAccess).error(),
        ErrorCode::Denied
    );
}

#[test]
fn rule_8_a_reading_for_somebody_who_has_gone_is_answered_to_nobody() {
    let mut world = ruled();
    world.send(1, Request::ReloadAccess);
    world.engine.disconnected(world.now_ns(), 1);
    world.engine.files_read(world.now_ns(), 7, Vec::new());
    world.drain();
    assert!(world.sent.is_empty(), "{:?}", world.sent);
}

#[test]
fn audit_1_the_use_of_admin_makes_a_line_allowed_or_not() {
    let mut world = ruled();
    enter(&mut world, 2, "reader");
    world.audited.clear();
    world.send(1, Request::ReloadAccess);
    let refused = world.ask(2, Request::ReloadAccess);
    let text = refused.body::<ErrorReply>().text;
    assert!(text.starts_with("cert:reader asked for admin; "), "{text}");
    let told: Vec<_> = world.audited.iter().collect();
    let rows: Vec<_> = told
        .iter()
        .map(|a| (a.act, a.operation, a.is_allowed, a.line, a.must_stay()))
        .collect();
    let admin = Some(Operation::Admin);
    assert_eq!(
        rows,
        [
            (Act::Admin, admin, true, Some(1), true),
            (Act::Admin, admin, false, None, true),
        ]
    );
    assert_eq!(told[1].error, Some(ErrorCode::Denied));
}
