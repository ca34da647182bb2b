//! Reads a whole store and changes nothing: what every segment is, where the log ends, what is
//! damaged [LOG-2] [LOG-6].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use interweave_wire::protocol::{LogBody, LogHeader, LogKind};

use crate::catalogue::{Listed, State};
use crate::checkpoint::{Age, Loaded};
use crate::damage::Damage;
use crate::disk::{Disk, How};
use crate::files::{self, failed, log_name};
use crate::history::{History, CLEAN_STOP};
use crate::identity::Identity;
use crate::missing::creation_of;
use crate::ordered::{in_order, in_order_by_bytes, Threads};
use crate::reading::{read_pack, InFiles, Log, ReadItem};
use crate::record::{Format, FILE_HEAD_BYTES, RECORD_HEAD_BYTES};
use crate::scan::{format_of, Hole, Lost, Step};
use crate::witness::{Entry as Witnessed, Seen};
use crate::StoreError;

/// A log file that was read.
#[derive(Debug, Clone)]
pub struct LogFile {
    pub first: u64,
    pub name: String,
    /// Where its last record ends.
    pub end: u64,
    /// Until there it is known to have been on the disk.
    pub synced: u64,
}

/// A log file that is gone, of which its witness is left.
struct Gone {
    first: u64,
    seen: Seen,
}

/// Everything in a store.
#[derive(Debug, Default)]
pub struct Found {
    pub histories: BTreeMap<u64, History>,
    pub files: Vec<LogFile>,
    /// The largest epoch of any log file.
    pub epoch: u64,
    /// The number of the record that comes next.
    pub next_number: u64,
    pub clean: bool,
    /// As the newest file says that does.
    pub identity: Option<Identity>,
    pub records: u64,
    pub checkpoints: u64,
    pub bytes: u64,
    /// What follows the log's end and was not acknowledged as SYNCED, as far as is known.
    pub torn_bytes: u64,
    /// What was acknowledged at the log's end and is damaged or gone [LOG-15].
    pub lost_bytes: u64,
    /// The first numbers of the log files with holes, and of those that are gone: their witnesses
    /// are needed at the next start as well.
    pub holed: BTreeSet<u64>,
    /// Holes in the log and checkpoints that cannot be read, whether a segment suffers or not.
    pub damage: Vec<Damage>,
    /// Checkpoints that are not the newest of their segment.
    pub older_checkpoints: Vec<(u64, u64)>,
    /// The segments of all items of each pack [LOG-19].
    pub packs: BTreeMap<u64, Vec<u64>>,
    /// The packs of the items that are needed, by their segments.
    pub packed: HashMap<u64, u64>,
    /// Of the packs that are there, readable or not.
    pub last_pack: u64,
    /// Packs whose indexes do not hold, and whose items no segment is known to miss: they are set
    /// aside.
    pub lost_packs: Vec<u64>,
    /// Packs whose indexes do not hold.
    pub(crate) unread_packs: Vec<(u64, Damage)>,
    /// Holes of which nothing says whose records they held.
    pub(crate) unexplained: Vec<(Damage, u64)>,
    /// Damaged checkpoints that the log makes up for are no longer needed either. The last number
    /// is that of the pack, if it is in one.
    bad_checkpoints: Vec<(u64, u64, Damage, Option<u64>)>,
    read_bodies: bool,
    threads: Threads,
}

