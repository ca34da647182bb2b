//! The numbers that a segment says of itself: for limits, lists and metrics.

use interweave_master::{Overhead, Rejection, Segment, Tuning};
use interweave_wire::protocol::ErrorCode;
use interweave_wire::value::put_run;
use interweave_wire::{Diff, DiffBuilder};

const INT: u32 = 5;
const DOUBLE: u32 = 10;
const HEADER_BYTES: u64 = 64;

fn commit(segment: &mut Segment, build: impl FnOnce(&mut DiffBuilder)) -> Result<u64, Rejection> {
    let base = segment.newest();
    let mut diff = DiffBuilder::new(base, base + 1);
    build(&mut diff);
    let checked = segment.check(&diff.finish(), base, &[(1, 1 << 40)])?;
    Ok(segment.commit(checked))
}

fn add(segment: &mut Segment, serial: u64, ty: u32, count: u64, name: &str) {
    commit(segment, |diff| diff.add_block(serial, ty, count, name)).unwrap();
}

fn free(segment: &mut Segment, serial: u64) {
    commit(segment, |diff| diff.free(serial)).unwrap();
}

/// Fills units of a block with a byte.
fn write(segment: &mut Segment, serial: u64, first: u64, count: u64, byte: u8) {
    let layout = segment.block(serial).unwrap().layout;
    let slots = vec![byte; layout.bytes() as usize];
    let mut runs = Vec::new();
    put_run(layout, first, (first, count), &slots, &mut runs);
    commit(segment, |diff| diff.change(serial, &runs)).unwrap();
}

/// Blocks, units, bytes on the wire, bytes that count against the quota.
fn numbers(segment: &Segment) -> [u64; 4] {
    [
        segment.block_count(),
        segment.total_units(),
        segment.wire_bytes(),
        segment.charged_bytes(),
    ]
}

#[test]
fn blocks_units_and_bytes_are_counted_and_given_back() {
    let mut segment = Segment::new(1 << 20);
    assert_eq!(segment.quota_bytes(), 1 << 20);
    assert_eq!(numbers(&segment), [0; 4]);
    add(&mut segment, 1, INT, 10, "ten");
    assert_eq!(numbers(&segment), [1, 10, 40, HEADER_BYTES + 3]);
    add(&mut segment, 2, DOUBLE, 100, "");
    assert_eq!(numbers(&segment), [2, 110, 840, HEADER_BYTES + 803]);
    free(&mut segment, 1);
    assert_eq!(numbers(&segment), [1, 100, 800, 800]);
    assert_eq!(segment.next_serial(), 3);
    let restored = Segment::restore(&segment.checkpoint(), 7).unwrap();
    assert_eq!(numbers(&restored), numbers(&segment));
    assert_eq!(restored.quota_bytes(), 7);
    free(&mut segment, 2);
    assert_eq!(numbers(&segment), [0; 4]);
}

#[test]
fn a_name_is_free_again_when_its_block_is() {
    // One name, a few, and many are held in different ways.
    for count in [1, 5, 30] {
        let mut segment = Segment::new(0);
        for serial in 1..=count {
            add(&mut segment, serial, INT, 1, &format!("n{serial}"));
        }
        let serial_of = |segment: &Segment, name| segment.block_by_name(name).map(|b| b.serial);
        assert_eq!(serial_of(&segment, "n1"), Some(1));
        let taken = commit(&mut segment, |diff| diff.add_block(100, INT, 1, "n1"));
        assert_eq!(taken.unwrap_err().code, ErrorCode::BadName);
        free(&mut segment, 1);
        assert_eq!(serial_of(&segment, "n1"), None);
        assert!(segment.block(1).is_none());
        add(&mut segment, 100, INT, 1, "n1");
        assert_eq!(serial_of(&segment, "n1"), Some(100));
        assert_eq!(segment.block(100).unwrap().name, Some("n1"));
    }
}

#[test]
fn serials_below_a_bound_are_not_given_again() {
    let mut segment = Segment::new(0);
    assert_eq!(segment.next_serial(), 1);
    segment.use_serials_below(50);
    segment.use_serials_below(20);
    assert_eq!(segment.next_serial(), 50);
    let reused = commit(&mut segment, |diff| diff.add_block(49, INT, 1, ""));
    assert_eq!(reused.unwrap_err().code, ErrorCode::Malformed);
    add(&mut segment, 50, INT, 1, "");
    assert_eq!(segment.next_serial(), 51);
}

