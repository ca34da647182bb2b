//! [LOG-11] [LOG-13]: damage anywhere in a store: what was acknowledged is there, or its segment is
//! known to be damaged; and who may read a store.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use interweave_store::{
    backup, restore, verify, EmbeddedStore, RecoveredSegment, SegmentStore, StoreError, Wanted,
};
use interweave_wire::protocol::Durability::Synced;
use interweave_wire::protocol::{LogBody, VersionStamp};

use crate::model::{
    append_now, checkpoint, close, create, diff, open, other, quiet, release, scratch, small,
    Random, REMOVE,
};
use crate::records::{copy_dir, files, logs, spans};

/// As the server does it: the bound of serials goes with the creation.
fn create_segment(store: &EmbeddedStore, id: u64) {
    let group = vec![create(id, Synced), other(id, LogBody::Serials(1 << 20))];
    append_now(store, group).unwrap();
}

fn release_next(store: &EmbeddedStore, id: u64, version: u64) {
    let bytes = (version * 531 % 1500) as usize;
    append_now(store, vec![release(id, version, diff(id, version, bytes))]).unwrap();
}

fn save(store: &EmbeddedStore, id: u64, version: u64) {
    let at = VersionStamp {
        incarnation: 1,
        number: version,
        chain: version,
    };
    let saved = checkpoint(store, id, at, diff(id, version, 700)).recv();
    saved.unwrap().unwrap();
}

/// Changes one byte of a record's header in the oldest log file.
fn damage_record(dir: &Path, number: usize) {
    let path = &logs(dir)[0];
    let mut bytes = std::fs::read(path).unwrap();
    let span = spans(&bytes)[number];
    bytes[(span.header + 30).min(span.body - 1)] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

/// As after a loss of power that left nothing of the witnesses.
fn forget_witnesses(dir: &Path) {
    for witness in files(dir, ".iww") {
        std::fs::remove_file(witness).unwrap();
    }
}

fn by_id(segments: Vec<RecoveredSegment>) -> BTreeMap<u64, RecoveredSegment> {
    segments.into_iter().map(|s| (s.segment_id, s)).collect()
}

/// Three segments of which only the third has a release, and that is the log's last record.
fn three_segments() -> tempfile::TempDir {
    let dir = scratch();
    let (store, _) = open(dir.path());
    (1..=3).for_each(|id| create_segment(&store, id));
    release_next(&store, 3, 1);
    drop(store);
    dir
}

#[test]
fn log_11_a_creation_is_in_the_catalogue_before_it_is_acknowledged() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    for id in 1..=100 {
        let catalogue = dir.path().join("catalogue");
        let (tell, told) = channel();
        let done = move |result: Result<(), StoreError>| {
            result.unwrap();
            tell.send(std::fs::read_to_string(&catalogue).unwrap())
                .unwrap();
        };
        store.append(vec![create(id, Synced)], Synced, Box::new(done));
        let lines = told.recv().unwrap();
        let begin = format!("{id} synced ");
        let is_named = lines
            .lines()
            .any(|line| line[9.min(line.len())..].starts_with(&begin));
        assert!(is_named, "segment {id} in\n{lines}");
    }
    close(store);
}

