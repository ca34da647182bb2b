//! P1, power loss: of what was not synced, any sectors may be on the disk and any others not.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use interweave_store::{EmbeddedStore, Options, SegmentStore};
use interweave_wire::protocol::Durability::{Synced, Written};
use interweave_wire::protocol::VersionStamp;

use crate::model::{
    append, checkpoint, create, diff, fingerprint, open, release, scratch, small, versions, Model,
    Random,
};
use crate::records::{copy_dir, head_bytes, logs};

const SECTOR: usize = 512;

/// What is surely on the disk, by inode; and what was acknowledged.
#[derive(Default)]
struct Disk {
    synced: HashMap<u64, Vec<u8>>,
    acknowledged: HashMap<u64, u64>,
    syncs: u64,
    /// At this sync the power fails: what is left, and the acknowledged SYNCED versions.
    fails_at: u64,
    left: Option<(tempfile::TempDir, HashMap<u64, u64>)>,
}

impl Disk {
    /// Before the sync has done anything.
    fn before_sync(&mut self, dir: &Path, file: &File, random: &mut Random) {
        self.syncs += 1;
        if self.syncs == self.fails_at {
            let left = scratch();
            copy_dir(dir, left.path());
            let newest = logs(left.path()).pop().unwrap();
            let newest_inode = std::fs::metadata(logs(dir).pop().unwrap()).unwrap().ino();
            // before a newer log file has its name, all of the older is on the disk
            if file.metadata().unwrap().ino() == newest_inode {
                self.lose_sectors(&newest, newest_inode, random);
            }
            self.left = Some((left, self.acknowledged.clone()));
        }
    }

    fn lose_sectors(&self, path: &PathBuf, inode: u64, random: &mut Random) {
        let mut bytes = std::fs::read(path).unwrap();
        let head_bytes = head_bytes(&bytes);
        let none = Vec::new();
        let synced = self.synced.get(&inode).unwrap_or(&none);
        for (i, sector) in bytes.chunks_mut(SECTOR).enumerate() {
            if random.below(2) == 0 {
                for (j, byte) in sector.iter_mut().enumerate() {
                    let at = i * SECTOR + j;
                    // a new file is synced with its head, before it has records
                    let head = at < head_bytes;
                    if !head {
                        *byte = synced.get(at).copied().unwrap_or(0);
                    }
                }
            }
        }
        std::fs::write(path, bytes).unwrap();
    }
}

#[test]
fn a_power_loss_leaves_a_prefix_with_all_that_was_acknowledged_as_synced() {
    for seed in 101..=160 {
        let mut random = Random::seeded(seed);
        let dir = scratch();
        let disk = Arc::new(Mutex::new(Disk {
            fails_at: 1 + random.below(30),
            ..Disk::default()
        }));
        let (inner, path) = (Arc::clone(&disk), dir.path().to_path_buf());
        let sectors = Mutex::new(Random::seeded(seed + 1000));
        let options = Options {
            sync: Arc::new(move |file| {
                let file = file.as_file().unwrap();
                let mut disk = inner.lock().unwrap();
                disk.before_sync(&path, file, &mut sectors.lock().unwrap());
                let bytes = std::fs::read(path_of(&path, file)).unwrap();
                disk.synced.insert(file.metadata().unwrap().ino(), bytes);
                Ok(())
            }),
            ..small()
        };
        let model = run(dir.path(), options, &disk, &mut random);
        check(&disk, &model, seed);
    }
}