#[test]
fn memory_beside_the_data_is_counted_and_given_back() {
    let mut segment = Segment::new(0);
    segment.tune(Tuning {
        cache_bytes: 0,
        ..Tuning::default()
    });
    let nothing = segment.overhead_bytes();
    assert_eq!((nothing.version_bytes, nothing.shared_bytes), (0, 0));
    add(&mut segment, 1, INT, 1000, "name");
    let named = segment.overhead_bytes();
    assert!(named.block_bytes >= nothing.block_bytes + HEADER_BYTES + 4);
    write(&mut segment, 1, 0, 1000, 1);
    assert_eq!(segment.overhead_bytes().version_bytes, 0, "one version");
    write(&mut segment, 1, 7, 1, 2);
    let mixed = segment.overhead_bytes();
    // 63 subblocks of 16 units
    assert!((252..400).contains(&mixed.version_bytes), "{mixed:?}");
    write(&mut segment, 1, 0, 1000, 3);
    assert_eq!(segment.overhead_bytes().version_bytes, 0, "one again");
    write(&mut segment, 1, 7, 1, 2);
    free(&mut segment, 1);
    let freed = segment.overhead_bytes();
    assert_eq!(freed.version_bytes, 0);
    assert!(freed.metadata_bytes > nothing.metadata_bytes, "{freed:?}");
}

#[test]
fn slots_count_as_metadata() {
    let mut segment = Segment::new(0);
    let before = (
        segment.overhead_bytes().metadata_bytes,
        segment.charged_bytes(),
    );
    commit(&mut segment, |diff| {
        diff.slots(1, ["iw://host/other"].into_iter())
    })
    .unwrap();
    let after = (
        segment.overhead_bytes().metadata_bytes,
        segment.charged_bytes(),
    );
    // The text counts twice: against the quota, and as memory.
    assert!(after.0 >= before.0 + 60, "{before:?} {after:?}");
    assert!(
        (before.1 + 15..before.1 + 100).contains(&after.1),
        "{before:?} {after:?}"
    );
    assert_eq!(segment.slots(), ["iw://host/other"]);
}

#[test]
fn the_cache_counts_what_no_block_shares() {
    let mut segment = Segment::new(0);
    add(&mut segment, 1, INT, 10_000, "");
    write(&mut segment, 1, 0, 10_000, 1);
    let shared = segment.overhead_bytes().cache_bytes;
    assert!(
        shared < 1_000,
        "{shared}: the block and the cache share the diff"
    );
    write(&mut segment, 1, 5, 1, 9);
    let newest = segment.newest();
    let before = segment.overhead_bytes().cache_bytes;
    let collected = segment.collect(newest - 2).joined().len() as u64;
    let after = segment.overhead_bytes().cache_bytes;
    assert_eq!(after, before + collected);
    segment.tune(Tuning::default());
    assert_eq!(segment.overhead_bytes().cache_bytes, 0);
}

#[test]
fn the_cache_keeps_what_fits_and_no_more() {
    let mut segment = Segment::new(0);
    add(&mut segment, 1, INT, 100, "");
    for byte in 1..=80 {
        write(&mut segment, 1, 0, 100, byte);
    }
    // The diff that made the version is the first of 64.
    for round in 1..=2 {
        for from in 1..=70 {
            segment.collect(from);
        }
        let all_of_second = 63 + 7 + 7 * (round - 1);
        assert_eq!(segment.collections(), all_of_second, "round {round}");
    }
    let bytes = segment.collect(1).joined().len();
    let newest = segment.newest();
    segment.tune(Tuning {
        cache_bytes: bytes,
        ..Tuning::default()
    });
    let before = segment.collections();
    for _ in 0..3 {
        segment.collect(newest - 1);
    }
    assert_eq!(segment.collections(), before + 1, "one fits to the byte");
    segment.tune(Tuning {
        cache_bytes: bytes - 1,
        ..Tuning::default()
    });
    for _ in 0..3 {
        segment.collect(newest - 1);
    }
    assert_eq!(segment.collections(), before + 4, "none fits");
}

#[test]
fn what_a_checkpoint_keeps_is_counted_and_given_back() {
    let mut segment = Segment::new(0);
    add(&mut segment, 1, INT, 1000, "");
    write(&mut segment, 1, 0, 1000, 1);
    assert_eq!(segment.checkpoint_bytes(), 0);
    segment.begin_checkpoint();
    assert_eq!(segment.checkpoint_bytes(), 0);
    write(&mut segment, 1, 0, 1000, 2);
    let kept = segment.checkpoint_bytes();
    assert!((4000..4300).contains(&kept), "{kept}");
    segment.end_checkpoint();
    assert_eq!(segment.checkpoint_bytes(), 0);
}

