//! A server that shares its store with others (spec/space.md).

use super::access::{access, enter};
use super::*;
use crate::session::{Found, Hindrance};
use interweave_store::{
    unshared, Elsewhere, End, Holder, Listed, Page, PageAsked, RecoveredSegment, Sought,
    StoreError, StoreStatus,
};
use interweave_wire::fields::Fields;
use std::ops::Bound;

const SPACE_LEASE_MS: u32 = 2_000;
pub const PATH: &str = "/list";

/// A server that has joined a space, and has no standing yet.
fn joined() -> World {
    let mut world = World::with(Config {
        stored: true,
        lease_ms: LEASE_MS,
        first_fence: FIRST_FENCE,
        space_lease_ms: Some(SPACE_LEASE_MS),
        ..Config::default()
    });
    world.pass(0);
    world
}

/// A server with standing.
pub fn member() -> World {
    let mut world = joined();
    renew(&mut world, Ok(()));
    world
}

/// The store answers the renewal that was asked for, at once.
pub fn renew(world: &mut World, result: Result<(), StoreError>) {
    assert_eq!(world.renewals, 1);
    world.renewals = 0;
    let now_ns = world.now_ns();
    world.engine.renewed(now_ns, now_ns, result);
    world.drain();
}

pub fn sought(world: &mut World, found: Result<Sought, StoreError>) {
    let path = world.seeking.remove(0);
    let now_ns = world.now_ns();
    world.engine.sought(
        now_ns,
        &path,
        found.and_then(|sought| Found::of(sought, || None)),
    );
    world.drain();
}

pub fn elsewhere() -> Sought {
    Sought::Elsewhere(Elsewhere {
        address: "b.example:7747".to_string(),
        tls_name: "b".to_string(),
    })
}

pub fn claimed(durable: Durability) -> Sought {
    Sought::Here(Box::new(RecoveredSegment {
        segment_id: 5 << 32,
        epoch: 9,
        path: PATH.to_string(),
        durable,
        quota_bytes: 1 << 20,
        creator: None,
        incarnation: 5 << 32,
        checkpoint: None,
        pieces: Vec::new(),
        releases: Vec::new(),
        serials_below: 1 << 20,
        clean: false,
        damage: None,
    }))
}

fn open_only() -> Request {
    let Request::OpenSegment(open) = open(PATH, Durability::Synced) else {
        unreachable!()
    };
    Request::OpenSegment(OpenSegment {
        create: false,
        ..open
    })
}

#[test]
fn space_2_a_server_without_standing_serves_nobody() {
    let mut world = joined();
    for (connection, hindrance, words) in [
        (1, None, "has not taken the renewal in time"),
        (2, Some(Hindrance::Alone), "STORE_ALONE"),
        (3, Some(Hindrance::Away), "STORE_AWAY"),
        (4, Some(Hindrance::Full), "STORE_FULL"),
    ] {
        if let Some(hindrance) = hindrance {
            world.engine.hindered_by(hindrance);
        }
        let now_ns = world.now_ns();
        let session = session_of(connection);
        world
            .engine
            .connected(now_ns, connection, session, Peer::default());
        let refused = world.ask(connection, Request::Hello(hello([0; 16])));
        assert_eq!(refused.error(), ErrorCode::Stopping);
        let text = refused.body::<PlainError>().text;
        assert!(text.contains(words), "{text}");
        assert_eq!(world.closed.last(), Some(&connection));
    }
    renew(&mut world, Ok(()));
    world.hello(5);
}

#[test]
fn space_2_a_renewal_that_failed_is_asked_for_again_a_sixteenth_of_a_lease_later() {
    let mut world = member();
    world.pass(u64::from(SPACE_LEASE_MS) / 4);
    renew(
        &mut world,
        Err(StoreError::Away("no connection".to_string())),
    );
    world.pass(u64::from(SPACE_LEASE_MS) / 16 - 1);
    assert_eq!(world.renewals, 0);
    world.pass(1);
    renew(&mut world, Ok(()));
}

