//! [LOG-18] Large segments are saved in pieces, while everything else continues.

use super::*;
use interweave_master::Segment;
use interweave_store::{Next, Piece, RecoveredSegment};

const ID: u64 = FIRST_FENCE + 1;

/// Segments with more than 100 bytes are saved in pieces of about as many.
fn world() -> World {
    World::with(Config {
        stored: true,
        lease_ms: LEASE_MS,
        max_hold_ms: 3 * LEASE_MS,
        first_fence: FIRST_FENCE,
        whole_bytes: 100,
        piece_bytes: 100,
        ..Config::default()
    })
}

/// A world with a client whose segment has 100 ints, in a block each.
fn large(durable: Durability) -> (World, u32) {
    let mut world = world();
    let segment = world.clients(1, durable);
    (1..=100).for_each(|sequence| {
        world.write(1, segment, sequence);
    });
    (world, segment)
}

impl World {
    /// The store wants the segments saved.
    fn want(&mut self, ids: &[u64]) {
        self.engine.store_looked_at(self.now_ns(), &[], ids);
        self.drain();
    }

    /// Returns the engine's answer when the store asks for a piece.
    fn next_of(&mut self, ticket: u64) -> Next {
        self.engine.piece_wanted(self.now_ns(), ticket);
        self.drain();
        let [(_, next)] = &self.given[..] else {
            panic!("one answer, not {:?}", self.given);
        };
        let next = next.clone();
        self.given.clear();
        next
    }

    /// All pieces of the checkpoint. `before_each` happens before the store asks for one.
    fn all_pieces(&mut self, ticket: u64, mut before_each: impl FnMut(&mut World)) -> Vec<Piece> {
        let mut pieces = Vec::new();
        loop {
            before_each(self);
            match self.next_of(ticket) {
                Next::Piece(piece) => pieces.push(piece),
                Next::Last(piece) => {
                    pieces.push(piece);
                    return pieces;
                }
                Next::Nothing => panic!("it was given up"),
            }
        }
    }

    /// The ticket and the head of the checkpoint in pieces that was asked for.
    fn in_pieces(&mut self) -> (Asked, u64, Box<CheckpointHead>) {
        let asked = self.asked.pop().expect("a checkpoint");
        let Asked::InPieces(ticket, head) = &asked else {
            panic!("not in pieces: {asked:?}");
        };
        let (ticket, head) = (*ticket, head.clone());
        (asked, ticket, head)
    }
}

fn values(segment: &Segment) -> Vec<(u64, Option<Vec<u8>>)> {
    let blocks = segment.blocks();
    let values = blocks.map(|b| (b.serial, b.slots.map(<[u8]>::to_vec)));
    values.collect()
}

#[test]
fn a_checkpoint_in_pieces_is_of_the_version_at_which_it_began() {
    let (mut world, segment) = large(Durability::Synced);
    let before = values(&world.engine.segments.get(segment).expect("it").master);
    world.want(&[ID]);
    let (asked, ticket, head) = world.in_pieces();
    assert_eq!(head.at.number, 100);
    let mut sequence = 100;
    let pieces = world.all_pieces(ticket, |world| {
        sequence += 1;
        world.write(1, segment, sequence);
    });
    assert!(pieces.len() > 10, "{}", pieces.len());
    world.stored(&asked, Ok(()));
    let pieces = pieces.into_iter().map(|piece| interweave_master::Piece {
        diff: piece.diff,
        ages: piece.ages,
    });
    let restored = Segment::restore_pieces(pieces, 0).expect("a checkpoint");
    assert_eq!(restored.newest(), 100);
    assert_eq!(values(&restored), before);
    world.want(&[ID]);
    assert_eq!(world.in_pieces().2.at.number, sequence, "another may begin");
}

#[test]
fn a_segment_that_is_removed_is_not_saved_any_more() {
    let (mut world, _) = large(Durability::Synced);
    world.want(&[ID]);
    let (asked, ticket, _) = world.in_pieces();
    assert!(matches!(world.next_of(ticket), Next::Piece(_)));
    let path = "/list".to_string();
    let stream = world.send(1, Request::RemoveSegment(RemoveSegment { path }));
    assert!(matches!(world.next_of(ticket), Next::Nothing));
    world.store_all();
    assert_eq!(world.answer(stream).type_, MessageType::Done);
    assert!(matches!(world.next_of(ticket), Next::Nothing));
    world.stored(&asked, Ok(()));
    assert!(world.engine.is_idle());
}

#[test]
fn a_large_memory_segment_is_saved_each_minute_that_it_changes() {
    let (mut world, _) = large(Durability::Memory);
    world.pass_talking(60_000, &[1]);
    world.want(&[]);
    assert_eq!(world.in_pieces().2.at.number, 100);
}