#[test]
fn a_release_says_what_it_changes() {
    let mut segment = Segment::new(0);
    let check = |segment: &Segment, build: &dyn Fn(&mut DiffBuilder)| {
        let base = segment.newest();
        let mut diff = DiffBuilder::new(base, base + 1);
        build(&mut diff);
        let bytes = diff.finish();
        let checked = segment.check(&bytes, base, &[(1, 1 << 40)]).unwrap();
        assert_eq!((checked.version(), checked.bytes()), (base + 1, &bytes));
        checked
    };
    let created = check(&segment, &|diff| diff.add_block(1, INT, 4, ""));
    assert!(!created.changes_values_alone());
    assert_eq!(segment.changed_units(&created), 4);
    segment.commit(created);
    let changed = check(&segment, &|diff| {
        diff.change(1, &[1, 2, 0, 0, 0, 7, 0, 0, 0, 8])
    });
    assert!(changed.changes_values_alone());
    assert_eq!(segment.changed_units(&changed), 2);
    segment.commit(changed);
    let freed = check(&segment, &|diff| diff.free(1));
    assert!(!freed.changes_values_alone());
    assert_eq!(segment.changed_units(&freed), 4);
    let slots = check(&segment, &|diff| diff.slots(1, ["iw://a/b"].into_iter()));
    assert!(!slots.changes_values_alone());
}

#[test]
fn finding_without_prediction_finds_the_same() {
    let mut segment = Segment::new(0);
    segment.tune(Tuning {
        prediction: false,
        ..Tuning::default()
    });
    for serial in [3, 1, 9] {
        let serial = serial + 10 * segment.next_serial();
        add(&mut segment, serial, INT, 1, "");
    }
    let serials: Vec<u64> = segment.blocks().map(|block| block.serial).collect();
    let from_second: Vec<u64> = segment
        .blocks_from(serials[0] + 1)
        .map(|b| b.serial)
        .collect();
    assert_eq!(from_second, serials[1..]);
    for serial in serials {
        assert_eq!(segment.block(serial).unwrap().serial, serial);
    }
}

/// The units that a diff from that version changes in its first block.
fn runs_since(segment: &mut Segment, from: u64) -> Vec<u8> {
    let diff = Diff::parse(&segment.collect(from).joined()).unwrap();
    let first = diff.changes().next().unwrap().unwrap();
    first.runs.to_vec()
}

#[test]
fn a_subblock_is_not_sent_again_to_a_reader_who_has_it() {
    let mut segment = Segment::new(0);
    segment.tune(Tuning {
        cache_bytes: 0,
        ..Tuning::default()
    });
    add(&mut segment, 1, INT, 1000, "");
    write(&mut segment, 1, 0, 1000, 1);
    // Subblocks of 16 units: the first, then the fourth.
    write(&mut segment, 1, 3, 1, 2);
    let has = segment.newest();
    write(&mut segment, 1, 50, 1, 3);
    let runs = runs_since(&mut segment, has);
    assert_eq!((runs[0], runs[1]), (48, 16), "from unit 48, 16 units");
    assert_eq!(runs.len(), 2 + 16 * 4, "and nothing else");
}

#[test]
fn slots_are_not_sent_again_to_a_reader_who_has_them() {
    let mut segment = Segment::new(0);
    commit(&mut segment, |diff| diff.slots(1, ["/a"].into_iter())).unwrap();
    let has = segment.newest();
    add(&mut segment, 1, INT, 1, "");
    add(&mut segment, 2, INT, 1, "");
    let diff = Diff::parse(&segment.collect(has).joined()).unwrap();
    assert!(diff.slots().unwrap().is_none());
    let diff = Diff::parse(&segment.collect(has - 1).joined()).unwrap();
    assert!(diff.slots().unwrap().is_some());
}

#[test]
fn a_segment_points_into_65535_others_and_no_more() {
    let mut segment = Segment::new(0);
    let most = vec!["/x"; 65_535];
    commit(&mut segment, |diff| diff.slots(1, most.iter().copied())).unwrap();
    let more = commit(&mut segment, |diff| diff.slots(65_536, ["/x"].into_iter()));
    assert_eq!(more.unwrap_err().code, ErrorCode::TooLarge);
}

#[test]
fn headers_of_blocks_are_counted_as_memory() {
    let mut segment = Segment::new(0);
    commit(&mut segment, |diff| {
        (1..=1000).for_each(|serial| diff.add_block(serial, INT, 1, ""));
    })
    .unwrap();
    let bytes = segment.overhead_bytes().block_bytes;
    assert!((64_000..=90_000).contains(&bytes), "{bytes}");
}

