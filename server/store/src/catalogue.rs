//! The catalogue: which segments there are, by path, and which checkpoint is the newest of each
//! [LOG-11].
//!
//! The log and the checkpoints are the truth. The catalogue only shows that a whole checkpoint
//! file, or the record of a creation, has been lost, and whose it was; so it may lag behind them,
//! and must never be ahead. It is a file of lines with a checksum each. A change is a line more;
//! the file is written aside and renamed at each start, after an error, and when most of its lines
//! are outdated. Nothing that stands in it, or does not, keeps a store from being opened.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::disk::{read_all, write_all_at, Disk, OpenFile, SharedDisk};
use crate::files::{self, failed, Unnamed};
use crate::owner::Owner;
use crate::StoreError;

const TITLE: &str = "interweave catalogue 1";
/// More than any number of segments needs; a larger file is not read to its end.
const MAX_BYTES: u64 = 1 << 30;
/// So many outdated lines are no reason to write the file anew.
const SPARE_LINES: usize = 1024;

/// How a segment is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// By the log from its creation on, whose group has so many bytes (0: not known). `synced` says
    /// that the creation was on the disk when this was noted.
    Created { bytes: u64, synced: bool },
    /// By the checkpoint of this version, and the log after it.
    Checkpoint(u64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub state: State,
    /// Empty: of a damaged segment whose path nothing tells [LOG-12].
    pub path: String,
}

impl Entry {
    pub fn known_path(&self) -> Option<&str> {
        Some(&*self.path).filter(|path| !path.is_empty())
    }
}

/// What a catalogue says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Listed {
    pub entries: BTreeMap<u64, Entry>,
    /// Every line holds. Otherwise the line of a removal may be among those that do not: what is in
    /// `entries` may be gone, and is good only for the names of what is found otherwise.
    pub whole: bool,
}

impl Listed {
    /// What stood in it all the time until `later`, as it stood at first: of the segments that
    /// there were at any moment between.
    pub fn kept_until(mut self, later: &Listed) -> Listed {
        self.entries.retain(|id, _| later.entries.contains_key(id));
        self.whole &= later.whole;
        self
    }

    fn take(&mut self, line: &[u8]) -> Option<()> {
        let line = std::str::from_utf8(line).ok()?;
        let (crc, rest) = line.split_at_checked(8)?;
        if crc != format!("{:08x}", crc32c::crc32c(rest.as_bytes())) {
            return None;
        }
        let mut words = rest.strip_prefix(' ')?.splitn(4, ' ');
        let segment_id: u64 = words.next()?.parse().ok()?;
        let (state, number): (&str, u64) = (words.next()?, words.next()?.parse().ok()?);
        let created = |synced| State::Created {
            bytes: number,
            synced,
        };
        let state = match state {
            "synced" => created(true),
            "written" => created(false),
            "checkpoint" => State::Checkpoint(number),
            "removed" => {
                self.entries.remove(&segment_id);
                return Some(());
            }
            _ => return None,
        };
        let path = words.next()?.to_string();
        self.entries.insert(segment_id, Entry { state, path });
        Some(())
    }
}

impl Listed {
    /// Bytes after the last line's end were being written when the power failed. They are a line if
    /// they were written whole, or if nothing but their end is damaged.
    fn take_unended(&mut self, bytes: &[u8]) {
        let but_last = bytes.split_last().map_or(bytes, |(_, line)| line);
        let _ = self.take(bytes).or_else(|| self.take(but_last));
    }
}

/// Reads the catalogue of a store. One that is missing or damaged says what is left of it.
pub fn read(disk: &dyn Disk) -> Listed {
    let read = read_all(disk, files::CATALOGUE, MAX_BYTES);
    parse(&read.unwrap_or_default())
}

fn parse(bytes: &[u8]) -> Listed {
    let mut listed = Listed::default();
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    let unended = lines.pop().unwrap_or_default();
    listed.whole = lines.first() == Some(&TITLE.as_bytes());
    for line in lines.into_iter().skip(usize::from(listed.whole)) {
        listed.whole &= listed.take(line).is_some();
    }
    listed.take_unended(unended);
    listed
}

/// The line, without an end; None for a path that no segment can have.
fn line(segment_id: u64, entry: Option<&Entry>) -> Option<String> {
    let rest = match entry {
        None => format!(" {segment_id} removed 0"),
        Some(Entry { path, .. }) if path.contains('\n') => return None,
        Some(Entry { state, path }) => match state {
            State::Checkpoint(version) => format!(" {segment_id} checkpoint {version} {path}"),
            State::Created { bytes, synced } => {
                let word = if *synced { "synced" } else { "written" };
                format!(" {segment_id} {word} {bytes} {path}")
            }
        },
    };
    Some(format!("{:08x}{rest}", crc32c::crc32c(rest.as_bytes())))
}