/// Reads the store. Without `bodies` the diffs are checked and let go.
pub fn read_store(
    disk: &dyn Disk,
    listed: &Listed,
    bodies: bool,
    threads: Threads,
) -> Result<Found, StoreError> {
    refuse_other_formats(disk)?;
    let names = list(disk)?;
    let mut found = Found {
        read_bodies: bodies,
        threads,
        ..Found::default()
    };
    found.read_checkpoints(disk, &names)?;
    let logs: BTreeSet<u64> = names.iter().filter_map(|n| files::log_first(n)).collect();
    let gone = gone_logs(disk, &names, &logs)?;
    let mut all: Vec<(u64, Option<&Gone>)> = logs.iter().map(|&first| (first, None)).collect();
    all.extend(gone.iter().map(|gone| (gone.first, Some(gone))));
    all.sort_by_key(|&(first, _)| first);
    let firsts = all.iter().map(|&(first, _)| first);
    let nexts = firsts.skip(1).map(Some).chain([None]);
    in_order_by_bytes(
        threads,
        all.iter().zip(nexts),
        |((first, gone), _)| gone.map_or_else(|| Log::bytes(disk, *first), |_| 0),
        |(&(first, gone), next)| match gone {
            Some(gone) => Ok(Err((gone, next))),
            None => Log::read(disk, (first, next), bodies).map(Ok),
        },
        |read| match read? {
            Err((gone, next)) => {
                found.log_is_gone(&log_name(gone.first), gone, next);
                Ok(())
            }
            Ok(log) => {
                let path = disk.path().join(&log.name);
                found
                    .take_log(log)
                    .map_err(|error| failed("reading", &path, &error))
            }
        },
    )?;
    found.clean |= all.is_empty() && found.histories.is_empty();
    let aside = names.iter().filter(|name| files::is_aside(name));
    found.damage.extend(aside.map(|name| damage_of_aside(name)));
    found.conclude(listed);
    Ok(found)
}

fn list(disk: &dyn Disk) -> Result<Vec<String>, StoreError> {
    let names = disk.list();
    names.map_err(|error| failed("listing", disk.path(), &error))
}