#[test]
fn space_2_standing_ends_two_heartbeats_before_nine_tenths_of_a_lease() {
    let mut world = member();
    world.hello(1);
    // The next renewal is asked for, and its answer does not come.
    world.pass(u64::from(SPACE_LEASE_MS) / 4);
    assert_eq!(world.renewals, 1);
    let heartbeat_ms = u64::from(world.engine.config().heartbeat_ms);
    assert_eq!(heartbeat_ms, u64::from(SPACE_LEASE_MS) / 8);
    let standing_ms = u64::from(SPACE_LEASE_MS) / 10 * 9 - 2 * heartbeat_ms;
    world.pass(standing_ms - u64::from(SPACE_LEASE_MS) / 4 - 1);
    assert!(world.closed.is_empty());
    world.pass(1);
    assert_eq!(world.closed, [1]);
    // An answer that comes after the standing that it gives gives none.
    let (asked_ns, now_ns) = (1_500_000_000, world.now_ns() + 2_000_000_000);
    world.engine.renewed(now_ns, asked_ns, Ok(()));
    assert!(!world.engine.has_standing());
    world.engine.renewed(now_ns, now_ns, Ok(()));
    assert!(world.engine.has_standing());
}

#[test]
fn space_4_a_server_that_others_found_over_stops() {
    let mut world = member();
    world.pass(u64::from(SPACE_LEASE_MS) / 4);
    renew(&mut world, Err(StoreError::Io("no connection".to_string())));
    assert!(world.engine.lost_store().is_none(), "it tries again");
    world.pass(u64::from(SPACE_LEASE_MS) / 16);
    renew(&mut world, Err(StoreError::Fenced("its row".to_string())));
    assert!(world.engine.lost_store().is_some());
}

#[test]
fn space_5_a_segment_is_looked_for_once_and_served_from_then_on() {
    let mut world = member();
    world.hello(1);
    world.hello(2);
    let first = world.send(1, open_only());
    let second = world.send(2, open_only());
    assert_eq!(world.seeking, [PATH], "both wait for one look");
    sought(&mut world, Ok(claimed(Durability::Synced)));
    let opened: SegmentOpened = world.answer(first).body();
    assert_eq!(world.answer(second).body::<SegmentOpened>(), opened);
    world.store_all();
    let third = world.ask(1, open_only());
    assert_eq!(third.body::<SegmentOpened>(), opened);
    assert!(world.seeking.is_empty());
    let grant = world.lock(1, opened.segment);
    assert_eq!(grant.fence >> 32, 9, "fences are of the claim");
}

#[test]
fn space_5_a_claimed_segment_that_may_have_lost_versions_has_a_new_incarnation() {
    let mut world = member();
    world.hello(1);
    let opening = world.send(1, open_only());
    sought(&mut world, Ok(claimed(Durability::Written)));
    let opened: SegmentOpened = world.answer(opening).body();
    assert_ne!(opened.newest.incarnation, 5 << 32);
    let logged = |asked: &Asked| match asked {
        Asked::Append(_, group, _) => matches!(group[0].body, LogBody::Incarnation(_)),
        _ => false,
    };
    assert!(world.asked.iter().any(logged), "{:?}", world.asked);
}

#[test]
fn space_9_a_client_is_sent_on_by_open_and_remove() {
    let mut world = member();
    world.hello(1);
    let remove = Request::RemoveSegment(RemoveSegment {
        path: PATH.to_string(),
    });
    for request in [open(PATH, Durability::Synced), open_only(), remove] {
        let asked = world.send(1, request);
        sought(&mut world, Ok(elsewhere()));
        let answer = world.answer(asked);
        let reply: ErrorReply = answer.body();
        assert_eq!(reply.code, ErrorCode::Redirected);
        assert!(reply.text.contains("b.example:7747"), "{}", reply.text);
        let fields = Fields::of(&reply.fields).expect("fields");
        let to: RedirectField = fields
            .get(FieldKey::Redirect)
            .expect("it decodes")
            .expect("it is there");
        assert_eq!((&*to.address, &*to.tls_name), ("b.example:7747", "b"));
    }
}