/// The catalogue of a store, for the thread that writes the log and for the one that saves. Nobody
/// waits for a sync that another asked for.
#[derive(Debug, Clone)]
pub struct Catalogue(Arc<Mutex<Lines>>);

impl Catalogue {
    /// A catalogue that is not written yet; the first change, or `rewrite`, does that.
    pub fn new(disk: &SharedDisk, owner: Arc<Owner>, entries: BTreeMap<u64, Entry>) -> Catalogue {
        Catalogue(Arc::new(Mutex::new(Lines {
            disk: Arc::clone(disk),
            owner,
            entries,
            file: None,
            end: 0,
            count: 0,
        })))
    }

    /// Takes the changes (None: removed) and brings them to the disk if asked. Otherwise the system
    /// has them: they outlive this process.
    pub fn change(&self, changes: Vec<(u64, Option<Entry>)>, sync: bool) -> Result<(), StoreError> {
        let mut lines = self.lines();
        lines.change(changes)?;
        if !sync {
            return Ok(());
        }
        let file = lines.file.clone();
        drop(lines);
        let synced = file.map_or(Ok(()), |file| file.sync_data());
        synced.map_err(|error| {
            let mut lines = self.lines();
            lines.file = None;
            lines.failed(&error)
        })
    }

    pub fn rewrite(&self) -> Result<(), StoreError> {
        self.lines().rewrite()
    }

    /// After a panic of the other thread, too: then the next change writes all of it anew.
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Lines {
    disk: SharedDisk,
    owner: Arc<Owner>,
    entries: BTreeMap<u64, Entry>,
    /// None after an error: the next change writes all of it anew.
    file: Option<OpenFile>,
    /// Where the next line goes.
    end: u64,
    /// In the file.
    count: usize,
}

impl Lines {
    fn change(&mut self, changes: Vec<(u64, Option<Entry>)>) -> Result<(), StoreError> {
        let mut text = String::new();
        for (segment_id, entry) in changes {
            if let Some(line) = line(segment_id, entry.as_ref()) {
                text += &line;
                text.push('\n');
                self.count += 1;
            }
            match entry {
                Some(entry) => drop(self.entries.insert(segment_id, entry)),
                None => drop(self.entries.remove(&segment_id)),
            }
        }
        let outdated = self.count > 2 * self.entries.len() + SPARE_LINES;
        let Some(file) = self.file.take().filter(|_| !outdated) else {
            return self.rewrite();
        };
        // of one that fails a part may be there: then all is written anew
        let written = write_all_at(&*file, text.as_bytes(), self.end);
        written.map_err(|error| self.failed(&error))?;
        self.end += text.len() as u64;
        self.file = Some(file);
        Ok(())
    }

    /// Writes the whole catalogue aside and gives it its name.
    fn rewrite(&mut self) -> Result<(), StoreError> {
        let mut text = format!("{TITLE}\n");
        self.count = 0;
        for (&segment_id, entry) in &self.entries {
            if let Some(line) = line(segment_id, Some(entry)) {
                text += &line;
                text.push('\n');
                self.count += 1;
            }
        }
        let written = Unnamed::create(&self.disk, files::CATALOGUE).and_then(|mut unnamed| {
            unnamed.write_all(text.as_bytes())?;
            Ok(unnamed)
        });
        let unnamed = written.map_err(|error| self.failed(&error))?;
        self.owner.check()?;
        let published = unnamed.publish(files::CATALOGUE);
        self.file = Some(published.map_err(|error| self.failed(&error))?);
        self.end = text.len() as u64;
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> StoreError {
        failed("writing", &self.disk.path().join(files::CATALOGUE), error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Directory, How};
    use crate::owner::Lock;
    use rustix::mount::{mount, unmount, MountFlags, UnmountFlags};
    use std::path::Path;

    fn open(dir: &Path) -> (Catalogue, Listed) {
        let disk: SharedDisk = Arc::new(Directory::at(dir));
        let listed = read(&*disk);
        let owner = Owner::begin(&disk, Lock::take(&*disk).unwrap(), 0).unwrap();
        let catalogue = Catalogue::new(&disk, Arc::new(owner), listed.entries.clone());
        (catalogue, listed)
    }

    fn entry(state: State, path: &str) -> Entry {
        Entry {
            state,
            path: path.to_string(),
        }
    }

    const CREATED: State = State::Created {
        bytes: 136,
        synced: true,
    };

    #[test]
    fn log_11_lines_are_the_bytes_of_the_specification() {
        let created = entry(CREATED, "/a list");
        let saved = entry(State::Checkpoint(12), "/a list");
        let lines = [
            line(9, Some(&created)),
            line(9, Some(&saved)),
            line(9, None),
        ];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        let specified = [
            "b14235bf 9 synced 136 /a list",
            "b461e732 9 checkpoint 12 /a list",
            "b176cfb0 9 removed 0",
        ];
        assert_eq!(lines, specified);
    }

    #[test]
    fn what_was_changed_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let (catalogue, listed) = open(dir.path());
        assert_eq!(listed, Listed::default());
        for id in 1..=4 {
            let changes = vec![(id, Some(entry(CREATED, &format!("/{id}"))))];
            catalogue.change(changes, false).unwrap();
        }
        let saved = entry(State::Checkpoint(7), "/2");
        catalogue
            .change(vec![(2, Some(saved.clone())), (3, None)], true)
            .unwrap();
        drop(catalogue);
        let (catalogue, listed) = open(dir.path());
        assert!(listed.whole);
        let ids: Vec<u64> = listed.entries.keys().copied().collect();
        assert_eq!((&ids[..], &listed.entries[&2]), (&[1, 2, 4][..], &saved));
        catalogue.rewrite().unwrap();
        assert_eq!(read(&Directory::at(dir.path())).entries, listed.entries);
    }

    #[test]
    fn a_change_is_a_line_more_in_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let (catalogue, _) = open(dir.path());
        let change = |id: u64| vec![(id, Some(entry(CREATED, &format!("/{id}"))))];
        catalogue.change(change(1), false).unwrap();
        let disk = Directory::at(dir.path());
        let file = disk.open(files::CATALOGUE, How::Read).unwrap();
        for id in 2..=SPARE_LINES as u64 {
            catalogue.change(change(id), false).unwrap();
            assert!(file.has_name().unwrap(), "it was written anew with {id}");
        }
    }

