//! Makes segments of what the store found when it was opened [LOG-6..9], [LOCK-10].

use super::chain::Chains;
use super::config::ns;
use super::engine::Engine;
use super::journal::Entry;
use super::locks::terms;
use super::segment::{Beginning, Life, SegmentState};
use super::serials::Serials;
use super::storing;
use crate::lock::SegmentLock;
use bytes::Bytes;
use interweave_master::{Piece, Segment};
use interweave_store::{in_order, RecoveredSegment, Since};
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::{CommittedRelease, Durability, LogBody, LogRelease};
use interweave_wire::{chain, Rejection};
use std::convert::Infallible;

/// The beginning of the paths of damaged segments whose own paths are lost [LOG-12].
const NAMELESS: &str = "/.damaged/";
/// One thread rebuilds segments of so many bytes, or so many segments, before they are taken.
const TOGETHER_BYTES: u64 = 1 << 20;
const TOGETHER: usize = 256;
/// So many new incarnations are one request to the store. After a crash there may be a million.
const INCARNATIONS: usize = 1024;
/// Sessions of the server before this one may ask for so long what became of their releases
/// [LOCK-8].
const REMEMBERED_NS: u64 = 3_600_000_000_000;

impl Engine {
    /// Takes over the segments of the store. Returns remarks for people about damaged ones.
    pub fn recover(&mut self, now_ns: u64, found: Vec<RecoveredSegment>) -> Vec<String> {
        self.wire.advance(now_ns);
        let mut remarks = Vec::new();
        let mut begun = Vec::new();
        let rebuild = |some: Vec<RecoveredSegment>| some.into_iter().map(Rebuilt::of).collect();
        let all = in_order(
            self.config.threads,
            Together(found.into_iter()),
            rebuild,
            |some: Vec<Rebuilt>| {
                for segment in some {
                    self.segments.skip_id(segment.found.segment_id);
                    remarks.extend(self.recover_segment(segment, &mut begun));
                    if begun.len() >= INCARNATIONS {
                        self.log_incarnations(std::mem::take(&mut begun));
                    }
                }
                Ok::<(), Infallible>(())
            },
        );
        let Ok(()) = all;
        self.log_incarnations(begun);
        self.journal.begin_to_look(self.wire.now_ns());
        remarks
    }

    /// Makes the segment. Adds its number to `begun` if it begins a new incarnation, of which the
    /// log is yet to be told.
    pub(super) fn recover_segment(
        &mut self,
        segment: Rebuilt,
        begun: &mut Vec<u32>,
    ) -> Option<String> {
        let Rebuilt { mut found, rebuilt } = segment;
        let nameless = found.path.is_empty();
        if nameless {
            found.path = format!("{NAMELESS}{}", found.segment_id);
        }
        let (master, chains, life) = match rebuilt {
            Ok((master, chains)) => (master, chains, Life::Open),
            Err(what) => {
                let empty = Segment::new(found.quota_bytes);
                (empty, Chains::default(), Life::Damaged(what.into()))
            }
        };
        let remark = match &life {
            Life::Damaged(what) => Some(format!("segment {} is stopped: {what}", found.path)),
            _ => None,
        };
        let is_known_whole = found.clean && !planted::is_in(Defect::GivenBeginsAnew);
        let lost = !is_known_whole && found.durable != Durability::Synced
            || found.durable == Durability::Memory;
        let incarnation = match lost {
            true if planted::is_in(Defect::WrongIncarnation) => found.incarnation,
            true => self.segments.next_incarnation(),
            false => found.incarnation,
        };
        let first_fence = match planted::is_in(Defect::FencesBeginAnew) {
            true => 0,
            false => found.epoch << 32,
        };
        let next_serial = found.serials_below.max(master.next_serial());
        let creator = self.account_of_creator(found.creator.as_deref());
        let number = self.add_segment(Beginning {
            id: found.segment_id,
            path: found.path.clone(),
            durable: found.durable,
            quota_bytes: found.quota_bytes,
            incarnation,
            chains,
            master,
            lock: SegmentLock::new(terms(&self.config), first_fence),
            life,
            serials: Serials::begin(found.serials_below),
            is_stored: self.config.stored,
            creator,
        });
        if nameless {
            self.segments.note_nameless(number);
        }
        let remembered_ns = REMEMBERED_NS.max(ns(self.config.lease_ms));
        let until_ns = self.wire.now_ns() + remembered_ns;
        let segment = self.segments.found(number);
        segment.remember_releases(&found, until_ns);
        // The log is told of a larger bound when somebody opens the segment for writing, because a
        // record of each segment at each start would be much log.
        segment.serials.skip(next_serial);
        if lost && remark.is_none() {
            begun.push(number);
        }
        remark
    }