#[test]
fn a_checkpoint_is_never_ahead_of_the_log_on_the_disk() {
    let dir = scratch();
    let disk = Arc::new(Mutex::new(Vec::new()));
    let (inner, path) = (Arc::clone(&disk), dir.path().to_path_buf());
    let options = Options {
        sync: Arc::new(move |file| {
            let file = file.as_file().unwrap();
            *inner.lock().unwrap() = std::fs::read(path_of(&path, file))?;
            Ok(())
        }),
        ..small()
    };
    let (store, _) = EmbeddedStore::open(dir.path(), options).unwrap();
    append(&store, vec![create(1, Written)], Synced)
        .recv()
        .unwrap()
        .unwrap();
    append(&store, vec![release(1, 1, diff(1, 1, 9))], Written)
        .recv()
        .unwrap()
        .unwrap();
    let at = VersionStamp {
        incarnation: 1,
        number: 1,
        chain: 1,
    };
    checkpoint(&store, 1, at, Bytes::new())
        .recv()
        .unwrap()
        .unwrap();
    let left = scratch();
    copy_dir(dir.path(), left.path());
    std::fs::write(&logs(left.path())[0], &*disk.lock().unwrap()).unwrap();
    let (_, segments) = open(left.path());
    assert_eq!(versions(&segments[0]), [1]);
}

fn path_of(dir: &Path, file: &File) -> PathBuf {
    let inode = file.metadata().unwrap().ino();
    let same = |path: &PathBuf| std::fs::metadata(path).unwrap().ino() == inode;
    logs(dir).into_iter().find(same).unwrap()
}

/// Appends without waiting, until the power has failed. No segment is removed, so that the model
/// holds all versions.
fn run(dir: &Path, options: Options, disk: &Arc<Mutex<Disk>>, random: &mut Random) -> Model {
    let (store, _) = EmbeddedStore::open(dir, options).unwrap();
    let mut model = Model::default();
    for _ in 0..400 {
        let before = model.clone();
        let (group, durable) = model.step(random);
        if group
            .iter()
            .any(|record| record.body == crate::model::REMOVE)
        {
            model = before;
            continue;
        }
        let newest: Vec<(u64, u64)> = group
            .iter()
            .map(|r| r.segment_id)
            .map(|id| (id, model.segments[&id].releases.len() as u64))
            .collect();
        let disk = Arc::clone(disk);
        let done = move |result: Result<(), _>| {
            let () = result.unwrap();
            if durable == Synced {
                disk.lock().unwrap().acknowledged.extend(newest);
            }
        };
        store.append(group, durable, Box::new(done));
        if random.below(20) == 0 {
            save_some(&store, &mut model, random);
        }
    }
    model
}

/// A checkpoint of a version whose record was only written.
fn save_some(store: &EmbeddedStore, model: &mut Model, random: &mut Random) {
    let which = random.below(model.segments.len() as u64) as usize;
    let Some(&id) = model.segments.keys().nth(which) else {
        return;
    };
    let group = vec![model.next_release(id, random)];
    model.apply(&group);
    append(store, group, Written).recv().unwrap().unwrap();
    let at = VersionStamp {
        incarnation: model.segments[&id].incarnation,
        number: model.segments[&id].releases.len() as u64,
        chain: model.segments[&id].releases.len() as u64,
    };
    // waited for, so that nothing changes while the hook copies the directory
    let saved = checkpoint(store, id, at, Bytes::new());
    saved.recv().unwrap().unwrap();
}

fn check(disk: &Arc<Mutex<Disk>>, model: &Model, seed: u64) {
    let (left, acknowledged) = disk.lock().unwrap().left.take().expect("enough syncs");
    for _ in 0..2 {
        let (_, segments) = open(left.path());
        for segment in &segments {
            let found = versions(segment);
            assert!(
                found.windows(2).all(|pair| pair[1] == pair[0] + 1),
                "seed {seed}"
            );
            let whole = &model.segments[&segment.segment_id].releases;
            for (release, diff) in &segment.releases {
                let expected = &whole[release.version as usize - 1];
                assert_eq!(
                    (release.version, fingerprint(diff)),
                    *expected,
                    "seed {seed}"
                );
            }
        }
        for (id, &version) in &acknowledged {
            let segment = segments.iter().find(|segment| segment.segment_id == *id);
            let found = segment
                .and_then(|segment| versions(segment).last().copied())
                .unwrap_or(0);
            assert!(
                segment.is_some() && found >= version,
                "seed {seed}, segment {id}"
            );
        }
    }
}
