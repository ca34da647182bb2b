//! What a segment promises beyond "readers end equal": what is refused and how, how much is sent,
//! what is cached, and what memory it takes.

use bytes::Bytes;
use interweave_master::{Order, Rejection, Segment, Tuning};
use interweave_wire::protocol::*;
use interweave_wire::value::put_run;
use interweave_wire::{Diff, DiffBuilder, Pointer};

const CHAR: u32 = 1;
const SHORT: u32 = 3;
const INT: u32 = 5;
const DOUBLE: u32 = 10;

fn commit(segment: &mut Segment, build: impl FnOnce(&mut DiffBuilder)) -> Result<u64, Rejection> {
    let base = segment.newest();
    let mut diff = DiffBuilder::new(base, base + 1);
    build(&mut diff);
    let checked = segment.check(&diff.finish(), base, &[(1, 1 << 40)])?;
    Ok(segment.commit(checked))
}

fn refused(segment: &mut Segment, build: impl FnOnce(&mut DiffBuilder)) -> ErrorCode {
    commit(segment, build).expect_err("it is refused").code
}

/// A block of that type, all of whose bytes are 1.
fn filled(segment: &mut Segment, serial: u64, type_serial: u32, count: u64) {
    commit(segment, |diff| {
        diff.add_block(serial, type_serial, count, "");
    })
    .unwrap();
    write(
        segment,
        serial,
        &[(0, segment.block(serial).unwrap().layout.units())],
        1,
    );
}

/// Fills runs of units of a block with a byte.
fn write(segment: &mut Segment, serial: u64, units: &[(u64, u64)], byte: u8) {
    let mut runs = Vec::new();
    let layout = segment.block(serial).unwrap().layout;
    let slots = vec![byte; layout.bytes() as usize];
    let mut end = 0;
    for &(first, count) in units {
        put_run(layout, first - end, (first, count), &slots, &mut runs);
        end = first + count;
    }
    commit(segment, |diff| diff.change(serial, &runs)).unwrap();
}

/// Serial, and the runs (first unit, count), of each change in a diff.
fn changes(segment: &Segment, diff: &Bytes) -> Vec<(u64, Vec<(u64, u64)>)> {
    let diff = Diff::parse(diff).unwrap();
    let runs = |change: interweave_wire::diff::Change<'_>| {
        use interweave_wire::{value, varint::Cursor};
        let layout = segment.block(change.serial).unwrap().layout;
        let (mut cursor, mut position, mut runs) = (Cursor::new(change.runs), 0, Vec::new());
        while let Some(run) = value::next_run(layout, &mut position, &mut cursor).unwrap() {
            value::check_run(layout, run.0, run.1, &mut cursor, 0).unwrap();
            runs.push(run);
        }
        (change.serial, runs)
    };
    diff.changes().map(|change| runs(change.unwrap())).collect()
}

#[test]
fn a_changed_unit_sends_its_subblock_and_neighbours_are_joined() {
    let mut segment = Segment::new(0);
    for (serial, type_serial, units) in
        [(1, INT, 16), (2, CHAR, 64), (3, SHORT, 32), (4, DOUBLE, 16)]
    {
        filled(&mut segment, serial, type_serial, 1000);
        let before = segment.newest();
        write(&mut segment, serial, &[(5 * units + 3, 1)], 2);
        write(&mut segment, serial, &[(7 * units, 1)], 2);
        let diff = segment.collect(before).joined();
        let expected = vec![(5 * units, units), (7 * units, units)];
        assert_eq!(changes(&segment, &diff), [(serial, expected)]);
        write(&mut segment, serial, &[(6 * units + 1, 1), (999, 1)], 2);
        let diff = segment.collect(before).joined();
        let tail = 999 / units * units;
        let expected = vec![(5 * units, 3 * units), (tail, 1000 - tail)];
        assert_eq!(changes(&segment, &diff), [(serial, expected)]);
    }
}

