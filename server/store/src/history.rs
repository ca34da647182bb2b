//! One segment's history, put together from its checkpoint and its records [LOG-3] [LOG-6].
//!
//! Records are taken in the order of the log. Those before the checkpoint's place may be
//! incomplete; from there on each must name the one before. Whatever cannot be shown to
//! be complete is damage.

use bytes::Bytes;
use interweave_wire::chain;
use interweave_wire::protocol::{
    Durability, IdentityField, LogBody, LogCreate, LogHeader, LogKind, LogRelease,
};

use crate::catalogue::{Entry, State};
use crate::checkpoint::Loaded;
use crate::creator::creator_of;
use crate::damage::Damage;
use crate::scan::{Found, Lost};
use crate::store::RecoveredSegment;

pub const REMOVE: LogBody = LogBody::Other(LogKind::Remove as i32);
pub const CLEAN_STOP: LogBody = LogBody::Other(LogKind::CleanStop as i32);

/// A record's effect on its segment's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Release(u64),
    Incarnation(u64),
    Removal,
    Other,
}

impl Effect {
    pub fn of(body: &LogBody) -> Effect {
        match body {
            LogBody::Release(release) => Effect::Release(release.version),
            LogBody::Incarnation(stamp) => Effect::Incarnation(stamp.incarnation),
            _ if *body == REMOVE => Effect::Removal,
            _ => Effect::Other,
        }
    }
}

/// A record that no checkpoint covers.
#[derive(Debug, Clone, Copy)]
pub struct Uncovered {
    /// The first record number of its file.
    pub file: u64,
    pub crc: u32,
    pub bytes: u64,
    pub effect: Effect,
}

/// A release after the checkpoint.
#[derive(Debug)]
struct Released {
    release: LogRelease,
    diff: Bytes,
    /// The record's format says that 0 stands for a chain that is not known [LOG-14].
    zero_is_unknown: bool,
}

#[derive(Debug)]
pub struct History {
    segment_id: u64,
    pub checkpoint: Option<Box<Loaded>>,
    /// The checkpoint's place in the log has been passed.
    passed: bool,
    created: Option<LogCreate>,
    /// Its maker, as its creation says.
    creator: Option<Box<IdentityField>>,
    /// Of the group that its creation is in, if the group holds nothing else.
    pub creation_bytes: u64,
    /// The records are complete from the segment's creation or its checkpoint.
    anchored: bool,
    /// The crc of the last record; without records, the checkpoint's parent.
    chain: Option<u32>,
    pub version: u64,
    pub incarnation: u64,
    pub serials_below: u64,
    releases: Vec<Released>,
    pub uncovered: Vec<Uncovered>,
    pub damage: Option<Box<Damage>>,
    /// A hole that may have held records of this segment, until a later record shows otherwise.
    suspect: Option<Box<Damage>>,
    pub removed: bool,
}

impl History {
    pub fn new(segment_id: u64, checkpoint: Option<Box<Loaded>>) -> History {
        let head = checkpoint.as_ref().map(|loaded| &loaded.head);
        History {
            segment_id,
            passed: false,
            created: None,
            creator: None,
            creation_bytes: 0,
            anchored: head.is_some(),
            chain: None,
            version: head.map_or(0, |head| head.at.number),
            incarnation: head.map_or(0, |head| head.at.incarnation),
            serials_below: head.map_or(0, |head| head.next_serial),
            releases: Vec::new(),
            uncovered: Vec::new(),
            damage: None,
            suspect: None,
            removed: false,
            checkpoint,
        }
    }

    /// The crc that the segment's next record names.
    pub fn chain(&self) -> u32 {
        let parent = self.checkpoint.as_ref().map(|loaded| loaded.head.parent);
        self.chain.or(parent).unwrap_or(0)
    }

    pub fn checkpoint_version(&self) -> Option<u64> {
        self.checkpoint.as_ref().map(|loaded| loaded.head.at.number)
    }