/// A store of a format that cannot be read is left as it is [LOG-14].
pub fn refuse_other_formats(disk: &dyn Disk) -> Result<(), StoreError> {
    for name in list(disk)? {
        let path = disk.path().join(&name);
        let format = match files::log_first(&name) {
            Some(_) => disk
                .open(&name, How::Read)
                .and_then(|file| format_of(&*file)),
            None => Ok(None),
        };
        let format = format.map_err(|error| failed("reading", &path, &error))?;
        if let Some(number) = format.filter(|number| Format::of(*number).is_none()) {
            let reads = Format::READ;
            return Err(StoreError::Io(format!(
                "{} is of log format {number}, this program reads {reads} and has changed \
                 nothing; serve the store with the program that wrote it, or choose another \
                 directory",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Log files that held records, by their witnesses, and are not there.
fn gone_logs(
    disk: &dyn Disk,
    names: &[String],
    logs: &BTreeSet<u64>,
) -> Result<Vec<Gone>, StoreError> {
    let mut gone = Vec::new();
    let witnessed = names.iter().filter_map(|name| files::witness_first(name));
    for first in witnessed.filter(|first| !logs.contains(first)) {
        let path = disk.path().join(files::witness_name(first));
        let seen = Seen::read(disk, first).map_err(|error| failed("reading", &path, &error))?;
        let seen = seen.filter(Seen::has_records);
        gone.extend(seen.map(|seen| Gone { first, seen }));
    }
    Ok(gone)
}

impl Found {
    /// The newer file says how many records it had at least, so that its witness lacks none.
    fn log_is_gone(&mut self, name: &str, gone: &Gone, next: Option<u64>) {
        self.clean = false;
        let had = next.map_or(0, |next| next - gone.first);
        let known = gone.seen.all_records();
        let known = known.filter(|entries| entries.len() as u64 >= had);
        let first = known.and_then(|entries| entries.first());
        let from = first.map_or(FILE_HEAD_BYTES, |entry| u64::from(entry.offset));
        let place = (from, gone.seen.synced);
        self.lost_bytes += place.1 - place.0;
        self.lost_file((name, gone.first), place, known);
    }

    /// A log file of which only the witness tells. `known`: what it held, as far as that is known.
    fn lost_file(
        &mut self,
        (name, first): (&str, u64),
        (from, to): (u64, u64),
        known: Option<&[Witnessed]>,
    ) {
        let lost = known.unwrap_or_default().iter().map(Lost::witnessed);
        let hole = Hole {
            from,
            to,
            lost: lost.collect(),
            is_told: known.is_some(),
            hint: None,
        };
        self.hole((name, first), &hole);
        // Should the file come back, it has no more records than the next one says.
        let most = known.map_or(to / RECORD_HEAD_BYTES as u64, |known| known.len() as u64);
        self.next_number = first + most.max(1);
    }

    fn read_checkpoints(&mut self, disk: &dyn Disk, names: &[String]) -> Result<(), StoreError> {
        let mut in_packs = self.read_packs(disk, names)?;
        let mut of: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (segment_id, version) in names.iter().filter_map(|n| files::checkpoint_of(n)) {
            of.entry(segment_id).or_default().push(version);
        }
        for versions in of.values_mut() {
            versions.sort_unstable_by_key(|&version| std::cmp::Reverse(version));
        }
        let keeps = self.read_bodies;
        let with_age = of.into_iter().map(|(segment_id, versions)| {
            let packed = in_packs.get(&segment_id).map(|(loaded, _)| loaded.age());
            (segment_id, versions, packed)
        });
        let with_age: Vec<_> = with_age.collect();
        let read = |(segment_id, versions, packed): (u64, Vec<u64>, Option<Age>)| {
            let read = InFiles::read(disk, (segment_id, &versions), packed, keeps);
            (segment_id, read)
        };
        // What is kept needs its memory in any case, and is read on all cores.
        let bytes = |(segment_id, versions, _): &(u64, Vec<u64>, Option<Age>)| match keeps {
            true => 0,
            false => InFiles::bytes(disk, *segment_id, versions),
        };
        let threads = self.threads;
        in_order_by_bytes(
            threads,
            with_age.into_iter(),
            bytes,
            read,
            |(segment_id, read)| {
                self.take_files(segment_id, read?, &mut in_packs);
                Ok::<(), StoreError>(())
            },
        )?;
        for (segment_id, (loaded, pack)) in in_packs {
            self.packed.insert(segment_id, pack);
            self.take_checkpoint(loaded);
        }
        let newest = |id: &u64| self.histories.get(id).and_then(History::checkpoint_version);
        // A checkpoint that a later one has replaced is not missed. A file of an item's version may
        // be the later one.
        self.bad_checkpoints
            .retain(|(id, version, _, pack)| match newest(id) {
                Some(good) if pack.is_none() => good <= *version,
                good => good < Some(*version),
            });
        let bad = self.bad_checkpoints.iter();
        self.damage
            .extend(bad.map(|(_, _, damage, _)| damage.clone()));
        Ok(())
    }

    fn take_files(
        &mut self,
        segment_id: u64,
        files: InFiles,
        in_packs: &mut BTreeMap<u64, (Loaded, u64)>,
    ) {
        let older = files.older.into_iter();
        self.older_checkpoints
            .extend(older.map(|version| (segment_id, version)));
        let bad = files.bad.into_iter();
        self.bad_checkpoints
            .extend(bad.map(|(version, damage)| (segment_id, version, damage, None)));
        if let Some(loaded) = files.newest {
            in_packs.remove(&segment_id);
            self.take_checkpoint(loaded);
        }
    }

    fn take_checkpoint(&mut self, loaded: Loaded) {
        self.checkpoints += 1;
        let identity = Identity::of(&loaded.head.fields).unwrap_or_default();
        self.identity = self.identity.or(identity);
        self.bytes += loaded.head.diff_bytes;
        let segment_id = loaded.head.segment_id;
        let history = History::new(segment_id, Some(Box::new(loaded)));
        self.histories.insert(segment_id, history);
    }

    /// The newest checkpoint of each segment in the packs, and the pack.
    fn read_packs(
        &mut self,
        disk: &dyn Disk,
        names: &[String],
    ) -> Result<BTreeMap<u64, (Loaded, u64)>, StoreError> {
        let mut newest: BTreeMap<u64, (Loaded, u64)> = BTreeMap::new();
        let keeps = self.read_bodies;
        // in the order of their numbers
        let numbers = names.iter().filter_map(|name| files::pack_number(name));
        let numbers: Vec<u64> = numbers.collect();
        let read = |number: u64| (number, read_pack(disk, number, keeps));
        in_order(
            self.threads,
            numbers.into_iter(),
            read,
            |(number, items)| {
                self.last_pack = self.last_pack.max(number);
                self.take_pack(number, items?, &mut newest);
                Ok::<(), StoreError>(())
            },
        )?;
        Ok(newest)
    }

    fn take_pack(
        &mut self,
        number: u64,
        items: Result<Vec<ReadItem>, String>,
        newest: &mut BTreeMap<u64, (Loaded, u64)>,
    ) {
        let name = files::pack_name(number);
        let items = match items {
            Ok(items) => items,
            Err(what) => {
                let damage = Damage::new(&name, 0, what);
                self.damage.push(damage.clone());
                self.unread_packs.push((number, damage));
                return;
            }
        };
        let segments = items.iter().map(|(item, _)| item.segment_id).collect();
        self.packs.insert(number, segments);
        for (item, loaded) in items {
            let id = item.segment_id;
            match loaded {
                Ok(loaded) => {
                    let known = newest.get(&id).map(|(known, _)| known.age());
                    if known <= Some(loaded.age()) {
                        newest.insert(id, (loaded, number));
                    }
                }
                Err(what) => {
                    let damage = Damage::new(&name, 0, format!("of segment {id}: {what}"));
                    self.bad_checkpoints
                        .push((id, item.version, damage, Some(number)));
                }
            }
        }
    }

    /// Takes a log file, after all before it.
    fn take_log(&mut self, log: Log) -> io::Result<()> {
        self.clean = false;
        let Some(head) = log.head.filter(|head| head.epoch >= self.epoch) else {
            self.take_headless(&log);
            return Ok(());
        };
        self.epoch = head.epoch;
        self.identity = head.identity.or(self.identity);
        let Log {
            first,
            name,
            is_newest,
            contents,
            ..
        } = log;
        let contents = contents?;
        for step in contents.steps {
            self.clean = false;
            match step {
                Step::Group(group) => self.take_group(group, &name, first),
                Step::Hole(hole) => {
                    let bytes = hole.to - hole.from;
                    self.lost_bytes += if is_newest { bytes } else { 0 };
                    self.hole((&name, first), &hole);
                }
            }
        }
        self.next_number = first + contents.records;
        self.torn_bytes += contents.torn_bytes;
        self.files.push(LogFile {
            first,
            end: contents.end,
            synced: contents.synced,
            name,
        });
        Ok(())
    }

    /// Takes a log file whose head does not hold.
    fn take_headless(&mut self, log: &Log) {
        let seen = log.seen.as_ref().filter(|_| log.is_all_seen);
        let known = seen.and_then(Seen::all_records);
        self.lost_bytes += if log.is_newest { log.bytes } else { 0 };
        self.lost_file((&log.name, log.first), (0, log.bytes), known);
        self.files.push(LogFile {
            first: log.first,
            name: log.name.clone(),
            end: log.bytes,
            synced: log.bytes,
        });
    }

    fn take_group(&mut self, group: Vec<crate::scan::Found>, name: &str, first: u64) {
        let creation = creation_of(&group);
        group.into_iter().for_each(|r| self.take(r, name, first));
        if let Some((id, bytes)) = creation {
            let history = self.histories.get_mut(&id);
            history.into_iter().for_each(|h| h.creation_bytes = bytes);
        }
    }

    fn take(&mut self, record: crate::scan::Found, name: &str, file: u64) {
        self.records += 1;
        self.bytes += record.span;
        if record.header.body == CLEAN_STOP {
            self.clean = true;
            return;
        }
        let segment_id = record.header.segment_id;
        self.histories
            .entry(segment_id)
            .or_insert_with(|| History::new(segment_id, None))
            .take(&record, name, file);
    }

    /// Which segments have lost records in a hole? Those whose headers are whole, if these fill it;
    /// or the one that the hint names, if its chain fits, for 32 bits of it do not fit by chance;
    /// else any that no later record clears.
    fn hole(&mut self, (name, first): (&str, u64), hole: &Hole) {
        self.holed.insert(first);
        let damage = Damage::new(name, hole.from, text_of(hole));
        self.damage.push(damage.clone());
        for lost in hole.lost.iter().filter(|lost| lost.segment_id != 0) {
            let segment_id = lost.segment_id;
            self.histories
                .entry(segment_id)
                .or_insert_with(|| History::new(segment_id, None))
                .lost_record(lost, &damage);
        }
        if hole.is_told {
            return;
        }
        match hole.hint.as_ref().and_then(|hint| self.named_by(hint)) {
            Some(history) => history.lost(&damage),
            None => {
                self.histories.values_mut().for_each(|h| h.suspect(&damage));
                let bytes = hole.to.saturating_sub(hole.from);
                self.unexplained.push((damage, bytes));
            }
        }
    }

    fn named_by(&mut self, hint: &LogHeader) -> Option<&mut History> {
        self.histories
            .get_mut(&hint.segment_id)
            .filter(|history| history.chain() == hint.parent && hint.parent != 0)
    }

    fn conclude(&mut self, listed: &Listed) {
        let bad = std::mem::take(&mut self.bad_checkpoints);
        for &(segment_id, ..) in &bad {
            self.histories
                .entry(segment_id)
                .or_insert_with(|| History::new(segment_id, None));
        }
        self.add_missing(listed);
        self.explain_holes(listed);
        self.add_unknown(listed);
        let oldest = self.files.first().map_or("the log", |file| &file.name);
        for (segment_id, history) in &mut self.histories {
            history.finish(oldest);
            let state = listed.entries.get(segment_id).map(|entry| entry.state);
            if let Some(State::Checkpoint(version)) = state {
                if history.checkpoint_version() < Some(version) {
                    let name = files::checkpoint_name(*segment_id, version);
                    history.had_checkpoint(version, Damage::new(&name, 0, "it is missing"));
                }
            }
            for (_, version, damage, _) in bad.iter().filter(|(of, ..)| of == segment_id) {
                history.had_checkpoint(*version, damage.clone());
            }
        }
        self.end_outlived(listed);
        for history in self.histories.values().filter(|history| !history.removed) {
            if let Some(damage) = history
                .damage
                .as_deref()
                .filter(|d| !self.damage.contains(d))
            {
                self.damage.push(damage.clone());
            }
        }
        // a damaged checkpoint of a whole segment is not needed
        for (segment_id, version, damage, pack) in bad {
            let is_whole = self.histories[&segment_id].damage.is_none();
            match pack {
                None if is_whole => self.older_checkpoints.push((segment_id, version)),
                Some(pack) if !is_whole => drop(self.packed.insert(segment_id, pack)),
                _ => {}
            }
            if is_whole {
                self.damage.retain(|other| *other != damage);
            }
        }
        self.end_unread_packs(listed);
    }

    /// A pack that cannot be read stays while a segment misses its checkpoint, which the pack may
    /// have. Otherwise the next catalogue does not name the segments that only the pack has, so the
    /// pack gets another name before [LOG-19].
    fn end_unread_packs(&mut self, listed: &Listed) {
        let is_missed = |history: &History| history.damage.is_some() && !history.removed;
        if listed.whole && self.histories.values().any(is_missed) {
            return;
        }
        let unread = std::mem::take(&mut self.unread_packs).into_iter();
        self.lost_packs = unread.map(|(number, _)| number).collect();
    }
}

fn damage_of_aside(name: &str) -> Damage {
    let what = "the index of this pack did not hold, and no segment is known to need it; delete \
                the file when you miss no segment";
    Damage::new(name, 0, what)
}

/// What is wrong with the bytes, and what they were as far as that is known.
fn text_of(hole: &Hole) -> String {
    let bytes = hole.to.saturating_sub(hole.from);
    let names: Vec<String> = hole.lost.iter().take(3).map(name_of).collect();
    let more = hole.lost.len() > names.len() || !hole.is_told;
    match names.is_empty() {
        true => format!("{bytes} bytes are not a valid record"),
        false => format!(
            "{bytes} bytes are not valid records; they held {}{}",
            names.join(", "),
            if more { " and others" } else { "" }
        ),
    }
}

fn name_of(lost: &Lost) -> String {
    let segment_id = lost.segment_id;
    let Some(header) = &lost.header else {
        return match segment_id {
            0 => "the mark of a clean stop".to_string(),
            _ => format!("a record of segment {segment_id}"),
        };
    };
    match &header.body {
        LogBody::Create(create) => format!("the creation of {}", create.path),
        LogBody::Release(release) => {
            format!("version {} of segment {segment_id}", release.version)
        }
        LogBody::Serials(_) => format!("a bound of serials of segment {segment_id}"),
        LogBody::Incarnation(_) => format!("a new incarnation of segment {segment_id}"),
        LogBody::Other(kind) if *kind == LogKind::Remove as i32 => {
            format!("the removal of segment {segment_id}")
        }
        LogBody::Other(_) => "the mark of a clean stop".to_string(),
    }
}