/// No log has its contents, so it was unsaved when the checkpoint began.
#[test]
fn a_memory_segment_that_is_removed_is_not_saved_at_the_end() {
    let (mut world, _) = large(Durability::Memory);
    world.want(&[ID]);
    let (asked, ticket, _) = world.in_pieces();
    assert!(matches!(world.next_of(ticket), Next::Piece(_)));
    let path = "/list".to_string();
    world.send(1, Request::RemoveSegment(RemoveSegment { path }));
    assert!(matches!(world.next_of(ticket), Next::Nothing));
    world.store_all();
    world.stored(&asked, Ok(()));
    let now_ns = world.now_ns();
    world.engine.stop(now_ns);
    world.engine.save_and_part(now_ns);
    assert!(world.engine.is_saved());
}

#[test]
fn a_stop_gives_up_what_the_log_has_and_finishes_the_rest() {
    let (mut world, _) = large(Durability::Synced);
    world.want(&[ID]);
    let (asked, ticket, _) = world.in_pieces();
    world.engine.stop(world.now_ns());
    assert!(matches!(world.next_of(ticket), Next::Nothing));
    world.stored(&asked, Ok(()));
    assert!(world.engine.is_idle() && world.engine.is_saved());

    let (mut world, _) = large(Durability::Memory);
    world.want(&[ID]);
    let (asked, ticket, _) = world.in_pieces();
    world.engine.stop(world.now_ns());
    while matches!(world.next_of(ticket), Next::Piece(_)) {}
    world.stored(&asked, Ok(()));
    assert!(world.engine.is_idle() && world.engine.is_saved());
}

#[test]
fn a_checkpoint_that_failed_leaves_the_segment_unsaved_and_is_begun_anew() {
    let (mut world, _) = large(Durability::Memory);
    world.want(&[ID]);
    let (asked, ticket, _) = world.in_pieces();
    assert!(matches!(world.next_of(ticket), Next::Piece(_)));
    let error = StoreError::Full("no room".to_string());
    world.stored(&asked, Err(error));
    assert!(!world.engine.is_saved());
    world.want(&[ID]);
    let (_, ticket, _) = world.in_pieces();
    let Next::Piece(first) = world.next_of(ticket) else {
        panic!("a first piece");
    };
    let from = interweave_wire::Diff::parse(&first.diff)
        .expect("a diff")
        .from;
    assert_eq!(from, 0, "from its beginning");
}

#[test]
fn one_checkpoint_in_pieces_is_under_way_at_a_time_and_small_ones_do_not_wait() {
    let (mut world, _) = large(Durability::Synced);
    let other = world.open(1, "/other", Durability::Synced);
    (101..=200).for_each(|sequence| {
        world.write(1, other, sequence);
    });
    let small = world.open(1, "/small", Durability::Synced);
    world.write(1, small, 201);
    world.want(&[ID]);
    let (asked, ..) = world.in_pieces();
    world.want(&[ID, ID + 1, ID + 2]);
    let small = world.asked.pop().expect("the small one");
    assert!(matches!(small, Asked::Checkpoint(..)), "{small:?}");
    assert!(world.asked.is_empty(), "{:?}", world.asked);
    world.stored(&asked, Ok(()));
    world.want(&[ID + 1]);
    assert_eq!(world.in_pieces().2.segment_id, ID + 1);
}

#[test]
fn log_18_a_start_rebuilds_a_segment_from_either_kind_of_checkpoint() {
    for is_large in [true, false] {
        let (mut world, segment) = match is_large {
            true => large(Durability::Synced),
            false => {
                let mut world = World::new(true);
                let segment = world.clients(1, Durability::Synced);
                world.write(1, segment, 1);
                (world, segment)
            }
        };
        let before = values(&world.engine.segments.get(segment).expect("it").master);
        let stamp = world.newest(1, segment);
        world.want(&[ID]);
        let (checkpoint, pieces) = match world.asked.pop() {
            Some(Asked::Checkpoint(_, checkpoint)) => {
                ((checkpoint.head, checkpoint.diff), Vec::new())
            }
            Some(Asked::InPieces(ticket, head)) => {
                ((*head, Bytes::new()), world.all_pieces(ticket, |_| ()))
            }
            other => panic!("not a checkpoint: {other:?}"),
        };
        assert_eq!(pieces.is_empty(), !is_large);
        let (mut world, remarks) = super::durability::restarted(RecoveredSegment {
            segment_id: ID,
            epoch: (FIRST_FENCE >> 32) + 1,
            path: "/list".to_string(),
            durable: Durability::Synced,
            quota_bytes: 1 << 20,
            creator: None,
            incarnation: stamp.incarnation,
            checkpoint: Some(checkpoint),
            pieces,
            releases: Vec::new(),
            serials_below: 1 << 20,
            clean: true,
            damage: None,
        });
        assert!(remarks.is_empty(), "{remarks:?}");
        let segment = world.clients(1, Durability::Synced);
        assert_eq!(world.newest(1, segment), stamp);
        let after = values(&world.engine.segments.get(segment).expect("it").master);
        assert_eq!(after, before);
    }
}
