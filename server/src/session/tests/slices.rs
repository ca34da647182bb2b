//! Work in slices: the sweep after new rules [RULE-7], and lists. Also the answer to RELOAD_ACCESS
//! [RULE-8].

use super::super::Act;
use super::access::{access, enter};
use super::*;
use interweave_access::Operation;

/// More than a slice of a list or a sweep.
const MANY: usize = 3000;
/// The readers may see none of /lab, but each path there has to be asked about.
const RULES: &str = "\
group readers cert:reader cert:other
allow cert:writer all /**
allow @readers read /z
allow @readers read /lab/x*
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

/// Lets slices of lists be made until the answer is there. Returns how many.
fn slices_until(world: &mut World, stream: u32) -> usize {
    let mut slices = 0;
    while world.try_answer(stream).is_none() {
        assert!(world.engine.works_in_slices());
        world.pass(1);
        slices += 1;
    }
    slices
}

#[test]
fn lim_7_a_list_does_not_wait_for_all_lists_of_another_identity() {
    let mut world = filled();
    let slices = MANY / 1024 + 1;
    let alone = world.send(2, list());
    assert_eq!(slices_until(&mut world, alone), slices - 1);
    for connection in 10..40 {
        enter(&mut world, connection, "reader");
        for _ in 0..16 {
            world.send(connection, list());
        }
    }
    enter(&mut world, 3, "other");
    let other = world.send(3, list());
    // The reader has a turn for each of the other one's.
    assert!(slices_until(&mut world, other) < 2 * slices);
    // It is the same for a connection among those of its own identity.
    enter(&mut world, 40, "reader");
    let own = world.send(40, list());
    assert!(slices_until(&mut world, own) <= 31 * slices);
}

#[test]
fn lim_7_asking_again_gives_no_more_turns() {
    let mut world = filled();
    let first = world.send(2, list());
    let folder = Request::ListSegments(ListSegments {
        prefix: "/lab/00".to_string(),
        after: String::new(),
    });
    let second = world.send(2, folder);
    assert!(world.try_answer(second).is_none());
    finish(&mut world);
    assert_eq!(paths(&world.answer(first)), ["/z"]);
    assert!(paths(&world.answer(second)).is_empty());
}

#[test]
fn rule_4_a_folder_of_which_nothing_may_be_seen_is_passed_over() {
    let rules = [
        "allow cert:reader read /z",
        "deny cert:reader read /lab/**\nallow cert:reader read /**",
        "deny cert:reader read /lab/*\nallow cert:reader read /**",
    ];
    let is_asked_once = [true, true, false];
    for (rules, at_once) in rules.into_iter().zip(is_asked_once) {
        let mut world = filled();
        let now_ns = world.now_ns();
        let rules = format!("allow cert:writer all /**\n{rules}\nend\n");
        world.engine.set_access(now_ns, access(&rules));
        finish(&mut world);
        let listing = world.send(2, list());
        let is_answered = !world.engine.works_in_slices();
        assert_eq!(is_answered, at_once, "{rules}");
        finish(&mut world);
        assert_eq!(paths(&world.answer(listing)), ["/z"], "{rules}");
    }
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
    // Those of the connection are gone with it.
    assert_eq!(slices_until(&mut world, other), MANY / 1024 + 1);
    assert!(!world.engine.works_in_slices());
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
            (Act::Admin, admin, true, Some(2), true),
            (Act::Admin, admin, false, None, true),
        ]
    );
    assert_eq!(told[1].error, Some(ErrorCode::Denied));
}