#[test]
fn blocks_go_out_in_the_order_of_their_versions() {
    let mut segment = Segment::new(0);
    for serial in [1, 2, 3, 4] {
        filled(&mut segment, serial, INT, 4);
    }
    write(&mut segment, 2, &[(0, 1)], 7);
    write(&mut segment, 1, &[(0, 1)], 7);
    let diff = Diff::parse(&segment.collect(0).joined()).unwrap();
    let order: Vec<u64> = diff
        .new_blocks()
        .map(|block| block.unwrap().serial)
        .collect();
    assert_eq!(order, [3, 4, 2, 1]);
    let newest = segment.newest();
    assert_eq!(changes(&segment, &segment.checkpoint())[0].0, 3);
    let diff = segment.collect(newest - 1).joined();
    assert_eq!(
        changes(&segment, &diff),
        [(1, vec![(0, 1)])],
        "forwarded as it came"
    );
}

#[test]
fn a_diff_is_collected_once_and_a_received_one_never() {
    let mut segment = Segment::new(0);
    (1..=4).for_each(|serial| filled(&mut segment, serial, DOUBLE, 100));
    let newest = segment.newest();
    for _ in 0..5 {
        segment.collect(newest - 1).joined();
    }
    assert_eq!(segment.collections(), 0);
    for _ in 0..5 {
        segment.collect(newest - 3).joined();
        segment.collect(0).joined();
    }
    assert_eq!(segment.collections(), 2);
    let (a, b) = (segment.collect(0).joined(), segment.collect(0).joined());
    assert_eq!(a.as_ptr(), b.as_ptr(), "the same bytes, not a copy");
}

#[test]
fn unknown_versions_get_a_complete_copy_that_lists_what_is_live() {
    let mut segment = Segment::new(0);
    for serial in [1, 2, 3, 7] {
        filled(&mut segment, serial, INT, 1);
    }
    commit(&mut segment, |diff| diff.free(2)).unwrap();
    let diff = Diff::parse(&segment.collect(99).joined()).unwrap();
    assert_eq!((diff.from, diff.to), (0, 9));
    assert_eq!(diff.live().unwrap(), Some(vec![1..2, 3..4, 7..8]));
    let mut restored = Segment::restore(&segment.checkpoint(), 0).unwrap();
    assert_eq!(
        Diff::parse(&restored.collect(8).joined()).unwrap().from,
        0,
        "before the checkpoint"
    );
    assert_eq!(Diff::parse(&restored.collect(9).joined()).unwrap().from, 9);
}

#[test]
fn who_is_older_than_the_history_of_frees_gets_the_live_list() {
    let mut segment = Segment::new(0);
    commit(&mut segment, |diff| {
        (1..=5000).for_each(|serial| diff.add_block(serial, CHAR, 1, ""));
    })
    .unwrap();
    let mut copy = Segment::new(0);
    copy.apply(&segment.collect(0).joined()).unwrap();
    for serial in 1..=4500 {
        commit(&mut segment, |diff| diff.free(serial)).unwrap();
    }
    let diff = segment.collect(1).joined();
    let parsed = Diff::parse(&diff).unwrap();
    assert_eq!(
        (parsed.from, parsed.live().unwrap()),
        (1, Some(std::iter::once(4501..5001).collect()))
    );
    assert!(diff.len() < 32);
    copy.apply(&diff).unwrap();
    assert_eq!((copy.block_count(), copy.newest()), (500, 4501));
    let recent = Diff::parse(&segment.collect(4000).joined()).unwrap();
    assert_eq!(recent.freed().unwrap().len(), 501);
    assert!(segment.overhead_bytes().metadata_bytes < 200_000, "bounded");
    assert!(
        segment.overhead_bytes().block_bytes < 64 * 500 * 2 + 256 * 64,
        "places are reclaimed"
    );
}