/// A client that waits for a segment of an earlier start of the server.
fn waiting_for_earlier(world: &mut World) -> u32 {
    world.hello(1);
    let asked = world.send(1, open_only());
    sought(world, Ok(Sought::Earlier));
    assert!(world.try_answer(asked).is_none());
    assert!(world.seeking.is_empty() && !world.engine.is_idle());
    asked
}

#[test]
fn space_17_nobody_is_sent_to_the_server_that_is_asked() {
    let mut world = member();
    let asked = waiting_for_earlier(&mut world);
    world.hello(2);
    let later = world.send(2, open_only());
    assert!(world.seeking.is_empty(), "both wait for one look");
    for _ in 0..2 {
        world.pass(u64::from(SPACE_LEASE_MS) / 8 - 1);
        assert!(world.seeking.is_empty());
        world.pass(1);
        sought(&mut world, Ok(Sought::Earlier));
    }
    world.pass(u64::from(SPACE_LEASE_MS) / 8);
    sought(&mut world, Ok(claimed(Durability::Synced)));
    world.store_all();
    for request in [asked, later] {
        assert_eq!(world.answer(request).type_, MessageType::SegmentOpened);
    }
    assert!(world.engine.is_idle());
}

#[test]
fn space_17_a_segment_for_which_nobody_waits_is_not_looked_for_again() {
    let mut world = member();
    waiting_for_earlier(&mut world);
    world.engine.disconnected(world.now_ns(), 1);
    world.pass(u64::from(SPACE_LEASE_MS) / 8);
    assert!(world.seeking.is_empty() && world.engine.is_idle());
}

#[test]
fn space_17_a_server_that_stops_lets_nobody_wait_for_its_earlier_start() {
    let mut world = member();
    let asked = waiting_for_earlier(&mut world);
    world.engine.stop(world.now_ns());
    world.drain();
    assert_eq!(world.answer(asked).error(), ErrorCode::Stopping);
    assert!(world.engine.is_idle());
    // A look may be under way.
    let mut world = member();
    let asked = waiting_for_earlier(&mut world);
    world.pass(u64::from(SPACE_LEASE_MS) / 8);
    world.engine.stop(world.now_ns());
    sought(&mut world, Ok(Sought::Earlier));
    assert_eq!(world.answer(asked).error(), ErrorCode::Stopping);
    assert!(world.engine.is_idle());
}

#[test]
fn space_8_a_path_that_nobody_has_is_created_by_who_asks_first() {
    let mut world = member();
    world.hello(1);
    world.hello(2);
    let missing = world.send(1, open_only());
    let creating = world.send(2, open(PATH, Durability::Memory));
    let opening = world.send(1, open_only());
    sought(&mut world, Ok(Sought::Absent));
    assert_eq!(world.answer(missing).error(), ErrorCode::NoSegment);
    sought(&mut world, Ok(Sought::Absent));
    assert!(world.try_answer(creating).is_none(), "the store may refuse");
    world.store_all();
    let created: SegmentOpened = world.answer(creating).body();
    assert!(created.created);
    assert!(!world.answer(opening).body::<SegmentOpened>().created);
}

/// Another server may have made the segment, and told of it, since the look began.
#[test]
fn space_7_requests_that_come_during_a_look_wait_for_the_next_one() {
    let mut world = member();
    for connection in [1, 2, 3] {
        world.hello(connection);
    }
    let early = world.send(1, open_only());
    let late: Vec<u32> = (1..=3).map(|c| world.send(c, open_only())).collect();
    assert_eq!(world.seeking.len(), 1);
    sought(&mut world, Ok(Sought::Absent));
    assert_eq!(world.answer(early).error(), ErrorCode::NoSegment);
    assert_eq!(world.seeking.len(), 1, "one look for all");
    sought(&mut world, Ok(elsewhere()));
    for request in late {
        assert_eq!(world.answer(request).error(), ErrorCode::Redirected);
    }
    assert!(world.engine.is_idle());
}

