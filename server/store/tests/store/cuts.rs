//! [LOG-2] [LOG-3]: a log cut anywhere is a prefix of what was appended; a changed bit before the
//! end is damage, and never skipped.

use std::collections::BTreeSet;
use std::path::Path;

use interweave_store::{verify, EmbeddedStore};
use interweave_wire::protocol::Durability::{self, Synced, Written};

use crate::model::{all_known, append, known, open, scratch, small, Model, Random};
use crate::records::{copy_dir, files, logs, spans};

/// A store with a history, every group acknowledged, at least as durable as asked; what is known
/// after each group, and which segments it had.
struct History {
    dir: tempfile::TempDir,
    after: Vec<Model>,
    touched: Vec<BTreeSet<u64>>,
}

fn history(random: &mut Random, groups: usize, least: Durability) -> History {
    let dir = scratch();
    let (store, _) = open(dir.path());
    let mut model = Model::default();
    let mut after = vec![model.clone()];
    let mut touched = Vec::new();
    for _ in 0..groups {
        let (group, durable) = model.step(random);
        touched.push(group.iter().map(|record| record.segment_id).collect());
        after.push(model.clone());
        append(&store, group, durable.max(least))
            .recv()
            .unwrap()
            .unwrap();
    }
    drop(store);
    History {
        dir,
        after,
        touched,
    }
}

/// Keeps the store's files up to the log file `keep`, whose bytes become these. The catalogue,
/// which may lag as far behind as it will, knows nothing; what has not reached the
/// disk was not witnessed.
fn cut_copy(from: &Path, to: &Path, keep: usize, bytes: &[u8]) {
    copy_dir(from, to);
    std::fs::remove_file(to.join("catalogue")).unwrap();
    for witness in files(to, ".iww") {
        std::fs::remove_file(witness).unwrap();
    }
    for (i, path) in logs(to).iter().enumerate() {
        if i == keep {
            std::fs::write(path, bytes).unwrap();
        } else if i > keep {
            std::fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn a_log_cut_anywhere_is_exactly_the_groups_before_the_cut() {
    for seed in 1..=3 {
        let mut random = Random::seeded(seed);
        let history = history(&mut random, 60, Written);
        let mut groups = 0;
        for (keep, path) in logs(history.dir.path()).iter().enumerate() {
            let bytes = std::fs::read(path).unwrap();
            for span in spans(&bytes) {
                let inside = [
                    span.start + 1 + random.below(23) as usize,
                    span.header + random.below((span.body - span.header) as u64) as usize,
                    span.body,
                    span.end - 1,
                ];
                let inside = inside.into_iter().filter(|&cut| cut < span.end);
                for cut in [span.start].into_iter().chain(inside) {
                    check_cut(&history, &mut random, (keep, &bytes, cut), groups);
                }
                groups += usize::from(span.last);
                check_cut(&history, &mut random, (keep, &bytes, span.end), groups);
            }
        }
        assert_eq!(groups, history.touched.len());
    }
}

/// The file ends at `cut`, or zeros or old bytes follow.
fn check_cut(
    history: &History,
    random: &mut Random,
    (keep, bytes, cut): (usize, &[u8], usize),
    groups: usize,
) {
    let to = scratch();
    let lost = bytes.get(cut).copied().unwrap_or(0);
    let mut bytes = bytes[..cut].to_vec();
    match random.below(3) {
        0 => {}
        // what follows must not by chance be what was lost
        1 if lost != 0 => bytes.resize(16 << 10, 0),
        _ => {
            bytes.push(!lost);
            bytes.extend((0..random.below(500)).map(|_| random.next() as u8));
        }
    }
    cut_copy(history.dir.path(), to.path(), keep, &bytes);
    let (store, segments) = open(to.path());
    let expected = &history.after[groups].segments;
    assert_eq!(all_known(&segments), *expected, "cut at {cut}");
    assert!(segments.iter().all(|segment| !segment.clean));
    drop(store);
    if random.below(4) > 0 {
        return;
    }
    // and the store continues from there, for this owner and the next
    let (store, _) = open(to.path());
    let mut model = history.after[groups].clone();
    let (group, durable) = model.step(random);
    append(&store, group, durable).recv().unwrap().unwrap();
    drop(store);
    let (_, segments) = open(to.path());
    assert_eq!(all_known(&segments), model.segments, "cut at {cut}, then");
}

#[test]
fn a_changed_bit_is_damage_of_the_segments_it_may_concern() {
    for seed in 11..=14 {
        let mut random = Random::seeded(seed);
        let history = history(&mut random, 60, Synced);
        let all = logs(history.dir.path());
        let mut group = 0;
        for path in &all {
            let bytes = std::fs::read(path).unwrap();
            for span in spans(&bytes) {
                let at = span.start + random.below((span.end - span.start) as u64) as usize;
                let mut changed = bytes.clone();
                changed[at] ^= 1 << random.below(8);
                let name = path.file_name().unwrap();
                check_damage(&history, name, &changed, group);
                group += usize::from(span.last);
            }
        }
    }
}

fn check_damage(history: &History, name: &std::ffi::OsStr, bytes: &[u8], group: usize) {
    let to = scratch();
    copy_dir(history.dir.path(), to.path());
    std::fs::write(to.path().join(name), bytes).unwrap();
    let whole = &history.after.last().unwrap().segments;
    let report = verify(to.path()).unwrap();
    assert!(!report.damage.is_empty(), "{report:?}");
    for _ in 0..2 {
        let (_, segments) = open(to.path());
        for segment in &segments {
            let id = segment.segment_id;
            let damaged = segment.damage.is_some();
            if !damaged {
                assert_eq!(Some(&known(segment)), whole.get(&id), "group {group}");
            } else if let Some(whole) = whole.get(&id) {
                assert!(whole.releases.starts_with(&known(segment).releases));
            }
        }
        let damaged = |id: u64| {
            segments
                .iter()
                .any(|s| s.segment_id == id && s.damage.is_some())
        };
        for &id in &history.touched[group] {
            // of a creation that is lost whole the catalogue knows [LOG-11]
            if whole.contains_key(&id) {
                assert!(damaged(id), "segment {id} after group {group}");
            }
        }
    }
}

#[test]
fn log_2_a_damaged_body_concerns_the_segment_that_its_header_names_and_no_other() {
    use crate::model::{append_now, create, diff, release};
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced), create(2, Synced)]).unwrap();
    append_now(&store, vec![create(3, Synced)]).unwrap();
    let both = vec![
        release(1, 1, diff(1, 1, 100)),
        release(2, 1, diff(2, 1, 100)),
    ];
    append_now(&store, both).unwrap();
    append_now(&store, vec![create(4, Synced)]).unwrap();
    drop(store);
    let path = &logs(dir.path())[0];
    let mut bytes = std::fs::read(path).unwrap();
    // the second of a group: all of the group is lost, and nothing else
    let damaged = spans(&bytes)[4];
    bytes[damaged.body + 5] ^= 1;
    std::fs::write(path, bytes).unwrap();
    for _ in 0..2 {
        let (_, segments) = open(dir.path());
        let damage: Vec<bool> = segments.iter().map(|s| s.damage.is_some()).collect();
        assert_eq!(damage, [true, true, false, false]);
        let text = segments[1].damage.clone().unwrap();
        assert!(text.contains("version 1 of segment 2"), "{text}");
    }
}

