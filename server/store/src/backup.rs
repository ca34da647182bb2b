//! Copies of a store.
//!
//! Files of a store only grow at their end, are replaced whole, or vanish, so a set of names that
//! was the same before and after all of them were opened is the store of that moment; what the log
//! has gained since is a later moment. What the witness of the log's end said before that end was
//! looked for tells a lost end from a torn one, as at a start [LOG-15]. A backup has a file BACKUP
//! that lists the others with their checksums: damage shows wherever it is, and a backup is not
//! taken for a store.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::Arc;

use bytes::Bytes;
use interweave_wire::protocol::{Durability, LogBody, VersionStamp};

use crate::catalogue;
use crate::damage::Damage;
use crate::disk::{write_all_at, Directory, Disk, How, SharedDisk};
use crate::files::{self, failed, witness_name, Unnamed};
use crate::ordered::Threads;
use crate::owner::{read_epoch, write_epoch};
use crate::random::random;
use crate::recovery::read_store;
use crate::salvage::{salvage, LeftOut};
use crate::scan::{read_head, Scan, Step};
use crate::store::{Record, RecoveredSegment, SegmentStore};
use crate::witness::Seen;
use crate::{EmbeddedStore, Options, StoreError};

const TITLE: &str = "interweave backup 1";
/// The last line: a list that is cut has none.
const END: &str = "end";
/// Where a backup of whole segments is made, within its directory.
const SALVAGED: &str = "salvaged.tmp";
const UNFINISHED: &str = "interweave backup unfinished";
const CHUNK_BYTES: usize = 1 << 20;
/// A store that is never at rest long enough to be opened: something is wrong.
const ATTEMPTS: u32 = 100;

/// What a store or a backup holds.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pub segments: u64,
    pub records: u64,
    pub checkpoints: u64,
    pub bytes: u64,
    /// The last owner stopped cleanly.
    pub clean: bool,
    /// Bytes after the end of the log that were never acknowledged.
    pub torn_bytes: u64,
    /// What is damaged: which file, where, what. Empty: the store is whole.
    pub damage: Vec<String>,
    /// Segments of the store that a backup does not have.
    pub left_out: Vec<LeftOut>,
}

/// What a backup of a damaged store is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// None at all.
    Everything,
    /// Its whole segments.
    WholeSegments,
}

/// A file to copy, as far as it goes.
struct Source {
    name: String,
    file: File,
    bytes: u64,
}

/// All files of one moment.
struct Snapshot {
    sources: Vec<Source>,
    /// Names and bytes of what the witnesses said before the log's end was looked for, so that none
    /// says more than the copy of its log file can hold.
    witnesses: Witnesses,
}