#[test]
fn log_11_a_damaged_creation_stops_its_own_segment_by_name_and_no_other() {
    let each = [(0, 1), (2, 2), (4, 3)];
    let ways = [(true, false), (false, false), (false, true)];
    let all = each.iter().flat_map(|e| ways.map(|way| (*e, way)));
    for ((record, id), (is_witnessed, is_listed_anew)) in all {
        let dir = three_segments();
        if is_listed_anew {
            drop(open(dir.path()));
        }
        if !is_witnessed {
            forget_witnesses(dir.path());
        }
        damage_record(dir.path(), record);
        for _ in 0..2 {
            let (_, segments) = open(dir.path());
            let segments = by_id(segments);
            assert_eq!(segments.keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
            for (&found, segment) in &segments {
                assert_eq!(segment.path, format!("/segment/{found}"));
                assert_eq!(segment.damage.is_some(), found == id, "{segment:?}");
            }
            let damage = segments[&id].damage.as_ref().unwrap();
            assert!(damage.contains("log-0000000000000000.iwl"), "{damage}");
        }
    }
}

/// The hole does not account for the records that the end has lost.
#[test]
fn log_2_a_file_that_is_cut_behind_a_hole_has_lost_records_there_too() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    for id in 1..=3 {
        create_segment(&store, id);
        release_next(&store, id, 1);
    }
    drop(store);
    let (store, _) = open(dir.path());
    drop(store);
    forget_witnesses(dir.path());
    let path = &logs(dir.path())[0];
    let mut bytes = std::fs::read(path).unwrap();
    let all = spans(&bytes);
    let (hole, last) = (all[2], all[all.len() - 1]);
    bytes[hole.body + 9] ^= 1;
    bytes.truncate(last.body + 1);
    std::fs::write(path, bytes).unwrap();
    let (_, segments) = open(dir.path());
    let damaged = segments.iter().filter(|segment| segment.damage.is_some());
    let ids: Vec<u64> = damaged.map(|segment| segment.segment_id).collect();
    assert_eq!(ids, [1, 3]);
}

/// Nobody knows how many records the hole held, so only the rest of a record shows the cut.
#[test]
fn log_2_a_file_that_is_cut_behind_a_hole_of_unknown_size_has_lost_records_there_too() {
    for (is_cut, expected) in [(false, vec![2]), (true, vec![1, 2, 3])] {
        let dir = scratch();
        let (store, _) = open(dir.path());
        (1..=3).for_each(|id| create_segment(&store, id));
        for (id, version) in [(2, 1), (2, 2), (1, 1), (3, 1), (3, 2)] {
            release_next(&store, id, version);
        }
        drop(store);
        let (store, _) = open(dir.path());
        drop(store);
        forget_witnesses(dir.path());
        let path = &logs(dir.path())[0];
        let mut bytes = std::fs::read(path).unwrap();
        let all = spans(&bytes);
        // segment 2's releases, of which nothing is left
        bytes[all[6].start..all[7].end].fill(7);
        if is_cut {
            bytes.truncate(all[all.len() - 1].body + 1);
        }
        std::fs::write(path, bytes).unwrap();
        let (_, segments) = open(dir.path());
        let damaged = segments.iter().filter(|segment| segment.damage.is_some());
        let ids: Vec<u64> = damaged.map(|segment| segment.segment_id).collect();
        assert_eq!(ids, expected);
    }
}

#[test]
fn log_11_without_the_catalogue_a_hole_stops_whoever_may_have_lost_something_in_it() {
    let dir = three_segments();
    std::fs::remove_file(dir.path().join("catalogue")).unwrap();
    forget_witnesses(dir.path());
    damage_record(dir.path(), 4);
    let (_, segments) = open(dir.path());
    let segments = by_id(segments);
    assert!(segments.values().all(|segment| segment.damage.is_some()));
    assert_eq!(segments[&3].path, "", "its name is lost with its creation");
}