#[test]
fn a_writers_diff_is_from_the_newest_version_to_the_next() {
    let mut segment = Segment::new(0);
    filled(&mut segment, 1, INT, 4);
    let check = |from, to, base, diff: &dyn Fn(&mut DiffBuilder)| {
        let mut builder = DiffBuilder::new(from, to);
        diff(&mut builder);
        segment
            .check(&builder.finish(), base, &[])
            .map(|_| ())
            .map_err(|r| r.code)
    };
    assert_eq!(
        check(2, 3, 2, &|_| ()),
        Ok(()),
        "an empty release makes a version"
    );
    for (from, to, base) in [
        (1, 2, 1),
        (2, 4, 2),
        (2, 2, 2),
        (1, 3, 2),
        (0, 1, 2),
        (3, 4, 3),
    ] {
        assert_eq!(
            check(from, to, base, &|_| ()),
            Err(ErrorCode::Malformed),
            "{from}-{to}"
        );
    }
    assert!(check(2, 3, 2, &|diff| diff.lists_live()).is_err());
    assert!(check(2, 3, 2, &|diff| diff.metadata_only()).is_err());
}

#[test]
fn serials_come_from_the_grant_and_are_never_used_again() {
    let mut segment = Segment::new(0);
    let check = |segment: &Segment, serial, ranges: &[(u64, u64)]| {
        let mut diff = DiffBuilder::new(segment.newest(), segment.newest() + 1);
        diff.add_block(serial, INT, 1, "");
        segment
            .check(&diff.finish(), segment.newest(), ranges)
            .is_ok()
    };
    assert!(check(&segment, 10, &[(10, 1)]));
    assert!(check(&segment, 25, &[(10, 10), (25, 1)]));
    assert!(!check(&segment, 9, &[(10, 1)]));
    assert!(!check(&segment, 11, &[(10, 1)]));
    assert!(!check(&segment, 5, &[]));
    filled(&mut segment, 20, INT, 1);
    commit(&mut segment, |diff| diff.free(20)).unwrap();
    assert!(!check(&segment, 20, &[(1, 100)]), "freed, but used");
    assert!(!check(&segment, 19, &[(1, 100)]), "skipped, and so lost");
    assert!(check(&segment, 21, &[(1, 100)]));
    segment.use_serials_below(50);
    assert!(!check(&segment, 49, &[(1, 100)]));
}

#[test]
fn what_does_not_fit_the_segment_is_refused() {
    let mut segment = Segment::new(0);
    commit(&mut segment, |diff| {
        diff.add_block(1, INT, 4, "taken");
        diff.add_block(2, INT, 4, "");
    })
    .unwrap();
    type Build = fn(&mut DiffBuilder);
    let run: &[u8] = &[0, 1, 1, 0, 0, 0];
    assert!(commit(&mut segment, |diff| diff.change(1, run)).is_ok());
    let cases: [(&str, ErrorCode, Build); 18] = [
        ("no block", ErrorCode::Malformed, |d| {
            d.change(3, &[0, 1, 1, 0, 0, 0])
        }),
        ("beyond the end", ErrorCode::Malformed, |d| {
            d.change(1, &[4, 1, 1, 0, 0, 0])
        }),
        ("data cut off", ErrorCode::Malformed, |d| {
            d.change(1, &[0, 1, 1, 0, 0])
        }),
        ("data too long", ErrorCode::Malformed, |d| {
            d.change(1, &[0, 1, 1, 0, 0, 0, 0])
        }),
        ("an empty run", ErrorCode::Malformed, |d| {
            d.change(1, &[0, 0])
        }),
        ("a block twice", ErrorCode::Malformed, |d| {
            d.change(2, &[]);
            d.change(1, &[]);
            d.change(2, &[]);
        }),
        ("a block twice at once", ErrorCode::Malformed, |d| {
            d.change(2, &[]);
            d.change(2, &[]);
        }),
        ("freed and changed", ErrorCode::Malformed, |d| {
            d.free(1);
            d.change(1, &[0, 1, 1, 0, 0, 0]);
        }),
        ("freed and created", ErrorCode::Malformed, |d| {
            d.free(1);
            d.add_block(1, INT, 1, "");
        }),
        ("freed twice", ErrorCode::Malformed, |d| {
            d.free(1);
            d.free(1);
        }),
        ("freed, but none", ErrorCode::Malformed, |d| d.free(3)),
        ("created, but there", ErrorCode::Malformed, |d| {
            d.add_block(1, INT, 1, "")
        }),
        ("created twice", ErrorCode::Malformed, |d| {
            d.add_block(3, INT, 1, "");
            d.add_block(3, INT, 1, "");
        }),
        ("no such type", ErrorCode::Malformed, |d| {
            d.add_block(3, 64, 1, "")
        }),
        ("a name taken", ErrorCode::BadName, |d| {
            d.add_block(3, INT, 1, "taken")
        }),
        ("a name twice", ErrorCode::BadName, |d| {
            d.add_block(3, INT, 1, "new");
            d.add_block(4, INT, 1, "new");
        }),
        ("too large", ErrorCode::TooLarge, |d| {
            d.add_block(3, INT, 1 << 40, "")
        }),
        ("not the next slot", ErrorCode::Malformed, |d| {
            d.slots(2, ["/x"].into_iter())
        }),
    ];
    for (what, code, build) in cases {
        assert_eq!(refused(&mut segment, build), code, "{what}");
    }
    assert_eq!(segment.newest(), 2);
    commit(&mut segment, |diff| {
        diff.free(1);
        diff.add_block(3, INT, 1, "taken");
    })
    .expect("the name is free with its block");
    assert_eq!(segment.block_by_name("taken").unwrap().serial, 3);
}