#[test]
fn space_8_a_path_that_another_server_made_meanwhile_is_sought_again() {
    let mut world = member();
    world.hello(1);
    let creating = world.send(1, open(PATH, Durability::Synced));
    sought(&mut world, Ok(Sought::Absent));
    let asked = world.asked.remove(0);
    world.stored(&asked, Err(StoreError::PathTaken(1)));
    assert!(world.try_answer(creating).is_none());
    sought(&mut world, Ok(elsewhere()));
    assert_eq!(world.answer(creating).error(), ErrorCode::Redirected);
    assert!(world.engine.is_idle());
}

#[test]
fn space_8_a_creation_waits_until_it_lasts_whatever_the_segment_is() {
    for durable in [Durability::Synced, Durability::Written, Durability::Memory] {
        let mut world = member();
        world.hello(1);
        world.send(1, open(PATH, durable));
        sought(&mut world, Ok(Sought::Absent));
        let Some(Asked::Append(_, _, lasting)) = world.asked.first() else {
            panic!("{:?}", world.asked);
        };
        assert_eq!(*lasting, Durability::Synced, "{durable:?}");
    }
}

#[test]
fn space_9_who_may_not_know_of_a_segment_is_not_told_who_has_it() {
    let mut world = member();
    let rules = access("allow cert:elsewhere all /other/**\nend\n");
    world.engine.set_access(world.now_ns(), rules);
    enter(&mut world, 1, "elsewhere");
    let refused = world.ask(1, open_only());
    assert_eq!(refused.error(), ErrorCode::Denied);
    assert!(world.seeking.is_empty());
}

#[test]
fn space_15_who_has_a_lost_segment_open_asks_anew() {
    let mut world = member();
    world.hello(1);
    world.hello(2);
    world.hello(3);
    let opening = world.send(1, open_only());
    sought(&mut world, Ok(claimed(Durability::Synced)));
    let opened: SegmentOpened = world.answer(opening).body();
    world.store_all();
    world.ask(2, open_only());
    let grant = world.lock(1, opened.segment);
    let release = world.release(1, opened.segment, &grant, 1);
    let asked = world.asked.remove(0);
    world.stored(&asked, Err(StoreError::SegmentsFenced(vec![5 << 32])));
    assert_eq!(world.closed, [1, 2], "and not the third");
    assert!(
        world.try_answer(release).is_none(),
        "only the owner can tell"
    );
    assert!(world.engine.lost_store().is_none(), "the server continues");
    let again = world.send(3, open_only());
    sought(&mut world, Ok(elsewhere()));
    assert_eq!(world.answer(again).error(), ErrorCode::Redirected);
}

#[test]
fn space_15_an_old_answer_does_not_take_a_segment_that_was_claimed_anew() {
    let mut world = member();
    for connection in [1, 3] {
        world.hello(connection);
    }
    let fenced = || Err(StoreError::SegmentsFenced(vec![5 << 32]));
    let opening = world.send(1, open_only());
    sought(&mut world, Ok(claimed(Durability::Synced)));
    let number = world.answer(opening).body::<SegmentOpened>().segment;
    world.store_all();
    let grant = world.lock(1, number);
    world.release(1, number, &grant, 1);
    let now_ns = world.now_ns();
    world.engine.store_looked_at(now_ns, &[], &[5 << 32]);
    world.drain();
    let (release, checkpoint) = (world.asked.remove(0), world.asked.remove(0));
    world.stored(&checkpoint, fenced());
    assert_eq!(world.closed, [1]);
    let again = world.send(3, open_only());
    sought(&mut world, Ok(claimed(Durability::Synced)));
    let number = world.answer(again).body::<SegmentOpened>().segment;
    world.store_all();
    world.stored(&release, fenced());
    assert_eq!(world.closed, [1]);
    world.lock(3, number);
}