/// Copies a store, running or not, into an empty or new directory. `progress` hears bytes done and
/// bytes in all. The copy is verified.
pub fn backup(
    store_dir: &Path,
    to: &Path,
    wanted: Wanted,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Report, StoreError> {
    let before = catalogue::read(&Directory::at(store_dir));
    let snapshot = snapshot(store_dir)?;
    let listed = before.kept_until(&catalogue::read(&Directory::at(store_dir)));
    if snapshot.sources.is_empty() && snapshot.witnesses.is_empty() {
        let text = format!("{} is not a store", store_dir.display());
        return Err(StoreError::Io(text));
    }
    let mut list = copy(snapshot.sources, to, progress)?;
    put_witnesses(&snapshot.witnesses, to)?;
    let mut left_out = Vec::new();
    let found = read_store(&Directory::at(to), &listed, false, Threads::default())?;
    match (found.damage.first(), wanted) {
        (None, _) => remove(to, is_witness)?,
        (Some(damage), Wanted::Everything) => {
            remove(to, |name| is_of_store(name) || name == files::BACKUP)?;
            return Err(StoreError::NotWhole {
                dir: store_dir.display().to_string(),
                damage: damage.to_string(),
            });
        }
        (Some(_), Wanted::WholeSegments) => {
            let salvaged = to.join(SALVAGED);
            let made = Directory::at(&salvaged).make();
            made.map_err(|error| failed("making", &salvaged, &error))?;
            left_out = salvage(to, &listed, &salvaged)?;
            list = move_up(&salvaged, to)?;
        }
    }
    write_list(to, &format!("{TITLE}\n{list}{END}\n"))?;
    let report = whole(to)?;
    Ok(Report { left_out, ..report })
}

/// The copy is read with them; they are no part of the backup, whose list says as much.
fn put_witnesses(witnesses: &Witnesses, to: &Path) -> Result<(), StoreError> {
    for (name, bytes) in witnesses {
        let path = to.join(name);
        let put = Directory::at(to)
            .open(name, How::Make)
            .and_then(|file| write_all_at(&*file, bytes, 0));
        put.map_err(|error| failed("writing", &path, &error))?;
    }
    Ok(())
}

/// Removes the files with such names.
fn remove(dir: &Path, is_meant: impl Fn(&str) -> bool) -> Result<(), StoreError> {
    let listed = Directory::at(dir)
        .list()
        .map_err(|error| failed("listing", dir, &error))?;
    for name in listed.iter().filter(|name| is_meant(name)) {
        let path = dir.join(name);
        std::fs::remove_file(&path).map_err(|error| failed("removing", &path, &error))?;
    }
    Ok(())
}

/// Puts the files of the store in `from` in the place of those in `to`. Returns their list.
fn move_up(from: &Path, to: &Path) -> Result<String, StoreError> {
    remove(to, is_of_store)?;
    let mut list = String::new();
    for name in names(from, belongs)? {
        let path = to.join(&name);
        let mut bytes = 0;
        let crc = std::fs::rename(from.join(&name), &path)
            .and_then(|()| File::open(&path))
            .and_then(|file| {
                checksum(file, |chunk| {
                    bytes += chunk.len() as u64;
                    Ok(())
                })
            })
            .map_err(|error| failed("moving", &path, &error))?;
        list += &format!("{crc:08x} {bytes} {name}\n");
    }
    std::fs::remove_dir_all(from)
        .and_then(|()| Directory::at(to).sync())
        .map_err(|error| failed("removing", from, &error))?;
    Ok(list)
}

/// Makes a store of a backup, in an empty or new directory. Every segment begins a new incarnation,
/// because clients may have seen versions later than the backup's. Reports what the backup holds.
pub fn restore(
    from: &Path,
    to_empty_dir: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Report, StoreError> {
    if !from.join(files::BACKUP).exists() {
        let text = format!(
            "{} is not a backup: its file BACKUP is missing",
            from.display()
        );
        return Err(StoreError::Io(text));
    }
    let report = whole(from)?;
    copy(snapshot(from)?.sources, to_empty_dir, progress)?;
    begin_anew(to_empty_dir)?;
    let list = to_empty_dir.join(files::BACKUP);
    std::fs::remove_file(&list)
        .and_then(|()| Directory::at(to_empty_dir).sync())
        .map_err(|error| failed("removing", &list, &error))?;
    whole(to_empty_dir)?;
    Ok(report)
}

/// Reads everything in a store that is not running, or in a backup, without changing it.
pub fn verify(dir: &Path) -> Result<Report, StoreError> {
    let disk = Directory::at(dir);
    let found = read_store(&disk, &catalogue::read(&disk), false, Threads::default())?;
    let mut damage: Vec<String> = found.damage.iter().map(Damage::to_string).collect();
    let list = dir.join(files::BACKUP);
    match std::fs::read(&list).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()) {
        Ok(text) => damage.extend(check_list(dir, &text)?.iter().map(Damage::to_string)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed("reading", &list, &error)),
    }
    Ok(Report {
        segments: found.histories.values().filter(|h| !h.removed).count() as u64,
        records: found.records,
        checkpoints: found.checkpoints,
        bytes: found.bytes,
        clean: found.clean,
        torn_bytes: found.torn_bytes,
        damage,
        left_out: Vec::new(),
    })
}

/// The report of a store that must not be damaged.
fn whole(dir: &Path) -> Result<Report, StoreError> {
    let report = verify(dir)?;
    match report.damage.first() {
        None => Ok(report),
        Some(damage) => Err(StoreError::NotWhole {
            dir: dir.display().to_string(),
            damage: damage.clone(),
        }),
    }
}

fn belongs(name: &str) -> bool {
    name == files::OWNER
        || files::log_first(name).is_some()
        || files::checkpoint_of(name).is_some()
        || files::pack_number(name).is_some()
}

fn is_witness(name: &str) -> bool {
    files::witness_first(name).is_some()
}

/// Whether a store is read from the file of this name.
fn is_of_store(name: &str) -> bool {
    belongs(name) || is_witness(name)
}

fn names(dir: &Path, is_meant: impl Fn(&str) -> bool) -> Result<Vec<String>, StoreError> {
    let mut names = Directory::at(dir)
        .list()
        .map_err(|error| failed("listing", dir, &error))?;
    names.retain(|name| is_meant(name));
    Ok(names)
}

fn snapshot(dir: &Path) -> Result<Snapshot, StoreError> {
    let reading = |error: io::Error| failed("reading files of", dir, &error);
    for _ in 0..ATTEMPTS {
        let before = names(dir, is_of_store)?;
        let Some((opened, witnesses)) = open_all(dir, &before).map_err(reading)? else {
            continue;
        };
        if names(dir, is_of_store)? == before {
            let sources = measured(opened, &witnesses).map_err(reading)?;
            return Ok(Snapshot { sources, witnesses });
        }
    }
    let text = format!("the files of {} do not stay the same", dir.display());
    Err(StoreError::Io(text))
}

type Opened = Vec<(String, File)>;
type Witnesses = Vec<(String, Vec<u8>)>;

/// Opens the files and reads the witnesses; None if one is gone meanwhile.
fn open_all(dir: &Path, names: &[String]) -> io::Result<Option<(Opened, Witnesses)>> {
    let (mut opened, mut witnesses) = (Vec::new(), Vec::new());
    for name in names {
        let path = dir.join(name);
        let done = match is_witness(name) {
            true => std::fs::read(path).map(|bytes| witnesses.push((name.clone(), bytes))),
            false => File::open(path).map(|file| opened.push((name.clone(), file))),
        };
        match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            done => done?,
        }
    }
    Ok(Some((opened, witnesses)))
}