#[test]
fn pointers_may_use_slots_of_their_own_diff() {
    let mut segment = Segment::new(0);
    let pointer = TypeDescriptor {
        serial: 64,
        name: String::new(),
        hash: 0,
        predecessor: 0,
        body: TypeBody::Pointer(0),
    };
    let sealed = segment.types().seal(vec![pointer]).unwrap();
    let far = Pointer {
        slot: 1,
        serial: 9,
        offset: 0,
    };
    let runs = [&[0, 1][..], &far.to_bytes()].concat();
    let build = |slots: usize| {
        let (sealed, runs) = (sealed.clone(), runs.clone());
        move |diff: &mut DiffBuilder| {
            diff.add_type(&sealed[0]);
            diff.add_block(1, 64, 1, "");
            diff.change(1, &runs);
            if slots > 0 {
                diff.slots(1, ["/far"].into_iter());
            }
        }
    };
    assert_eq!(refused(&mut segment, build(0)), ErrorCode::BadPointer);
    commit(&mut segment, build(1)).unwrap();
    assert_eq!(segment.slots(), ["/far"]);
}

#[test]
fn the_quota_counts_data_and_gives_it_back() {
    let mut segment = Segment::new(4096);
    assert_eq!(
        refused(&mut segment, |d| d.add_block(1, CHAR, 4097, "")),
        ErrorCode::Quota
    );
    assert_eq!(
        refused(&mut segment, |d| d.add_block(1, CHAR, 4096, "n")),
        ErrorCode::Quota
    );
    filled(&mut segment, 1, CHAR, 4096);
    assert_eq!(
        refused(&mut segment, |d| d.add_block(2, CHAR, 1, "")),
        ErrorCode::Quota
    );
    commit(&mut segment, |diff| {
        diff.free(1);
        (2..66).for_each(|serial| diff.add_block(serial, CHAR, 1, ""));
    })
    .expect("64 small blocks count as 64 bytes each");
    assert_eq!(
        refused(&mut segment, |d| d.add_block(66, CHAR, 1, "")),
        ErrorCode::Quota
    );
    assert_eq!((segment.wire_bytes(), segment.charged_bytes()), (64, 4096));
}

