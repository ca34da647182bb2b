//! [LOG-18] A checkpoint in pieces is of one version, whatever is committed between them. The
//! random walk of versions.rs does the same with blocks of all types.

use bytes::Bytes;
use interweave_master::{Piece, Segment};
use interweave_wire::value::put_run;
use interweave_wire::{Diff, DiffBuilder};

const INT: u32 = 5;
const INTS: u64 = 100_000;
const PIECE: u64 = 16 << 10;

fn commit(segment: &mut Segment, build: impl FnOnce(&mut DiffBuilder)) {
    let base = segment.newest();
    let mut diff = DiffBuilder::new(base, base + 1);
    build(&mut diff);
    let checked = segment.check(&diff.finish(), base, &[(1, 1 << 40)]);
    segment.commit(checked.expect("a right diff"));
}

/// Fills units of a block with a byte.
fn write(segment: &mut Segment, serial: u64, (first, count): (u64, u64), byte: u8) {
    let mut runs = Vec::new();
    let layout = segment.block(serial).expect("the block").layout;
    let slots = vec![byte; layout.bytes() as usize];
    put_run(layout, first, (first, count), &slots, &mut runs);
    commit(segment, |diff| diff.change(serial, &runs));
}

/// Blocks 1, 2 and 3 of ints, filled with their serials.
fn segment() -> Segment {
    let mut segment = Segment::new(0);
    for serial in 1..=3 {
        commit(&mut segment, |diff| {
            diff.add_block(serial, INT, INTS, &format!("block-{serial}"));
        });
        write(&mut segment, serial, (0, INTS), serial as u8);
    }
    segment
}

fn take(segment: &mut Segment, pieces: &mut Vec<Piece>) -> bool {
    let (piece, more) = segment.next_piece(PIECE).expect("a checkpoint");
    assert!(piece.diff.len() as u64 <= PIECE + 8192, "a piece is small");
    pieces.push(piece);
    more
}

fn rest(segment: &mut Segment, mut pieces: Vec<Piece>) -> Segment {
    while take(segment, &mut pieces) {}
    Segment::restore_pieces(pieces.into_iter(), 0).expect("a checkpoint")
}

fn contents(segment: &Segment) -> Vec<(u64, Option<String>, Vec<u8>)> {
    let of = |block: interweave_master::BlockInfo<'_>| {
        let zeros = || vec![0; block.layout.bytes() as usize];
        let slots = block.slots.map_or_else(zeros, <[u8]>::to_vec);
        (block.serial, block.name.map(str::to_string), slots)
    };
    segment.blocks().map(of).collect()
}

/// Takes a few pieces, lets `between` commit, and expects the segment as it was before.
fn check(between: impl FnOnce(&mut Segment)) -> Segment {
    let mut segment = segment();
    let (version, before) = (segment.newest(), contents(&segment));
    segment.begin_checkpoint();
    let mut pieces = Vec::new();
    // Block 1 is collected, and half of block 2.
    for _ in 0..36 {
        assert!(take(&mut segment, &mut pieces));
    }
    between(&mut segment);
    let restored = rest(&mut segment, pieces);
    assert_eq!(restored.newest(), version);
    assert!(contents(&restored) == before);
    assert_eq!(segment.checkpoint_bytes(), 0);
    segment
}

#[test]
fn units_that_change_meanwhile_come_out_as_they_were() {
    check(|segment| {
        for serial in 1..=3 {
            write(segment, serial, (5, 1), 9);
            write(segment, serial, (INTS / 2 - 3000, 6000), 9);
            write(segment, serial, (INTS - 1, 1), 9);
        }
        write(segment, 3, (INTS / 2, 8), 10);
    });
}

#[test]
fn blocks_that_are_replaced_freed_or_made_meanwhile_come_out_as_they_were() {
    let segment = check(|segment| {
        write(segment, 3, (70, 7), 9);
        (1..=3).for_each(|serial| write(segment, serial, (0, INTS), 9));
        write(segment, 3, (70, 7), 10);
        commit(segment, |diff| {
            diff.free(2);
            diff.free(3);
            diff.add_block(4, INT, INTS, "block-2");
        });
        write(segment, 4, (0, INTS), 4);
    });
    assert_eq!(contents(&segment).len(), 2);
}

#[test]
fn only_what_is_overwritten_is_kept() {
    let mut segment = segment();
    segment.begin_checkpoint();
    for round in 0..10 {
        (1..=3).for_each(|serial| write(&mut segment, serial, (round, 1), 9));
        assert!(segment.checkpoint_bytes() < 3 * 8192, "one chunk of each");
    }
    segment.end_checkpoint();
    assert_eq!(segment.checkpoint_bytes(), 0);
    assert!(segment.next_piece(PIECE).is_none());
}

#[test]
fn blocks_keep_the_order_of_the_versions_that_changed_them() {
    let mut segment = segment();
    write(&mut segment, 2, (0, 1), 7);
    write(&mut segment, 1, (0, 1), 7);
    let order = |segment: &Segment| -> Vec<u64> {
        let diff = Diff::parse(&segment.checkpoint()).expect("a diff");
        let blocks = diff
            .new_blocks()
            .map(|block| block.expect("a block").serial);
        blocks.collect()
    };
    segment.begin_checkpoint();
    write(&mut segment, 3, (0, 1), 7);
    let mut restored = rest(&mut segment, Vec::new());
    assert_eq!(order(&restored), [3, 2, 1]);
    restored.begin_checkpoint();
    let again = rest(&mut restored, Vec::new());
    assert_eq!(order(&again), [3, 2, 1]);
}

#[test]
fn a_long_block_of_zeros_takes_several_pieces() {
    let mut segment = Segment::new(0);
    commit(&mut segment, |diff| diff.add_block(1, INT, INTS, ""));
    write(&mut segment, 1, (INTS - 1, 1), 1);
    segment.begin_checkpoint();
    let mut pieces = Vec::new();
    while take(&mut segment, &mut pieces) {}
    assert!(pieces.len() > 20);
    let bytes: usize = pieces.iter().map(|piece| piece.diff.len()).sum();
    assert!(bytes < 8192, "zeros are left out");
    let restored = Segment::restore_pieces(pieces.into_iter(), 0).expect("a checkpoint");
    assert!(contents(&restored) == contents(&segment));
}

#[test]
fn pieces_that_do_not_fit_together_are_refused() {
    let mut segment = segment();
    segment.begin_checkpoint();
    let mut pieces = Vec::new();
    while take(&mut segment, &mut pieces) {}
    let refused = |pieces: &[Piece]| {
        Segment::restore_pieces(pieces.iter().cloned(), 0)
            .expect_err("it is refused")
            .text
    };
    assert!(refused(&pieces[1..]).contains("version"));
    let twice = [&pieces[..1], &pieces[..]].concat();
    assert!(refused(&twice).contains("version"));
    let mut ages = pieces.clone();
    ages[0].ages = Bytes::from_static(&[1, 1]);
    assert!(refused(&ages).contains("more ages"));
    ages[0].ages = Bytes::from_static(&[100]);
    assert!(refused(&ages).contains("older than version 0"));
    ages[0].ages = Bytes::new();
    Segment::restore_pieces(ages.into_iter(), 0).expect_err("no age");
    let mut other = DiffBuilder::new(segment.newest(), segment.newest() + 1);
    other.lists_live();
    pieces[1].diff = other.finish();
    assert!(refused(&pieces).contains("different versions"));
    let mut frees = DiffBuilder::new(segment.newest(), segment.newest());
    frees.free(1);
    pieces[1].diff = frees.finish();
    assert!(refused(&pieces[..2]).contains("frees"));
}