/// [LOG-12]
#[test]
fn log_11_a_segment_of_which_nothing_is_left_is_not_forgotten_with_its_line() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    (1..=2).for_each(|id| create_segment(&store, id));
    release_next(&store, 1, 1);
    drop(store);
    // the group that created segment 2, and its line
    forget_witnesses(dir.path());
    damage_record(dir.path(), 2);
    damage_record(dir.path(), 3);
    let path = dir.path().join("catalogue");
    let mut lines = std::fs::read(&path).unwrap();
    let last = lines.len() - 2;
    lines[last] ^= 1;
    std::fs::write(&path, lines).unwrap();
    let unknown = 1 << 32;
    for start in 0..3 {
        let (_, segments) = open(dir.path());
        let segments = by_id(segments);
        assert_eq!(
            segments.keys().copied().collect::<Vec<_>>(),
            [1, unknown],
            "start {start}"
        );
        assert_eq!(segments[&1].damage, None);
        assert_eq!(segments[&unknown].path, "");
        let damage = segments[&unknown].damage.as_ref().unwrap();
        assert!(damage.contains("log-0000000000000000.iwl"), "{damage}");
        assert!(logs(dir.path())[0].ends_with("log-0000000000000000.iwl"));
    }
    // an operator does not miss it
    let (store, _) = open(dir.path());
    append_now(&store, vec![other(unknown, REMOVE)]).unwrap();
    drop(store);
    let segments = by_id(open(dir.path()).1);
    assert_eq!(segments.keys().copied().collect::<Vec<_>>(), [1]);
}

#[test]
fn log_11_a_segment_whose_path_is_lost_stays_when_what_tells_of_it_is_lost_too() {
    let dir = three_segments();
    std::fs::remove_file(dir.path().join("catalogue")).unwrap();
    damage_record(dir.path(), 4);
    for start in 0..3 {
        let segments = by_id(open(dir.path()).1);
        assert_eq!(
            segments.keys().copied().collect::<Vec<_>>(),
            [1, 2, 3],
            "start {start}"
        );
        assert_eq!(segments[&3].path, "");
        assert!(segments[&3].damage.is_some());
        // nothing but the catalogue tells of it from now on
        let path = &logs(dir.path())[0];
        let mut bytes = std::fs::read(path).unwrap();
        bytes[9] = !1;
        std::fs::write(path, bytes).unwrap();
        forget_witnesses(dir.path());
    }
}

#[test]
fn log_11_a_hole_that_held_more_than_the_creation_stops_quiet_segments() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    (1..=3).for_each(|id| create_segment(&store, id));
    release_next(&store, 1, 1);
    release_next(&store, 3, 1);
    drop(store);
    forget_witnesses(dir.path());
    let path = &logs(dir.path())[0];
    let mut bytes = std::fs::read(path).unwrap();
    let records = spans(&bytes);
    // the creation of 3, and behind it the release of 1, which nothing else shows
    bytes[records[4].header..records[6].end].fill(7);
    std::fs::write(path, bytes).unwrap();
    let segments = by_id(open(dir.path()).1);
    assert!(segments[&1].damage.is_some() && segments[&3].damage.is_some());
}

#[test]
fn log_11_a_removed_segment_does_not_come_back_as_a_damaged_one() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    (1..=2).for_each(|id| create_segment(&store, id));
    append_now(&store, vec![other(1, REMOVE)]).unwrap();
    release_next(&store, 2, 1);
    drop(store);
    // the record of the removal, and what the path was given to after it
    let (store, _) = open(dir.path());
    let mut anew = create(9, Synced);
    if let LogBody::Create(create) = &mut anew.body {
        create.path = "/segment/1".to_string();
    }
    append_now(&store, vec![anew]).unwrap();
    drop(store);
    damage_record(dir.path(), 4);
    let segments = by_id(open(dir.path()).1);
    assert_eq!(segments.keys().copied().collect::<Vec<_>>(), [2, 9]);
    assert_eq!(segments[&9].damage, None);
}

/// A store with checkpoints of some segments and a log after them, stopped or killed; what was
/// acknowledged: the newest version of each segment.
fn store_with_history(random: &mut Random, clean: bool) -> (tempfile::TempDir, BTreeMap<u64, u64>) {
    let dir = scratch();
    let (store, _) = open(dir.path());
    let mut acknowledged = BTreeMap::new();
    for id in 1..=6 {
        create_segment(&store, id);
        acknowledged.insert(id, 0);
    }
    for _ in 0..60 {
        let id = 1 + random.below(5);
        let version = acknowledged.get_mut(&id).unwrap();
        *version += 1;
        release_next(&store, id, *version);
        if random.below(6) == 0 && id > 2 {
            save(&store, id, *version);
        }
    }
    match clean {
        true => close(store),
        false => drop(store),
    }
    (dir, acknowledged)
}