#[test]
fn changed_units_never_count_too_little() {
    let mut segment = Segment::new(0);
    filled(&mut segment, 1, INT, 100);
    filled(&mut segment, 2, INT, 30);
    let base = segment.newest();
    let mut diff = DiffBuilder::new(base, base + 1);
    diff.free(2);
    diff.add_block(3, INT, 7, "");
    diff.change(1, &[5, 2, 1, 1, 1, 1, 1, 1, 1, 1]);
    diff.change(3, &[0, 1, 1, 1, 1, 1]);
    let checked = segment.check(&diff.finish(), base, &[(3, 1)]).unwrap();
    assert_eq!(segment.changed_units(&checked), 2 + 7 + 30);
    segment.commit(checked);
    assert_eq!(segment.total_units(), 107);
}

#[test]
fn blocks_are_described_without_their_data() {
    let mut segment = Segment::new(0);
    for serial in 1..=5 {
        commit(&mut segment, |diff| {
            diff.add_block(serial, INT, serial, &format!("b{serial}"));
        })
        .unwrap();
    }
    let described = |serials: &[u64], names: &[&str], after, max| {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        let described = segment.describe(serials, &names, after, max);
        let diff = Diff::parse(&described.diff).unwrap();
        assert!(diff.metadata_only);
        let found = diff.new_blocks().map(|block| block.unwrap().serial);
        (found.collect::<Vec<_>>(), described.more)
    };
    assert_eq!(
        described(&[4, 9, 2, 4], &["b1", "b4", "x"], 0, 10),
        (vec![4, 2, 1], false)
    );
    assert_eq!(described(&[], &[], 0, 3), (vec![1, 2, 3], true));
    assert_eq!(described(&[], &[], 3, 2), (vec![4, 5], false));
    assert_eq!(described(&[], &[], u64::MAX, 2), (vec![], false));
}

/// Everything that the segment holds for its data: what blocks share or own, and the rest.
fn ratio(segment: &Segment) -> f64 {
    let overhead = segment.overhead_bytes();
    let beyond = overhead.version_bytes + overhead.shared_bytes + overhead.block_bytes;
    1.0 + beyond as f64 / segment.wire_bytes() as f64
}

#[test]
fn memory_stays_below_1_2_times_the_wire_bytes() {
    for (type_serial, bytes) in [(CHAR, 1), (SHORT, 2), (DOUBLE, 8)] {
        let mut segment = Segment::new(0);
        let count = 4096 / bytes;
        commit(&mut segment, |diff| {
            (1..=1000).for_each(|serial| diff.add_block(serial, type_serial, count, ""));
        })
        .unwrap();
        let slots = vec![3; 4096];
        for round in 0..3 {
            commit(&mut segment, |diff| {
                for serial in (1..=1000).filter(|serial| serial % 3 == round) {
                    let mut runs = vec![0];
                    interweave_wire::varint::put(count, &mut runs);
                    runs.extend_from_slice(&slots);
                    diff.change(serial, &runs);
                }
            })
            .unwrap();
            assert!(ratio(&segment) < 1.2, "whole blocks: {}", ratio(&segment));
        }
        for serial in 1..=1000 {
            write(&mut segment, serial, &[(serial % 256, 1), (300, 1)], 4);
            assert!(ratio(&segment) < 1.2, "block by block: {}", ratio(&segment));
        }
        assert_eq!(
            segment.overhead_bytes().shared_bytes,
            0,
            "no diff is kept for few blocks"
        );
    }
}

#[test]
fn small_blocks_cost_64_bytes_with_their_data() {
    let mut segment = Segment::new(0);
    commit(&mut segment, |diff| {
        for serial in 1..=100_000 {
            diff.add_block(serial, INT, 5, "");
            diff.change(serial, &[&[0, 5][..], &[1; 20]].concat());
        }
    })
    .unwrap();
    let overhead = segment.overhead_bytes();
    assert!(
        overhead.block_bytes <= 64 * 100_000 + 256 * 64,
        "{overhead:?}"
    );
    assert_eq!((overhead.version_bytes, overhead.shared_bytes), (0, 0));
}