#[test]
fn versions_of_a_block_that_is_freed_during_a_checkpoint_are_given_back() {
    let mut segment = Segment::new(0);
    add(&mut segment, 1, INT, 1000, "");
    write(&mut segment, 1, 0, 1000, 1);
    write(&mut segment, 1, 7, 1, 2);
    assert!(segment.overhead_bytes().version_bytes > 0);
    segment.begin_checkpoint();
    free(&mut segment, 1);
    assert_eq!(segment.overhead_bytes().version_bytes, 0);
}

#[test]
fn only_the_blocks_asked_for_are_described() {
    let mut segment = Segment::new(0);
    for serial in 1..=4 {
        add(&mut segment, serial, INT, 1, &format!("n{serial}"));
    }
    let described = |serials: &[u64], names: &[&str], max| {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        let described = segment.describe(serials, &names, 0, max);
        let diff = Diff::parse(&described.diff).unwrap();
        let serials = diff.new_blocks().map(|block| block.unwrap().serial);
        (serials.collect::<Vec<u64>>(), described.more)
    };
    assert_eq!(described(&[3], &[], 9), (vec![3], false));
    assert_eq!(described(&[], &["n2"], 9), (vec![2], false));
    assert_eq!(
        described(&[3, 3], &["n3", "n1", "n9"], 9),
        (vec![3, 1], false)
    );
    assert_eq!(described(&[], &[], 3), (vec![1, 2, 3], true));
    assert_eq!(described(&[], &[], 4), (vec![1, 2, 3, 4], false));
}

#[test]
fn a_block_that_is_made_and_written_in_part_by_one_release_has_one_version() {
    let mut segment = Segment::new(0);
    let mut run = vec![5, 1];
    run.resize(6, 9);
    commit(&mut segment, |diff| {
        diff.add_block(1, INT, 1000, "");
        diff.change(1, &run);
    })
    .unwrap();
    assert_eq!(segment.overhead_bytes().version_bytes, 0);
}

#[test]
fn names_and_freed_serials_are_counted_as_memory() {
    let blocks = |name: fn(u64) -> String| {
        let mut segment = Segment::new(0);
        for serial in 100..200 {
            add(&mut segment, serial, INT, 1, &name(serial));
        }
        segment
    };
    let (mut plain, named) = (
        blocks(|_| String::new()),
        blocks(|serial| format!("n{serial}")),
    );
    let of = |segment: &Segment| segment.overhead_bytes().block_bytes;
    let each = (of(&named) - of(&plain)) / 100;
    assert!((64..=72).contains(&each), "{each} bytes for a name of 4");
    let before = plain.overhead_bytes().metadata_bytes;
    (100..200).for_each(|serial| free(&mut plain, serial));
    let each = (plain.overhead_bytes().metadata_bytes - before) / 100;
    assert!((24..=48).contains(&each), "{each} bytes for a freed serial");
}

#[test]
fn a_checkpoint_lets_go_of_what_was_collected() {
    let mut segment = Segment::new(0);
    for serial in [1, 2] {
        add(&mut segment, serial, INT, 1000, "");
        write(&mut segment, serial, 0, 1000, 1);
    }
    segment.begin_checkpoint();
    write(&mut segment, 1, 0, 1000, 2);
    write(&mut segment, 2, 0, 1000, 2);
    let both = segment.checkpoint_bytes();
    assert!((8000..8600).contains(&both), "{both}");
    let (_, more) = segment.next_piece(100).unwrap();
    assert!(more);
    let one = segment.checkpoint_bytes();
    assert!((4000..4300).contains(&one), "{one}");
}

#[test]
fn live_blocks_may_be_listed_in_ranges_that_touch() {
    let mut copy = Segment::new(0);
    let mut diff = DiffBuilder::new(0, 1);
    diff.live(1, 1);
    diff.live(2, 1);
    for serial in [1, 2] {
        diff.add_block(serial, INT, 1, "");
    }
    assert_eq!(copy.apply(&diff.finish()), Ok(1));
    assert_eq!(copy.block_count(), 2);
}

#[test]
fn the_memory_beyond_the_data_is_the_sum_of_its_kinds() {
    let overhead = Overhead {
        block_bytes: 1,
        version_bytes: 20,
        shared_bytes: 300,
        cache_bytes: 4000,
        metadata_bytes: 50_000,
    };
    assert_eq!(overhead.total(), 54_321);
}