/// [STORE-18]
#[test]
fn space_15_a_segment_in_doubt_that_another_server_has_by_now_is_lost() {
    let mut world = member();
    world.hello(1);
    let opening = world.send(1, open_only());
    sought(&mut world, Ok(claimed(Durability::Synced)));
    let opened: SegmentOpened = world.answer(opening).body();
    world.store_all();
    let grant = world.lock(1, opened.segment);
    let release = world.release(1, opened.segment, &grant, 1);
    let asked = world.asked.remove(0);
    world.stored(&asked, Err(StoreError::Unknown("it broke".to_string())));
    let fenced = vec![(5 << 32, End::Fenced)];
    world.engine.settled(world.now_ns(), Ok(fenced));
    world.drain();
    assert_eq!(world.closed, [1]);
    assert!(
        world.try_answer(release).is_none(),
        "only the owner can tell"
    );
    assert!(world.engine.lost_store().is_none(), "the server continues");
}

#[test]
fn space_5_who_goes_while_a_segment_is_looked_for_gets_no_answer() {
    let mut world = member();
    world.hello(1);
    let opening = world.send(1, open_only());
    assert!(!world.engine.is_idle());
    world.engine.disconnected(world.now_ns(), 1);
    sought(&mut world, Ok(claimed(Durability::Synced)));
    assert!(world.try_answer(opening).is_none());
    world.hello(2);
    let opened = world.ask(2, open_only());
    assert_eq!(opened.type_, MessageType::SegmentOpened);
}

/// An answer of the store: this server, another one, and how the database is.
fn roll() -> MemberList {
    let member = |number, is_asked| MemberInfo {
        number,
        address: format!("{number}.example:7747"),
        tls_name: String::new(),
        lease_ms: SPACE_LEASE_MS,
        state: MemberState::Standing,
        is_asked,
        segments: 10 * number,
        rules_version: number,
    };
    let mut list = unshared("postgres", &StoreStatus::default());
    list.shares_store = true;
    list.members = vec![member(1, true), member(2, false)];
    (list.unowned, list.rules_version) = (3, 2);
    list.store.trouble = "no standby".to_string();
    list
}

fn list_members(after: u64) -> Request {
    Request::ListMembers(ListMembers { after })
}

fn looked(world: &mut World, asked: u64, found: Result<MemberList, StoreError>) {
    let now_ns = world.now_ns();
    world.engine.members_found(now_ns, asked, found);
    world.drain();
}

#[test]
fn space_30_who_asks_for_the_servers_hears_what_the_store_has_found() {
    let mut world = member();
    world.hello(1);
    let first = world.send(1, list_members(0));
    let second = world.send(1, list_members(7));
    assert_eq!(world.looks, [(1, 0, true), (2, 7, true)]);
    assert!(world.try_answer(first).is_none());
    looked(&mut world, 2, Ok(roll()));
    looked(&mut world, 1, Err(StoreError::Io("no answer".to_string())));
    let mut told = roll();
    // [SPACE-45] The asked server knows best what it has taken.
    told.members[0].rules_version = 0;
    assert_eq!(world.answer(second).body::<MemberList>(), told);
    let refused = world.answer(first);
    assert_eq!(refused.error(), ErrorCode::StoreFull);
    // An answer that comes twice, or to nobody, does nothing.
    looked(&mut world, 2, Ok(roll()));
    world.send(1, list_members(0));
    world.engine.disconnected(world.now_ns(), 1);
    looked(&mut world, 3, Ok(roll()));
    assert!(world
        .sent
        .iter()
        .all(|sent| sent.type_ != MessageType::MemberList));
}