/// Its header is believed if it continues the chain of its segment.
#[test]
fn log_2_a_record_whose_checksum_alone_is_damaged_concerns_its_own_segment() {
    use crate::model::{append_now, create, diff, release};
    let dir = scratch();
    let (store, _) = open(dir.path());
    for id in 1..=3 {
        append_now(&store, vec![create(id, Synced)]).unwrap();
    }
    append_now(&store, vec![release(2, 1, diff(2, 1, 100))]).unwrap();
    append_now(&store, vec![create(4, Synced)]).unwrap();
    drop(store);
    for witness in files(dir.path(), ".iww") {
        std::fs::remove_file(witness).unwrap();
    }
    let whole = std::fs::read(&logs(dir.path())[0]).unwrap();
    let record = spans(&whole)[3];
    let checksum = (record.start + 20, [false, true, false, false]);
    let parent = (record.header + 16, [true, true, true, false]);
    for (at, expected) in [checksum, parent] {
        let to = scratch();
        copy_dir(dir.path(), to.path());
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(&logs(to.path())[0], bytes).unwrap();
        for _ in 0..2 {
            let (_, segments) = open(to.path());
            let damage: Vec<bool> = segments.iter().map(|s| s.damage.is_some()).collect();
            assert_eq!(damage, expected, "byte {at}");
        }
    }
}