    /// The next record of the segment.
    pub fn take(&mut self, found: &Found, name: &str, file: u64) {
        let parent = found.header.parent;
        if self.is_checkpoint(parent) {
            self.pass_checkpoint();
        } else if self.chain.is_none() {
            // the first record that is left: the creation, or one that a checkpoint covers
            self.anchored = parent == 0 && matches!(found.header.body, LogBody::Create(_));
        } else if self.chain != Some(parent) {
            self.break_off(
                name,
                found.offset,
                "a record of the segment before it is missing",
            );
        } else {
            self.suspect = None;
        }
        self.chain = Some(found.crc);
        self.uncovered.push(Uncovered {
            file,
            crc: found.crc,
            bytes: found.span,
            effect: Effect::of(&found.header.body),
        });
        self.apply(found, name);
        if self.is_checkpoint(found.crc) {
            self.pass_checkpoint();
        }
    }

    fn is_checkpoint(&self, crc: u32) -> bool {
        let parent = self.checkpoint.as_ref().map(|loaded| loaded.head.parent);
        !self.passed && parent == Some(crc)
    }

    /// Everything before is covered, whatever was wrong with it.
    fn pass_checkpoint(&mut self) {
        let Some(loaded) = &self.checkpoint else {
            return;
        };
        let head = &loaded.head;
        self.passed = true;
        self.anchored = true;
        self.version = head.at.number;
        self.incarnation = head.at.incarnation;
        self.releases.clear();
        self.uncovered.clear();
        self.damage = None;
        self.suspect = None;
    }

    fn apply(&mut self, found: &Found, name: &str) {
        match &found.header.body {
            LogBody::Create(create) => {
                self.incarnation = create.incarnation;
                self.create(create, &found.header);
            }
            LogBody::Release(release) => self.release(release, found, name),
            LogBody::Serials(below) => self.serials_below = self.serials_below.max(*below),
            LogBody::Incarnation(stamp) => {
                self.incarnation = stamp.incarnation;
                self.version = stamp.number;
                self.releases
                    .retain(|released| released.release.version <= stamp.number);
            }
            LogBody::Other(_) => self.removed |= found.header.body == REMOVE,
        }
    }

    fn create(&mut self, create: &LogCreate, header: &LogHeader) {
        self.created = Some(create.clone());
        self.creator = creator_of(&header.fields).map(Box::new);
    }

    fn release(&mut self, release: &LogRelease, found: &Found, name: &str) {
        if self.anchored && (self.passed || self.checkpoint.is_none()) {
            if self.version.checked_add(1) != Some(release.version) {
                let what = format!("version {} follows {}", release.version, self.version);
                return self.break_off(name, found.offset, &what);
            }
            if self.damage.is_none() {
                if self.releases.is_empty() {
                    self.releases.reserve_exact(1);
                }
                self.releases.push(Released {
                    release: release.clone(),
                    diff: found.body.clone(),
                    zero_is_unknown: found.format.may_lack_chains(),
                });
            }
        }
        if self.damage.is_none() {
            self.version = release.version;
        }
    }

    fn break_off(&mut self, name: &str, offset: u64, what: &str) {
        let damage = || Box::new(Damage::new(name, offset, what));
        self.damage.get_or_insert_with(damage);
    }

    /// A hole in the log that certainly held a record of this segment.
    pub fn lost(&mut self, damage: &Damage) {
        self.damage.get_or_insert_with(|| Box::new(damage.clone()));
    }

    /// A record of this segment in a hole, of which the header is whole.
    pub fn lost_record(&mut self, lost: &Lost, damage: &Damage) {
        if let Some(header) = &lost.header {
            if let LogBody::Create(create) = &header.body {
                self.create(create, header);
            }
        }
        self.lost(damage);
        self.chain = Some(lost.crc);
        if self.is_checkpoint(lost.crc) {
            self.pass_checkpoint();
        }
    }

    /// A hole in the log that may have held records of this segment.
    pub fn suspect(&mut self, damage: &Damage) {
        self.suspect.get_or_insert_with(|| Box::new(damage.clone()));
    }

    /// The holes that may have held records of this segment did not.
    pub fn clear(&mut self) {
        self.suspect = None;
    }