#[test]
fn a_received_diff_is_let_go_when_its_blocks_are() {
    let mut segment = Segment::new(0);
    let mut diff = DiffBuilder::new(0, 1);
    for serial in [1, 2] {
        diff.add_block(serial, CHAR, 8192, "");
        diff.change(serial, &[&[0, 0x80, 0x40][..], &[1; 8192]].concat());
    }
    let received = diff.finish();
    let checked = segment.check(&received, 0, &[(1, 2)]).unwrap();
    segment.commit(checked);
    let sliced = segment.block(1).unwrap().slots.unwrap().as_ptr();
    assert!(
        received.as_ptr_range().contains(&sliced),
        "shared, not copied"
    );
    commit(&mut segment, |_| ()).unwrap();
    assert!(!received.is_unique());
    commit(&mut segment, |diff| {
        diff.free(1);
        diff.free(2);
    })
    .unwrap();
    assert!(received.is_unique());
}

#[test]
fn a_servers_diff_that_contradicts_itself_changes_nothing() {
    let mut copy = Segment::new(0);
    filled(&mut copy, 1, INT, 4);
    let apply = |copy: &mut Segment, from, to, build: fn(&mut DiffBuilder)| {
        let mut diff = DiffBuilder::new(from, to);
        build(&mut diff);
        copy.apply(&diff.finish())
            .map_err(|rejection| rejection.code)
    };
    let malformed = Err(ErrorCode::Malformed);
    let unlisted: fn(&mut DiffBuilder) = |diff| {
        diff.live(1, 1);
        diff.add_block(2, INT, 1, "");
    };
    assert_eq!(apply(&mut copy, 2, 9, unlisted), malformed);
    assert_eq!(apply(&mut copy, 0, 9, unlisted), malformed);
    assert_eq!(
        apply(&mut copy, 1, 9, |_| ()),
        malformed,
        "not from the copy's version"
    );
    assert_eq!(
        apply(&mut copy, 2, 9, |diff| diff.metadata_only()),
        malformed
    );
    assert_eq!((copy.newest(), copy.block_count()), (2, 1));
    assert_eq!(apply(&mut copy, 2, 9, |diff| diff.lists_live()), Ok(9));
    assert_eq!(copy.block_count(), 0);
}

#[test]
fn diff_3_a_fresh_copy_leaves_long_stretches_of_zeros_out() {
    const PAGE: u64 = 4096;
    let mut segment = Segment::new(0);
    commit(&mut segment, |diff| {
        diff.add_block(1, CHAR, 1000 * PAGE, "");
        diff.add_block(2, CHAR, 100, "");
        diff.add_block(3, INT, 100, "");
    })
    .unwrap();
    write(
        &mut segment,
        1,
        &[(10 * PAGE + 5, 1), (11 * PAGE, 7), (999 * PAGE, 1)],
        1,
    );
    write(&mut segment, 2, &[(99, 1)], 1);
    let copy = segment.collect(0).joined();
    let pages = vec![(10 * PAGE, 2 * PAGE), (999 * PAGE, PAGE)];
    assert_eq!(changes(&segment, &copy), [(1, pages), (2, vec![(0, 100)])]);
    assert_eq!(
        changes(&segment, &copy),
        changes(&segment, &segment.checkpoint())
    );
    let mut reader = Segment::new(0);
    reader.apply(&copy).unwrap();
    for serial in 1..=3 {
        let slots = |segment: &Segment| segment.block(serial).unwrap().slots.map(<[u8]>::to_vec);
        assert_eq!(slots(&reader), slots(&segment), "block {serial}");
    }
}