/// How far each file is to be copied: the newest log file up to its end.
fn measured(opened: Opened, witnesses: &Witnesses) -> io::Result<Vec<Source>> {
    let newest = opened.iter().filter_map(|(name, _)| files::log_first(name));
    let newest = newest.max();
    let sources = opened.into_iter().map(|(name, file)| {
        let first = files::log_first(&name).filter(|&first| Some(first) == newest);
        let bytes = match first {
            Some(first) => {
                let mut of_file = witnesses.iter().filter(|(w, _)| *w == witness_name(first));
                end_of_log(&file, of_file.find_map(|(_, bytes)| Seen::of(bytes, first)))?
            }
            None => file.metadata()?.len(),
        };
        Ok(Source { name, file, bytes })
    });
    sources.collect()
}

/// Where the last whole group of the newest log file ends. A hole that goes away was being written.
fn end_of_log(file: &File, witnessed: Option<Seen>) -> io::Result<u64> {
    let mut hole = None;
    loop {
        let Some(head) = read_head(file)? else {
            return Ok(file.metadata()?.len());
        };
        let mut scan = Scan::new(file, head, None)?.witnessed(witnessed.clone());
        let seen = loop {
            match scan.next()? {
                Some(Step::Group(_)) => {}
                Some(Step::Hole(hole)) => break Some(hole.from),
                None => break None,
            }
        };
        match seen {
            None => return Ok(scan.end()),
            // the copy has it too, and does not verify
            Some(_) if seen == hole => return Ok(file.metadata()?.len()),
            Some(_) => hole = seen,
        }
    }
}