    #[test]
    fn outdated_lines_do_not_pile_up() {
        let dir = tempfile::tempdir().unwrap();
        let (catalogue, _) = open(dir.path());
        for version in 0..5000 {
            let saved = entry(State::Checkpoint(version), "/a");
            catalogue.change(vec![(1, Some(saved))], false).unwrap();
        }
        let listed = read(&Directory::at(dir.path()));
        let text = std::fs::read_to_string(dir.path().join(files::CATALOGUE)).unwrap();
        let lines = text.lines().count();
        assert!(listed.whole && lines < 2 * SPARE_LINES, "{lines}");
        assert_eq!(listed.entries[&1].state, State::Checkpoint(4999));
    }

    /// [LOG-11]
    #[test]
    fn a_damaged_line_is_not_believed_and_spoils_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let (catalogue, _) = open(dir.path());
        let all = (1..=3).map(|id| (id, Some(entry(CREATED, &format!("/{id}")))));
        let all: Vec<_> = all.collect();
        catalogue.change(all.clone(), true).unwrap();
        let path = dir.path().join(files::CATALOGUE);
        let whole = std::fs::read(&path).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, changed).unwrap();
            let listed = read(&Directory::at(dir.path()));
            let is_end = bit / 8 == whole.len() - 1;
            assert_eq!(listed.whole, is_end, "bit {bit}");
            assert!(!listed.entries.is_empty(), "bit {bit}");
            assert!(!is_end || listed.entries.len() == 3, "bit {bit}");
            for (id, found) in &listed.entries {
                assert_eq!(all[*id as usize - 1].1.as_ref(), Some(found), "bit {bit}");
            }
        }
        for end in 0..whole.len() {
            let listed = parse(&whole[..end]);
            assert_eq!(listed.whole, end > TITLE.len(), "cut at {end}");
        }
    }

    #[test]
    fn a_catalogue_for_which_there_was_no_space_takes_changes_again() {
        let dir = tempfile::tempdir().unwrap();
        let size = c"size=4m";
        if let Err(error) = mount("tmpfs", dir.path(), "tmpfs", MountFlags::empty(), size) {
            println!("skipped: no tmpfs can be mounted ({error})");
            return;
        }
        let (catalogue, _) = open(dir.path());
        catalogue.rewrite().unwrap();
        let ballast = dir.path().join("ballast");
        let free = rustix::fs::statvfs(dir.path()).unwrap().f_bavail as usize;
        std::fs::write(&ballast, vec![1; free * 4096]).unwrap();
        let change = |id| vec![(id, Some(entry(CREATED, &"/a".repeat(400))))];
        let refused = (0..10_000).find(|&id| catalogue.change(change(id), true).is_err());
        let refused = refused.expect("no space is needed");
        assert!(catalogue.change(change(refused), true).is_err());
        std::fs::remove_file(&ballast).unwrap();
        catalogue.change(change(refused + 1), true).unwrap();
        drop(catalogue);
        let (catalogue, listed) = open(dir.path());
        assert_eq!(listed.entries.len() as u64, refused + 2);
        drop(catalogue);
        unmount(dir.path(), UnmountFlags::DETACH).unwrap();
    }
}