/// A segment with a block that a received diff replaced whole, but for zeros in its middle, and a
/// small block. Also the address range of that diff.
fn received_whole(units: u64) -> (Segment, std::ops::Range<usize>) {
    let mut segment = Segment::new(0);
    commit(&mut segment, |diff| {
        diff.add_block(1, DOUBLE, units, "");
        diff.add_block(2, INT, 10, "");
    })
    .unwrap();
    write(&mut segment, 2, &[(3, 4)], 5);
    let mut slots = vec![9; 8 * units as usize];
    slots[8 * units as usize / 2..][..100_000].fill(0);
    let mut runs = Vec::new();
    let layout = segment.block(1).unwrap().layout;
    put_run(layout, 0, (0, units), &slots, &mut runs);
    let base = segment.newest();
    let mut diff = DiffBuilder::new(base, base + 1);
    diff.change(1, &runs);
    let diff = diff.finish();
    let begin = diff.as_ptr() as usize;
    let checked = segment.check(&diff, base, &[]).unwrap();
    segment.commit(checked);
    (segment, begin..begin + diff.len())
}

#[test]
fn a_copy_of_a_large_block_is_sent_from_the_diff_that_brought_it() {
    const UNITS: u64 = 100_000;
    let (mut segment, received) = received_whole(UNITS);
    let copy = segment.collect(0);
    let is_shared = |piece: &&Bytes| received.contains(&(piece.as_ptr() as usize));
    let shared: usize = copy.pieces().filter(is_shared).map(Bytes::len).sum();
    assert!(copy.len() - shared < 1000, "{} of {}", shared, copy.len());
    let before = segment.newest() - 1;
    assert!(segment
        .collect(before)
        .pieces()
        .all(|piece| is_shared(&piece)));
    let mut reader = Segment::new(0);
    reader.apply(&copy.joined()).unwrap();
    for serial in 1..=2 {
        let slots = |segment: &Segment| segment.block(serial).unwrap().slots.map(<[u8]>::to_vec);
        assert_eq!(slots(&reader), slots(&segment), "block {serial}");
    }
}

#[test]
fn a_copy_that_is_being_sent_keeps_its_version_while_the_segment_changes() {
    const UNITS: u64 = 100_000;
    let (mut segment, _) = received_whole(UNITS);
    let (copy, newest) = (segment.collect(0), segment.newest());
    let before = copy.clone().joined();
    write(&mut segment, 1, &[(7, UNITS / 2)], 1);
    write(&mut segment, 1, &[(0, UNITS)], 2);
    assert_eq!(copy.joined(), before);
    assert_eq!(Diff::parse(&before).unwrap().to, newest);
}

#[test]
fn without_a_cache_every_diff_is_collected_also_a_received_one() {
    let tuning = Tuning {
        cache_bytes: 0,
        ..Tuning::default()
    };
    let mut segment = Segment::new(0);
    segment.tune(tuning);
    (1..=4).for_each(|serial| filled(&mut segment, serial, DOUBLE, 100));
    let newest = segment.newest();
    for round in 1..=5 {
        segment.collect(newest - 1).joined();
        assert_eq!(segment.collections(), round);
    }
    assert_eq!(segment.overhead_bytes().cache_bytes, 0);
}

#[test]
fn with_the_layout_by_serial_blocks_go_out_in_the_order_of_their_serials() {
    let mut segment = Segment::new(0);
    segment.tune(Tuning {
        order: Order::Serial,
        ..Tuning::default()
    });
    for serial in [1, 2, 3, 4] {
        filled(&mut segment, serial, INT, 4);
    }
    write(&mut segment, 2, &[(0, 1)], 7);
    write(&mut segment, 1, &[(0, 1)], 7);
    let order = |diff: &Bytes| -> Vec<u64> {
        let diff = Diff::parse(diff).unwrap();
        let blocks = diff.new_blocks().map(|block| block.unwrap().serial);
        blocks.collect()
    };
    assert_eq!(order(&segment.collect(0).joined()), [1, 2, 3, 4]);
    assert_eq!(
        order(&segment.checkpoint()),
        [3, 4, 2, 1],
        "or the order would be lost"
    );
}