#[test]
fn space_30_a_server_that_has_its_store_alone_names_itself() {
    let mut world = World::new(true);
    world.hello(1);
    world.open(1, PATH, Durability::Synced);
    let asked = world.send(1, list_members(0));
    looked(
        &mut world,
        1,
        Ok(unshared("directory", &StoreStatus::default())),
    );
    let list: MemberList = world.answer(asked).body();
    assert!(!list.shares_store && list.tells_all && !list.more);
    assert_eq!((&*list.store.kind, list.members.len()), ("directory", 1));
    let only = &list.members[0];
    assert_eq!((only.state, only.is_asked), (MemberState::Standing, true));
    assert_eq!((only.segments, only.lease_ms, &*only.address), (1, 0, ""));
}

#[test]
fn space_32_numbers_and_the_store_need_metrics() {
    let mut world = member();
    let rules = access("allow cert:reader read /**\nallow cert:watcher metrics\nend\n");
    world.engine.set_access(world.now_ns(), rules);
    enter(&mut world, 1, "reader");
    enter(&mut world, 2, "watcher");
    let reading = world.send(1, list_members(0));
    let watching = world.send(2, list_members(0));
    world.engine.note_rules(world.now_ns(), 1, None);
    assert_eq!(world.looks, [(1, 0, false), (2, 0, true)]);
    looked(&mut world, 1, Ok(roll()));
    looked(&mut world, 2, Ok(roll()));
    assert_eq!(world.answer(watching).body::<MemberList>(), roll());
    let list: MemberList = world.answer(reading).body();
    let told = list
        .members
        .iter()
        .map(|m| (m.number, m.segments, m.rules_version));
    assert_eq!(told.collect::<Vec<_>>(), [(1, 0, 0), (2, 0, 0)]);
    assert_eq!(list.members[1].address, "2.example:7747");
    let of_all = (list.tells_all, list.unowned, list.rules_version);
    assert_eq!(of_all, (false, 0, 0));
    assert_eq!((&*list.store.kind, &*list.store.trouble), ("", ""));
}

fn list_places(prefix: &str, after: &str) -> Request {
    Request::ListPlaces(ListPlaces {
        prefix: prefix.to_string(),
        after: after.to_string(),
    })
}

fn listed(path: &str, holder: Holder) -> Listed {
    Listed {
        path: path.to_string(),
        incarnation: 3,
        version: 9,
        holder,
    }
}

fn at_b() -> Holder {
    Holder::Other(Elsewhere {
        address: "b.example:7747".to_string(),
        tls_name: "b".to_string(),
    })
}

/// The store answers the only page that was asked for. Returns what was asked.
fn page(world: &mut World, segments: Vec<Listed>, is_last: bool) -> PageAsked {
    assert_eq!(world.pages.len(), 1);
    let (asked, what) = world.pages.remove(0);
    let now_ns = world.now_ns();
    world
        .engine
        .page_read(now_ns, asked, Ok(Page { segments, is_last }));
    world.drain();
    what
}

/// A server that owns the segments of these paths.
fn owner_of(paths: &[&str]) -> World {
    let mut world = member();
    world.hello(1);
    for path in paths {
        let opening = world.send(1, open(path, Durability::Memory));
        let path = world.seeking.remove(0);
        let now_ns = world.now_ns();
        world.engine.sought(now_ns, &path, Ok(Found::Absent));
        world.drain();
        world.store_all();
        world.answer(opening);
    }
    world
}

fn shown(list: &PlaceList) -> Vec<(&str, SegmentPlace)> {
    let places = list.places.iter();
    places.map(|one| (&*one.segment.path, one.place)).collect()
}

