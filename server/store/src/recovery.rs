//! Reads a whole store and changes nothing: what every segment is, where the log ends, what is
//! damaged [LOG-2] [LOG-6].

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use bytes::Bytes;
use interweave_wire::protocol::LogHeader;

use crate::catalogue::{Listed, State};
use crate::checkpoint;
use crate::damage::Damage;
use crate::files::{self, failed};
use crate::history::{History, CLEAN_STOP};
use crate::missing::creation_of;
use crate::scan::{read_head, Hole, Scan, Step};
use crate::StoreError;

/// A log file that was read.
#[derive(Debug, Clone)]
pub struct LogFile {
    pub first: u64,
    pub name: String,
    /// Where its last record ends.
    pub end: u64,
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
    pub records: u64,
    pub checkpoints: u64,
    pub bytes: u64,
    pub torn_bytes: u64,
    /// Holes in the log and checkpoints that cannot be read, whether a segment suffers or not.
    pub damage: Vec<Damage>,
    /// Checkpoints that are not the newest of their segment.
    pub older_checkpoints: Vec<(u64, u64)>,
    /// Holes of which nothing says whose records they held.
    pub(crate) unexplained: Vec<(Damage, u64)>,
    /// Damaged checkpoints that the log makes up for are no longer needed either.
    bad_checkpoints: Vec<(u64, u64, Damage)>,
    read_bodies: bool,
}

/// Reads the store. Without `bodies` the diffs are checked and let go.
pub fn read_store(dir: &Path, listed: &Listed, bodies: bool) -> Result<Found, StoreError> {
    let names = files::list(dir).map_err(|error| failed("listing", dir, &error))?;
    let mut found = Found {
        read_bodies: bodies,
        ..Found::default()
    };
    found.read_checkpoints(dir, &names)?;
    let logs: Vec<(u64, &String)> = names
        .iter()
        .filter_map(|name| Some((files::log_first(name)?, name)))
        .collect();
    for (i, &(first, name)) in logs.iter().enumerate() {
        let next = logs.get(i + 1).map(|&(next, _)| next);
        found
            .read_log(dir, name, first, next)
            .map_err(|error| failed("reading", &dir.join(name), &error))?;
    }
    found.clean |= logs.is_empty() && found.histories.is_empty();
    found.conclude(listed);
    Ok(found)
}

impl Found {
    fn read_checkpoints(&mut self, dir: &Path, names: &[String]) -> Result<(), StoreError> {
        let mut of: Vec<(u64, u64)> = names
            .iter()
            .filter_map(|n| files::checkpoint_of(n))
            .collect();
        of.sort_by_key(|&(segment_id, version)| (segment_id, std::cmp::Reverse(version)));
        for (segment_id, version) in of {
            if self.histories.contains_key(&segment_id) {
                self.older_checkpoints.push((segment_id, version));
                continue;
            }
            let name = files::checkpoint_name(segment_id, version);
            let path = dir.join(&name);
            let read = File::open(&path)
                .and_then(|mut file| checkpoint::read(&mut file, segment_id, version))
                .map_err(|error| failed("reading", &path, &error))?;
            match read {
                Ok(mut loaded) => {
                    self.checkpoints += 1;
                    self.bytes += loaded.diff.len() as u64;
                    if !self.read_bodies {
                        loaded.diff = Bytes::new();
                    }
                    self.histories
                        .insert(segment_id, History::new(segment_id, Some(loaded)));
                }
                Err(what) => {
                    let damage = Damage::new(&name, 0, what);
                    self.bad_checkpoints
                        .push((segment_id, version, damage.clone()));
                    self.damage.push(damage);
                }
            }
        }
        Ok(())
    }

    fn read_log(
        &mut self,
        dir: &Path,
        name: &str,
        first: u64,
        next: Option<u64>,
    ) -> io::Result<()> {
        let file = File::open(dir.join(name))?;
        self.clean = false;
        let head = read_head(&file)?.filter(|head| head.first == first);
        let Some(head) = head.filter(|head| head.epoch >= self.epoch) else {
            let length = file.metadata()?.len();
            let hole = Hole {
                from: 0,
                to: length,
                hint: None,
            };
            self.hole(name, &hole);
            self.files.push(LogFile {
                first,
                name: name.to_string(),
                end: length,
            });
            self.next_number = first + 1;
            return Ok(());
        };
        self.epoch = head.epoch;
        let mut scan = Scan::new(&file, head, next.map(|next| next - first))?;
        while let Some(step) = scan.next()? {
            self.clean = false;
            match step {
                Step::Group(group) => {
                    let creation = creation_of(&group);
                    group.into_iter().for_each(|r| self.take(r, name, first));
                    if let Some((id, bytes)) = creation {
                        let history = self.histories.get_mut(&id);
                        history.into_iter().for_each(|h| h.creation_bytes = bytes);
                    }
                }
                Step::Hole(hole) => self.hole(name, &hole),
            }
        }
        self.files.push(LogFile {
            first,
            name: name.to_string(),
            end: scan.end(),
        });
        self.next_number = first + scan.records();
        self.torn_bytes += scan.torn_bytes();
        Ok(())
    }

    fn take(&mut self, mut record: crate::scan::Found, name: &str, file: u64) {
        self.records += 1;
        self.bytes += record.span;
        if !self.read_bodies {
            record.body = Bytes::new();
        }
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

    /// Which segments have lost records in a hole? The one that the hint names, if its chain fits,
    /// for 32 bits of it do not fit by chance; else any that no later record clears.
    fn hole(&mut self, name: &str, hole: &Hole) {
        let what = format!(
            "{} bytes are no valid record",
            hole.to.saturating_sub(hole.from)
        );
        let damage = Damage::new(name, hole.from, what);
        self.damage.push(damage.clone());
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
        for &(segment_id, _, _) in &bad {
            self.histories
                .entry(segment_id)
                .or_insert_with(|| History::new(segment_id, None));
        }
        self.add_missing(listed);
        self.explain_holes(listed);
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
            for (_, version, damage) in bad.iter().filter(|(of, _, _)| of == segment_id) {
                history.had_checkpoint(*version, damage.clone());
            }
        }
        self.end_outlived(listed);
        for history in self.histories.values().filter(|history| !history.removed) {
            if let Some(damage) = history.damage.as_ref().filter(|d| !self.damage.contains(d)) {
                self.damage.push(damage.clone());
            }
        }
        // a damaged checkpoint of a whole segment is not needed
        for (segment_id, version, damage) in bad {
            if self.histories[&segment_id].damage.is_none() {
                self.older_checkpoints.push((segment_id, version));
                self.damage.retain(|other| *other != damage);
            }
        }
    }
}