    /// Tells the log of new incarnations. REQUIRES: none of the segments is SYNCED.
    pub(super) fn log_incarnations(&mut self, segments: Vec<u32>) {
        if segments.is_empty() {
            return;
        }
        let found = segments.iter().filter_map(|n| self.segments.get(*n));
        let group = found.map(|s| storing::record(s.id, LogBody::Incarnation(s.stamp().into())));
        let group = group.collect();
        let entry = Entry::Incarnations { segments };
        self.journal.append(entry, group, Durability::Written);
    }
}

impl SegmentState {
    fn remember_releases(&mut self, found: &RecoveredSegment, until_ns: u64) {
        let saved = found
            .checkpoint
            .as_ref()
            .map(|(head, _)| &head.releases[..]);
        let releases: &[_] = match planted::is_in(Defect::ForgottenAtStart) {
            true => &[],
            false => &found.releases,
        };
        let logged = releases.iter().map(|(release, _)| CommittedRelease {
            session: release.session,
            sequence: release.sequence,
            version: release.version,
            chain: release.chain,
        });
        self.remembered
            .recover(saved.unwrap_or_default(), logged, until_ns);
    }
}

/// A segment of the store, and what its checkpoint and releases make.
pub struct Rebuilt {
    found: RecoveredSegment,
    /// An error: it is damaged.
    rebuilt: Result<(Segment, Chains), String>,
}

impl Rebuilt {
    pub fn of(mut found: RecoveredSegment) -> Rebuilt {
        let rebuilt = match &found.damage {
            Some(damage) => Err(damage.clone()),
            None => rebuild(&mut found).map_err(|rejection| rejection.to_string()),
        };
        Rebuilt { found, rebuilt }
    }

    /// Nobody knows any more which session has sent which release.
    pub fn forget_releases(&mut self) {
        self.found.releases.clear();
        if let Some((head, _)) = &mut self.found.checkpoint {
            head.releases.clear();
        }
    }

    pub fn path(&self) -> &str {
        &self.found.path
    }

    /// The same segment with what came since. None: that does not fit, so the segment is to be read
    /// anew.
    pub fn with(mut self, since: Since) -> Option<Rebuilt> {
        let (master, chains) = self.rebuilt.as_mut().ok()?;
        if self.found.segment_id != since.segment_id {
            return None;
        }
        let mut releases = since.releases;
        commit_logged(master, chains, &mut releases).ok()?;
        self.found.releases.append(&mut releases);
        self.found.serials_below = self.found.serials_below.max(since.serials_below);
        self.found.epoch = since.epoch;
        self.found.clean = since.clean;
        Some(self)
    }
}

/// Some segments at a time, because most are small where there are many.
struct Together(std::vec::IntoIter<RecoveredSegment>);

impl Iterator for Together {
    type Item = Vec<RecoveredSegment>;

    fn next(&mut self) -> Option<Vec<RecoveredSegment>> {
        let mut some = Vec::new();
        let mut bytes = 0;
        while bytes < TOGETHER_BYTES && some.len() < TOGETHER {
            let Some(segment) = self.0.next() else {
                break;
            };
            bytes += segment.bytes();
            some.push(segment);
        }
        (!some.is_empty()).then_some(some)
    }
}

/// Rebuilds a segment from its checkpoint and the releases after it. The chain that each diff makes
/// must be the chain that was logged.
fn rebuild(found: &mut RecoveredSegment) -> Result<(Segment, Chains), Rejection> {
    let pieces = std::mem::take(&mut found.pieces);
    let (mut master, mut chains) = match &found.checkpoint {
        Some((head, _)) if !pieces.is_empty() => (
            restore_pieces(pieces, found.quota_bytes)?,
            Chains::begin(head.at.chain),
        ),
        Some((head, diff)) => (
            Segment::restore(diff, found.quota_bytes)?,
            Chains::begin(head.at.chain),
        ),
        None => (Segment::new(found.quota_bytes), Chains::default()),
    };
    commit_logged(&mut master, &mut chains, &mut found.releases)?;
    Ok((master, chains))
}

/// Commits releases that the log has. Takes their diffs out.
fn commit_logged(
    master: &mut Segment,
    chains: &mut Chains,
    releases: &mut [(LogRelease, Bytes)],
) -> Result<(), Rejection> {
    for (release, diff) in releases {
        // its memory is free for others once it is committed
        let diff = &std::mem::take(diff);
        let made = chain::next(chains.newest(), diff);
        if made != release.chain {
            return Err(Rejection::malformed(format!(
                "the log says chain {:016x} of version {}, its diffs make {made:016x}",
                release.chain, release.version
            )));
        }
        chains.add(made);
        let checked = master.check_logged(diff)?;
        let version = master.commit(checked);
        if version != release.version {
            return Err(Rejection::malformed(format!(
                "the log says version {}, its diff makes {version}",
                release.version
            )));
        }
    }
    Ok(())
}

fn restore_pieces(
    pieces: Vec<interweave_store::Piece>,
    quota_bytes: u64,
) -> Result<Segment, Rejection> {
    let pieces = pieces.into_iter().map(|piece| Piece {
        diff: piece.diff,
        ages: piece.ages,
    });
    Segment::restore_pieces(pieces, quota_bytes)
}