/// What a disk may do to a file.
fn mutate(path: &Path, random: &mut Random) -> String {
    let mut bytes = std::fs::read(path).unwrap();
    if bytes.is_empty() || random.below(12) == 0 {
        std::fs::remove_file(path).unwrap();
        return "removed".to_string();
    }
    let at = random.below(bytes.len() as u64) as usize;
    let sector = at & !511;
    let end = (sector + 512).min(bytes.len());
    let what = match random.below(6) {
        0 | 1 => {
            bytes[at] ^= 1 << random.below(8);
            format!("bit of byte {at}")
        }
        2 => {
            bytes[sector..end].fill(0);
            format!("zeros at {sector}")
        }
        3 => {
            bytes[sector..end].fill_with(|| random.next() as u8);
            format!("noise at {sector}")
        }
        4 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        _ => {
            let other = (random.below(bytes.len() as u64) as usize & !511).min(sector);
            let count = (end - sector).min(bytes.len() - other);
            bytes.copy_within(other..other + count, sector);
            format!("sector {other} at {sector}")
        }
    };
    std::fs::write(path, bytes).unwrap();
    what
}

/// Every segment is as it was acknowledged, or known to be damaged.
fn check(segments: Vec<RecoveredSegment>, acknowledged: &BTreeMap<u64, u64>, what: &str) {
    let segments = by_id(segments);
    for (id, &newest) in acknowledged {
        let Some(segment) = segments.get(id) else {
            panic!("segment {id} is missing: {what}");
        };
        assert_eq!(segment.path, format!("/segment/{id}"), "{what}");
        if segment.damage.is_some() {
            continue;
        }
        let saved = segment.checkpoint.as_ref();
        let mut version = saved.map_or(0, |(head, _)| head.at.number);
        if let Some((_, found)) = saved {
            assert_eq!(*found, diff(*id, version, 700), "{what}");
        }
        for (release, found) in &segment.releases {
            version += 1;
            let bytes = (version * 531 % 1500) as usize;
            assert_eq!(release.version, version, "{what}");
            assert_eq!(*found, diff(*id, version, bytes), "{what}");
        }
        assert_eq!(version, newest, "segment {id}: {what}");
    }
    assert_eq!(segments.len(), acknowledged.len(), "{what}");
}

#[test]
fn log_11_damage_to_the_catalogue_is_no_damage_to_the_store() {
    let mut random = Random::seeded(51);
    let (dir, acknowledged) = store_with_history(&mut random, false);
    for _ in 0..200 {
        let to = scratch();
        copy_dir(dir.path(), to.path());
        let what = mutate(&to.path().join("catalogue"), &mut random);
        let (store, segments) = open(to.path());
        for segment in &segments {
            assert_eq!(segment.damage, None, "{what}");
        }
        check(segments, &acknowledged, &what);
        drop(store);
        // it is made anew
        damage_record(to.path(), 0);
        check(open(to.path()).1, &acknowledged, &what);
    }
}

#[test]
fn log_11_whatever_is_in_the_place_of_the_catalogue_the_store_opens() {
    let mut random = Random::seeded(52);
    let (dir, acknowledged) = store_with_history(&mut random, false);
    let path = dir.path().join("catalogue");
    let old = dir.path().join("catalogue.redb");
    std::fs::write(&old, b"of an earlier version").unwrap();
    check(open(dir.path()).1, &acknowledged, "an older one");
    assert!(!old.exists());
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let (store, segments) = open(dir.path());
    check(segments, &acknowledged, "a directory");
    let status = interweave_store::SegmentStore::status(&store);
    assert!(status.last_error.unwrap().contains("catalogue"));
    // and it takes what it always took
    create_segment(&store, 7);
    save(&store, 7, 0);
}