#[test]
fn log_2_a_hole_says_what_it_held() {
    use crate::model::{append_now, create, diff, other, release, REMOVE};
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced), create(2, Synced)]).unwrap();
    let both = vec![release(1, 1, diff(1, 1, 100)), other(2, REMOVE)];
    append_now(&store, both).unwrap();
    append_now(&store, vec![create(3, Synced)]).unwrap();
    drop(store);
    let path = &logs(dir.path())[0];
    let mut bytes = std::fs::read(path).unwrap();
    let damaged = spans(&bytes)[2];
    bytes[damaged.body + 5] ^= 1;
    std::fs::write(path, bytes).unwrap();
    let (_, segments) = open(dir.path());
    let text = segments[0].damage.clone().unwrap();
    let held = "they held version 1 of segment 1, the removal of segment 2";
    assert!(text.ends_with(held), "{text}");
}

#[test]
fn log_2_a_creation_in_a_damaged_group_keeps_its_name() {
    use crate::model::{append_now, create, diff, release};
    let dir = scratch();
    let (store, _) = open(dir.path());
    let group = vec![create(1, Synced), release(1, 1, diff(1, 1, 100))];
    append_now(&store, group).unwrap();
    append_now(&store, vec![create(2, Synced)]).unwrap();
    drop(store);
    let path = &logs(dir.path())[0];
    let mut bytes = std::fs::read(path).unwrap();
    let damaged = spans(&bytes)[1];
    bytes[damaged.body + 5] ^= 1;
    std::fs::write(path, bytes).unwrap();
    let (_, segments) = open(dir.path());
    assert_eq!(segments.len(), 2);
    assert!(segments[0].damage.is_some() && segments[1].damage.is_none());
    assert_eq!(
        segments[0].path,
        all_known(&segments[1..])[&2].path.replace('2', "1")
    );
}

#[test]
fn log_14_a_store_of_an_unknown_format_is_refused_by_both_numbers_and_left_as_it_is() {
    for digit in [b'0', b'5', b'9'] {
        refuses_format(digit);
    }
}

fn refuses_format(digit: u8) {
    let dir = scratch();
    let (store, _) = open(dir.path());
    drop(store);
    let path = &logs(dir.path())[0];
    let mut bytes = std::fs::read(path).unwrap();
    bytes[3] = digit;
    let crc = crc32c::crc32c(&bytes[..24]);
    bytes[24..28].copy_from_slice(&crc.to_be_bytes());
    std::fs::write(path, &bytes).unwrap();
    let owner = std::fs::read(dir.path().join("owner")).unwrap();
    let opened = EmbeddedStore::open(dir.path(), small()).unwrap_err();
    let verified = verify(dir.path()).unwrap_err();
    for refused in [opened.to_string(), verified.to_string()] {
        let found = format!("format {}", digit - b'0');
        assert!(refused.contains(&found), "{refused}");
        assert!(refused.contains("reads formats 1 to 4"), "{refused}");
    }
    assert_eq!(std::fs::read(dir.path().join("owner")).unwrap(), owner);
    assert_eq!(std::fs::read(path).unwrap(), bytes);
}

#[test]
fn a_damaged_segment_takes_nothing_but_its_removal_while_others_go_on() {
    use crate::model::{append_now, create, diff, other, release, REMOVE};
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced), create(2, Synced)]).unwrap();
    append_now(&store, vec![release(1, 1, diff(1, 1, 100))]).unwrap();
    append_now(&store, vec![release(2, 1, diff(2, 1, 100))]).unwrap();
    append_now(&store, vec![release(1, 2, diff(1, 2, 100))]).unwrap();
    drop(store);
    let path = &logs(dir.path())[0];
    let mut bytes = std::fs::read(path).unwrap();
    let second = spans(&bytes)[2];
    bytes[second.body + 5] ^= 1;
    std::fs::write(path, bytes).unwrap();

    let (store, segments) = open(dir.path());
    let damage = segments[0].damage.clone().unwrap();
    assert!(damage.contains("log-0000000000000000.iwl"), "{damage}");
    assert!(
        damage.contains(&format!("byte {}", second.start)),
        "{damage}"
    );
    assert_eq!(segments[1].damage, None);
    let refused = append_now(&store, vec![release(1, 3, diff(1, 3, 9))]).unwrap_err();
    assert!(matches!(
        refused,
        interweave_store::StoreError::Damaged { .. }
    ));
    append_now(&store, vec![release(2, 2, diff(2, 2, 9))]).unwrap();
    append_now(&store, vec![other(1, REMOVE)]).unwrap();
    drop(store);
    let (_, segments) = EmbeddedStore::open(dir.path(), small()).unwrap();
    assert_eq!(segments.len(), 1);
    assert_eq!(segments[0].damage, None);
    assert_eq!(segments[0].releases.len(), 2);
}