#[test]
fn space_34_a_list_has_the_segments_of_all_servers_in_order() {
    use SegmentPlace::{Elsewhere, Here, Unclaimed};
    let mut world = owner_of(&["/b", "/d", "/z"]);
    let asked = world.send(1, list_places("/", "/a"));
    let catalogue = vec![
        listed("/b", Holder::Asked),
        listed("/c", at_b()),
        listed("/d", Holder::Asked),
        listed("/e", Holder::Nobody),
        // It was given to this server, which nobody has asked for it since [SPACE-21].
        listed("/f", Holder::Asked),
    ];
    // `/z` is being made: the store does not have it yet.
    let what = page(&mut world, catalogue.clone(), true);
    assert_eq!(
        (&*what.prefix, what.from),
        ("/", Bound::Excluded("/a".to_string()))
    );
    let list: PlaceList = world.answer(asked).body();
    let all = [
        ("/b", Here),
        ("/c", Elsewhere),
        ("/d", Here),
        ("/e", Unclaimed),
        ("/f", Here),
        ("/z", Here),
    ];
    assert_eq!(shown(&list), all);
    assert!(!list.more);
    // [SPACE-35] [SPACE-36]
    let there = &list.places[1];
    assert_eq!((&*there.address, &*there.tls_name), ("b.example:7747", "b"));
    assert_eq!(
        (there.segment.clients, there.segment.newest.number),
        (NOT_KNOWN, 9)
    );
    let clients = [0, 4].map(|at| list.places[at].segment.clients);
    assert_eq!(clients, [1, NOT_KNOWN]);
    let asked = world.send(
        1,
        Request::ListSegments(ListSegments {
            prefix: "/".to_string(),
            after: "/a".to_string(),
        }),
    );
    page(&mut world, catalogue, true);
    let of_all = list.places.into_iter().map(|place| place.segment);
    let segments = world.answer(asked).body::<SegmentList>().segments;
    assert_eq!(segments, of_all.collect::<Vec<_>>());
}

#[test]
fn space_35_a_segment_of_this_server_is_here_also_at_the_end_of_a_page() {
    let mut world = owner_of(&["/b", "/d"]);
    let asked = world.send(1, list_places("/", ""));
    let both = ["/b", "/d"].map(|path| listed(path, Holder::Asked));
    page(&mut world, both.to_vec(), false);
    page(&mut world, Vec::new(), true);
    let list: PlaceList = world.answer(asked).body();
    let here = ["/b", "/d"].map(|path| (path, SegmentPlace::Here));
    assert_eq!(shown(&list), here);
}

#[test]
fn space_34_a_list_goes_on_page_by_page_until_it_is_full() {
    let mut world = owner_of(&["/own/1", "/own/2"]);
    let asked = world.send(1, list_places("/", ""));
    let path = |at: usize| format!("/far/{at:04}");
    let far = |range: std::ops::Range<usize>| {
        range
            .map(|at| listed(&path(at), at_b()))
            .collect::<Vec<_>>()
    };
    let what = page(&mut world, far(0..100), false);
    assert_eq!(what.most, MAX_LISTED + 1);
    assert!(world.try_answer(asked).is_none(), "there is room for more");
    let what = page(&mut world, far(100..300), false);
    assert_eq!(what.from, Bound::Excluded(path(99)));
    let list: PlaceList = world.answer(asked).body();
    assert!(list.more && list.places.len() == MAX_LISTED as usize);
    assert_eq!(list.places[127].segment.path, path(127));
    // The next request begins behind it, and ends with the last page.
    let asked = world.send(1, list_places("/", &path(127)));
    let own = ["/own/1", "/own/2"].map(|path| listed(path, Holder::Asked));
    page(&mut world, [far(128..130), own.to_vec()].concat(), true);
    let list: PlaceList = world.answer(asked).body();
    let paths = shown(&list).into_iter().map(|(path, _)| path);
    assert!(!list.more);
    assert_eq!(
        paths.collect::<Vec<_>>(),
        [&*path(128), &path(129), "/own/1", "/own/2"]
    );
}