#[test]
fn log_11_after_any_damage_each_segment_is_as_acknowledged_or_known_to_be_damaged() {
    for seed in 61..=64 {
        let mut random = Random::seeded(seed);
        let (dir, acknowledged) = store_with_history(&mut random, seed % 2 == 0);
        let all = files(dir.path(), "");
        for _ in 0..150 {
            let to = scratch();
            copy_dir(dir.path(), to.path());
            let name = all[random.below(all.len() as u64) as usize].file_name();
            let path: PathBuf = to.path().join(name.unwrap());
            let what = format!("{}: {}", path.display(), mutate(&path, &mut random));
            for _ in 0..2 {
                let (_, segments) = open(to.path());
                check(segments, &acknowledged, &what);
            }
        }
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn all_files_are_0600(dir: &Path) {
    for path in files(dir, "") {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn log_13_a_store_and_its_backup_are_their_users_alone() {
    let above = scratch();
    let (dir, copy) = (above.path().join("store"), above.path().join("backup"));
    let (store, _) = open(&dir);
    create_segment(&store, 1);
    save(&store, 1, 0);
    backup(&dir, &copy, Wanted::Everything, &mut quiet).unwrap();
    drop(store);
    for dir in [&dir, &copy] {
        assert_eq!(mode(dir), 0o700);
        all_files_are_0600(dir);
    }
    // as an earlier version made it
    let wide = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&dir, wide).unwrap();
    for path in files(&dir, "") {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    drop(open(&dir));
    assert_eq!(mode(&dir), 0o700);
    all_files_are_0600(&dir);
}

#[test]
fn log_13_a_directory_that_is_not_a_stores_keeps_its_mode() {
    let shared = scratch();
    std::fs::set_permissions(shared.path(), std::fs::Permissions::from_mode(0o1777)).unwrap();
    drop(open(shared.path()));
    assert_eq!(mode(shared.path()), 0o1777);
    let others = scratch();
    std::fs::write(others.path().join("thesis"), "text").unwrap();
    std::fs::set_permissions(others.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    EmbeddedStore::open(others.path(), small()).unwrap_err();
    assert_eq!(mode(others.path()), 0o755);
    assert!(verify(shared.path()).unwrap().damage.is_empty());
}

/// [LOG-10]
#[test]
fn a_backup_of_whole_segments_leaves_out_the_damaged_ones_and_says_which() {
    let mut random = Random::seeded(71);
    let (dir, mut acknowledged) = store_with_history(&mut random, false);
    damage_record(dir.path(), 2);
    let copy = scratch();
    let refused = backup(dir.path(), copy.path(), Wanted::Everything, &mut quiet).unwrap_err();
    assert!(refused.to_string().contains("is damaged"), "{refused}");
    assert!(files(copy.path(), "").is_empty());
    let report = backup(dir.path(), copy.path(), Wanted::WholeSegments, &mut quiet).unwrap();
    let left_out: Vec<&str> = report.left_out.iter().map(|s| &*s.path).collect();
    assert_eq!(left_out, ["/segment/2"]);
    assert!(report.left_out[0].why.contains("log-0000000000000000.iwl"));
    assert_eq!(report.segments, 5);
    assert_eq!(verify(copy.path()).unwrap().damage, [] as [String; 0]);
    let again = scratch();
    restore(copy.path(), again.path(), &mut quiet).unwrap();
    let original = open(dir.path()).0;
    let (restored, segments) = open(again.path());
    use interweave_store::SegmentStore;
    assert!(restored.owner_epoch() > original.owner_epoch());
    acknowledged.remove(&2);
    let bound = segments
        .iter()
        .all(|segment| segment.serials_below == 1 << 20);
    assert!(bound && segments.iter().all(|segment| segment.incarnation != 1));
    check(segments, &acknowledged, "restored");
}