/// Copies the files into an empty directory that is marked as unfinished. Returns their list.
fn copy(
    sources: Vec<Source>,
    to: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<String, StoreError> {
    let disk = Directory::at(to);
    disk.make().map_err(|error| failed("making", to, &error))?;
    let there = disk.list().map_err(|error| failed("listing", to, &error))?;
    if !there.is_empty() {
        let text = format!("{} is not empty; name another directory", to.display());
        return Err(StoreError::Io(text));
    }
    files::restrict_all(&disk).map_err(|error| failed("restricting", to, &error))?;
    write_list(to, UNFINISHED)?;
    let total = sources.iter().map(|source| source.bytes).sum();
    let mut done = 0;
    let mut list = String::new();
    for source in sources {
        let name = &source.name;
        let mut moved = |bytes: u64| {
            done += bytes;
            progress(done, total);
        };
        let crc = copy_file(&source, to, &mut moved)
            .map_err(|error| failed("copying to", &to.join(name), &error))?;
        list += &format!("{crc:08x} {} {name}\n", source.bytes);
    }
    Ok(list)
}

fn copy_file(source: &Source, to: &Path, moved: &mut dyn FnMut(u64)) -> io::Result<u32> {
    let disk: SharedDisk = Arc::new(Directory::at(to));
    let mut unnamed = Unnamed::create(&disk, &source.name)?;
    let crc = checksum((&source.file).take(source.bytes), |bytes| {
        moved(bytes.len() as u64);
        unnamed.write_all(bytes)
    })?;
    unnamed.publish(&source.name)?;
    Ok(crc)
}

fn checksum(mut from: impl Read, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<u32> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut crc = 0;
    loop {
        let count = from.read(&mut chunk)?;
        if count == 0 {
            return Ok(crc);
        }
        crc = crc32c::crc32c_append(crc, &chunk[..count]);
        each(&chunk[..count])?;
    }
}

fn write_list(dir: &Path, text: &str) -> Result<(), StoreError> {
    let write = || {
        let disk: SharedDisk = Arc::new(Directory::at(dir));
        let mut unnamed = Unnamed::create(&disk, files::BACKUP)?;
        unnamed.write_all(text.as_bytes())?;
        unnamed.publish(files::BACKUP)
    };
    let path = dir.join(files::BACKUP);
    write()
        .map(drop)
        .map_err(|error| failed("writing", &path, &error))
}

/// What is not as the list says.
fn check_list(dir: &Path, text: &str) -> Result<Vec<Damage>, StoreError> {
    let list = text
        .strip_prefix(TITLE)
        .and_then(|rest| rest.strip_suffix(&format!("{END}\n")));
    let Some(list) = list else {
        let what = "the backup was not finished, or its list is cut or changed";
        return Ok(vec![Damage::new(files::BACKUP, 0, what)]);
    };
    let mut damage = Vec::new();
    let mut listed = Vec::new();
    for line in list.lines().skip(1) {
        let name = line.split(' ').nth(2).filter(|name| belongs(name));
        let Some(name) = name else {
            damage.push(Damage::new(files::BACKUP, 0, format!("a bad line: {line}")));
            continue;
        };
        listed.push(name.to_string());
        let path = dir.join(name);
        let mut bytes = 0;
        let read = File::open(&path).and_then(|file| {
            checksum(file, |chunk| {
                bytes += chunk.len() as u64;
                Ok(())
            })
        });
        match read {
            Ok(crc) if line == format!("{crc:08x} {bytes} {name}") => {}
            Ok(_) => damage.push(Damage::new(name, 0, "it is not as it was copied")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                damage.push(Damage::new(name, 0, "it is missing"));
            }
            Err(error) => return Err(failed("reading", &path, &error)),
        }
    }
    listed.sort();
    if names(dir, belongs)? != listed {
        damage.push(Damage::new(
            files::BACKUP,
            0,
            "it lists other files than there are",
        ));
    }
    Ok(damage)
}

/// Gives every segment a new incarnation, and the owner an epoch that the original has not had.
fn begin_anew(dir: &Path) -> Result<(), StoreError> {
    let disk: SharedDisk = Arc::new(Directory::at(dir));
    let epoch = read_epoch(&*disk).unwrap_or(0) + 1 + u64::from(random() as u32 >> 4);
    write_epoch(&disk, epoch).map_err(|error| failed("writing", dir, &error))?;
    let (store, segments) = EmbeddedStore::open_any(&disk, Options::default())?;
    let incarnation = random();
    let group: Vec<Record> = segments
        .iter()
        .map(|segment| Record {
            segment_id: segment.segment_id,
            body: LogBody::Incarnation(newest_version(segment, incarnation)),
            diff: Bytes::new(),
            fields: Vec::new(),
        })
        .collect();
    let (done, answer) = channel();
    let done = move |result| {
        // the receiver waits below
        let _ = done.send(result);
    };
    store.append(group, Durability::Synced, Box::new(done));
    answer.recv().unwrap_or(Err(StoreError::Closed))?;
    Box::new(store).close(true)
}

fn newest_version(segment: &RecoveredSegment, incarnation: u64) -> VersionStamp {
    let checkpoint = segment.checkpoint.as_ref();
    let release = segment.releases.last();
    let (number, chain) = release
        .map(|(release, _)| (release.version, release.chain))
        .or(checkpoint.map(|(head, _)| (head.at.number, head.at.chain)))
        .unwrap_or_default();
    VersionStamp {
        incarnation,
        number,
        chain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_moment_are_not_opened_if_one_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(files::OWNER), "1").unwrap();
        let names = [files::OWNER.to_string(), files::log_name(0)];
        assert!(open_all(dir.path(), &names[..1]).unwrap().is_some());
        assert!(open_all(dir.path(), &names).unwrap().is_none());
        // a witness that cannot be read
        let witness = [witness_name(0)];
        std::fs::create_dir(dir.path().join(&witness[0])).unwrap();
        assert!(open_all(dir.path(), &witness).is_err());
    }
}
