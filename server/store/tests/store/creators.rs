//! [LOG-20]: who made a segment is kept in each form that a store has for it.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use interweave_store::{backup, creator_field, restore, RecoveredSegment, StoreError, Wanted};
use interweave_wire::protocol::Durability::Synced;
use interweave_wire::protocol::{
    HeaderField, IdentityField, VersionStamp, MAX_FIELD_TEXT, MAX_FIELD_VALUE,
};

use crate::model::{
    append_now, checkpoint_in_pieces_of, close, create, diff, head, open, quiet, release, save,
    scratch,
};

fn maker(number: u64) -> IdentityField {
    IdentityField {
        scheme: "token".to_string(),
        name: format!("maker-{number}"),
    }
}

fn stamp(number: u64) -> VersionStamp {
    VersionStamp {
        incarnation: 1,
        number,
        chain: number,
    }
}

fn makers(segments: &[RecoveredSegment]) -> BTreeMap<u64, Option<IdentityField>> {
    let of = |segment: &RecoveredSegment| {
        assert_eq!(segment.damage, None);
        (segment.segment_id, segment.creator.as_deref().cloned())
    };
    segments.iter().map(of).collect()
}

/// Segment 1 is in the log alone. Segment 2 has a small checkpoint, which is an item of a pack.
/// Segment 3 has a larger one, and 4 one in pieces. Only the checkpoints name the makers of 2 to 4.
fn in_all_forms(dir: &Path) {
    let (store, _) = open(dir);
    for id in 1..=4 {
        let mut created = create(id, Synced);
        if id == 1 {
            created.fields.push(creator_field(&maker(id)));
        }
        append_now(&store, vec![created, release(id, 1, diff(id, 1, 100))]).unwrap();
    }
    for (id, bytes) in [(2, 100), (3, 20_000)] {
        let mut head = head(id, stamp(1));
        head.fields.push(creator_field(&maker(id)));
        let saved = save(&store, head, diff(id, 1, bytes)).recv();
        saved.unwrap().unwrap();
    }
    let mut head = head(4, stamp(1));
    head.fields.push(creator_field(&maker(4)));
    let piece = interweave_store::Piece {
        diff: diff(4, 1, 100),
        ages: Bytes::new(),
    };
    checkpoint_in_pieces_of(&store, head, vec![piece]).unwrap();
    // As if the server were killed.
    drop(store);
}

fn assert_all_makers(dir: &Path) {
    let (store, segments) = open(dir);
    let expected = (1..=4).map(|id| (id, Some(maker(id))));
    assert_eq!(makers(&segments), expected.collect());
    close(store);
}

#[test]
fn log_20_a_maker_is_found_in_the_log_and_in_every_kind_of_checkpoint() {
    let dir = scratch();
    in_all_forms(dir.path());
    // Once after a kill, once after a clean stop.
    assert_all_makers(dir.path());
    assert_all_makers(dir.path());
}

#[test]
fn log_20_backups_and_salvaged_stores_keep_the_maker() {
    let dir = scratch();
    in_all_forms(dir.path());
    for wanted in [Wanted::Everything, Wanted::WholeSegments] {
        let (saved, restored) = (scratch(), scratch());
        let whole = matches!(wanted, Wanted::Everything);
        if !whole {
            hurt(dir.path());
        }
        let report = backup(dir.path(), saved.path(), wanted, &mut quiet).unwrap();
        assert_eq!(report.left_out.is_empty(), whole, "it is salvaged");
        restore(saved.path(), restored.path(), &mut quiet).unwrap();
        let (store, segments) = open(restored.path());
        let first = if whole { 1 } else { 2 };
        let expected = (first..=4).map(|id| (id, Some(maker(id))));
        assert_eq!(makers(&segments), expected.collect());
        close(store);
    }
}

/// Damages segment 1, which has no checkpoint.
fn hurt(dir: &Path) {
    let log = crate::records::logs(dir).remove(0);
    let mut bytes = std::fs::read(&log).unwrap();
    let record = crate::records::spans(&bytes)[1];
    bytes[record.body] ^= 1;
    std::fs::write(log, bytes).unwrap();
}

/// A server of before leaves the field out of its checkpoints.
#[test]
fn log_20_a_checkpoint_without_a_maker_leaves_that_of_the_creation() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    let mut created = create(1, Synced);
    created.fields.push(creator_field(&maker(1)));
    append_now(&store, vec![created, release(1, 1, diff(1, 1, 100))]).unwrap();
    let saved = save(&store, head(1, stamp(1)), diff(1, 1, 100)).recv();
    saved.unwrap().unwrap();
    drop(store);
    let (store, segments) = open(dir.path());
    assert_eq!(makers(&segments), BTreeMap::from([(1, Some(maker(1)))]));
    close(store);
}

#[test]
fn log_20_a_field_that_does_not_hold_leaves_the_segment_whole() {
    let whole = creator_field(&maker(1));
    let of = |bytes: usize| HeaderField {
        key: whole.key,
        value: vec![0xff; bytes],
    };
    let dir = scratch();
    let (store, _) = open(dir.path());
    for (id, fields) in [
        (1, vec![]),
        (2, vec![of(0)]),
        (3, vec![of(1000)]),
        (4, vec![whole.clone(), whole.clone()]),
    ] {
        let mut created = create(id, Synced);
        created.fields = fields;
        append_now(&store, vec![created, release(id, 1, diff(id, 1, 100))]).unwrap();
    }
    drop(store);
    let (store, segments) = open(dir.path());
    assert_eq!(makers(&segments), (1..=4).map(|id| (id, None)).collect());
    assert!(segments.iter().all(|s| s.releases.len() == 1));
    close(store);
}

#[test]
fn log_20_fields_that_a_header_could_not_hold_are_refused_and_the_longest_maker_is_kept() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    let longest = IdentityField {
        scheme: "s".repeat(MAX_FIELD_TEXT as usize),
        name: "n".repeat(MAX_FIELD_TEXT as usize),
    };
    let mut created = create(1, Synced);
    created.fields.push(creator_field(&longest));
    append_now(&store, vec![created]).unwrap();
    let key = creator_field(&longest).key;
    let field = |key, bytes| HeaderField {
        key,
        value: vec![0; bytes],
    };
    let too_much = vec![field(key, MAX_FIELD_VALUE as usize)];
    let too_many: Vec<_> = (0..25).map(|more| field(key + more, 1)).collect();
    for (id, fields) in [(2, too_much), (3, too_many)] {
        let mut created = create(id, Synced);
        created.fields = fields;
        let refused = append_now(&store, vec![created]);
        assert!(matches!(refused, Err(StoreError::Io(_))), "{refused:?}");
    }
    drop(store);
    let (store, segments) = open(dir.path());
    assert_eq!(makers(&segments), BTreeMap::from([(1, Some(longest))]));
    close(store);
}