    /// Neither its creation nor a checkpoint was found.
    pub fn has_no_beginning(&self) -> bool {
        self.checkpoint.is_none() && self.created.is_none()
    }

    /// Its path, if a checkpoint or its creation was found.
    pub fn path(&self) -> Option<&str> {
        let saved = self.checkpoint.as_ref().map(|loaded| &loaded.head.path);
        let created = || self.created.as_ref().map(|created| &created.path);
        saved.or_else(created).map(String::as_str)
    }

    /// The entry that the catalogue should have. The records that were read are on the disk: older
    /// log files were synced before the newest got its name, and the newest is synced when
    /// its end is cut. A segment whose path nothing tells is listed without one, so that it is not
    /// forgotten.
    pub fn entry(&self) -> Entry {
        let created = State::Created {
            bytes: self.creation_bytes,
            synced: true,
        };
        Entry {
            state: self.checkpoint_version().map_or(created, State::Checkpoint),
            path: self.path().unwrap_or_default().to_string(),
        }
    }

    /// All records were taken.
    pub fn finish(&mut self, log_begin: &str) {
        self.damage = self.damage.take().or(self.suspect.take());
        let place_known = self.passed || self.uncovered.is_empty();
        let complete = match &self.checkpoint {
            Some(_) => place_known,
            None => self.anchored,
        };
        if !complete {
            let what = format!("earlier records of segment {} are missing", self.segment_id);
            self.break_off(log_begin, 0, &what);
        }
    }

    /// After `finish`: there was a checkpoint of this version, which is damaged or missing. That is
    /// harmless only if the log is complete without it and goes as far. Where another checkpoint
    /// has the version, the log must show that place: the lost one may have had a later incarnation
    /// or more serials.
    pub fn had_checkpoint(&mut self, version: u64, damage: Damage) {
        let is_twin = self.checkpoint_version() == Some(version) && !self.passed;
        if self.damage.is_some() || self.version < version || is_twin {
            self.damage = Some(Box::new(damage));
        }
    }

    /// The segment as the server of that epoch gets it. `path` is used if no record here has the
    /// path.
    pub fn recovered(
        &mut self,
        path: Option<&str>,
        (epoch, clean): (u64, bool),
    ) -> RecoveredSegment {
        let releases = self.take_releases();
        let taken = self.checkpoint.as_mut();
        let pieces = taken.map_or(Vec::new(), |loaded| std::mem::take(&mut loaded.pieces));
        let head = self.checkpoint.as_ref().map(|loaded| &loaded.head);
        let created = self.created.as_ref();
        let creator = head.and_then(|head| creator_of(&head.fields));
        RecoveredSegment {
            segment_id: self.segment_id,
            epoch,
            path: self.path().or(path).map(String::from).unwrap_or_default(),
            durable: head
                .map(|head| head.durable)
                .or(created.map(|c| c.durable))
                .unwrap_or(Durability::Synced),
            quota_bytes: head
                .map(|head| head.quota_bytes)
                .or(created.map(|c| c.quota_bytes))
                .unwrap_or(0),
            creator: creator.map(Box::new).or(self.creator.take()),
            incarnation: self.incarnation,
            checkpoint: self
                .checkpoint
                .take()
                .map(|loaded| (loaded.head, loaded.diff)),
            pieces,
            releases,
            serials_below: self.serials_below,
            clean,
            damage: self.damage.as_ref().map(|damage| damage.to_string()),
        }
    }

    /// The releases, each with a chain: one that its record does not say is made here.
    fn take_releases(&mut self) -> Vec<(LogRelease, Bytes)> {
        let head = self.checkpoint.as_ref().map(|loaded| &loaded.head);
        let mut newest = head.map_or(0, |head| head.at.chain);
        let with_chain = |released: Released| {
            let mut release = released.release;
            if released.zero_is_unknown && release.chain == 0 {
                release.chain = chain::next(newest, &released.diff);
            }
            newest = release.chain;
            (release, released.diff)
        };
        let releases = std::mem::take(&mut self.releases);
        releases.into_iter().map(with_chain).collect()
    }
}