#[test]
fn space_34_a_list_shows_what_may_be_read_and_passes_over_folders() {
    let mut world = member();
    let rules = access("allow cert:reader read /z/**\nend\n");
    world.engine.set_access(world.now_ns(), rules);
    enter(&mut world, 1, "reader");
    let asked = world.send(1, list_places("/", ""));
    let secret = |at: usize| listed(&format!("/a/{at:04}"), at_b());
    page(&mut world, (0..129).map(secret).collect(), false);
    assert!(
        world.try_answer(asked).is_none(),
        "an empty list would be the last one"
    );
    let what = page(&mut world, vec![listed("/z/1", at_b())], true);
    assert_eq!(
        what.from,
        Bound::Included("/a0".to_string()),
        "behind the folder"
    );
    let list: PlaceList = world.answer(asked).body();
    assert_eq!(shown(&list), [("/z/1", SegmentPlace::Elsewhere)]);
    // The rules change while a list is made.
    let asked = world.send(1, list_places("/", ""));
    let none = access("allow cert:reader read /other\nend\n");
    page(&mut world, (0..129).map(secret).collect(), false);
    world.engine.set_access(world.now_ns(), none);
    page(&mut world, vec![listed("/z/1", at_b())], true);
    assert!(world.answer(asked).body::<PlaceList>().places.is_empty());
}

#[test]
fn space_34_what_follows_a_folder_that_is_passed_over_is_shown_once() {
    let mut world = member();
    let rules = access("allow cert:reader read /a0\nend\n");
    world.engine.set_access(world.now_ns(), rules);
    enter(&mut world, 1, "reader");
    let asked = world.send(1, list_places("/", ""));
    let mut all: Vec<Listed> = (0..9)
        .map(|at| listed(&format!("/a/{at}"), at_b()))
        .collect();
    // The first path behind the folder.
    all.push(listed("/a0", at_b()));
    page(&mut world, all, false);
    let what = page(&mut world, Vec::new(), true);
    assert_eq!(what.from, Bound::Excluded("/a0".to_string()));
    let list: PlaceList = world.answer(asked).body();
    assert_eq!(shown(&list), [("/a0", SegmentPlace::Elsewhere)]);
}

#[test]
fn space_37_a_list_that_the_store_cannot_give_is_refused() {
    let mut world = owner_of(&["/own"]);
    let asked = world.send(1, list_places("/", ""));
    let (number, _) = world.pages.remove(0);
    let now_ns = world.now_ns();
    let lost = StoreError::Io("no answer".to_string());
    world.engine.page_read(now_ns, number, Err(lost));
    world.drain();
    assert_eq!(world.answer(asked).error(), ErrorCode::StoreFull);
    // A client that has gone meanwhile is not answered.
    let asked = world.send(1, list_places("/", ""));
    world.engine.disconnected(now_ns, 1);
    page(&mut world, vec![listed("/far", at_b())], true);
    assert!(world.try_answer(asked).is_none());
}

#[test]
fn space_36_without_a_space_each_segment_is_here() {
    let mut world = World::new(false);
    world.hello(1);
    world.open(1, PATH, Durability::Memory);
    let list: PlaceList = world.ask(1, list_places("/", "")).body();
    assert_eq!(shown(&list), [(PATH, SegmentPlace::Here)]);
}

#[test]
fn space_44_a_server_whose_rules_are_unread_lets_nobody_in() {
    let mut world = member();
    world.hello(1);
    let why = "no route".to_string();
    world.engine.note_rules(world.now_ns(), 4, Some(why));
    let nobody = Peer::default();
    world
        .engine
        .connected(world.now_ns(), 2, session_of(2), nobody);
    let refused = world.ask(2, Request::Hello(hello([0; 16])));
    assert_eq!(refused.error(), ErrorCode::Stopping);
    assert!(refused.body::<PlainError>().text.contains("no route"));
    assert_eq!(world.closed, [2], "the session of the other one continues");
    assert!(world.engine.lacks_rules());
    world.engine.note_rules(world.now_ns(), 4, None);
    assert!(!world.engine.lacks_rules());
    assert_eq!(world.engine.rules_version(), 4);
    world.hello(3);
}
