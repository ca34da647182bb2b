//! Is a copy recent enough, and when is its client to be told?
//!
//! Pure. `Known` is what the server knows of a client's copy of one segment; `Watch` adds a
//! subscription's bound and what the client can buffer. Per client this is all that is kept: no
//! queue of diffs. Implements [COH-1..7] of spec/coherence.md as far as they are the server's, and
//! [NOT-1..3] of spec/protocol/notify.x.

use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::{CoherenceModel, VersionStamp};

#[cfg(test)]
mod tests;

/// A version of a segment: [`VersionStamp`], to be passed about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    pub incarnation: u64,
    pub number: u64,
    /// The hash of all releases up to it [DIFF-10]: it tells contents with one number apart.
    pub chain: u64,
}

impl From<&VersionStamp> for Version {
    fn from(stamp: &VersionStamp) -> Self {
        Version {
            incarnation: stamp.incarnation,
            number: stamp.number,
            chain: stamp.chain,
        }
    }
}

impl From<Version> for VersionStamp {
    fn from(version: Version) -> Self {
        VersionStamp {
            incarnation: version.incarnation,
            number: version.number,
            chain: version.chain,
        }
    }
}

/// The newest version, the units that all releases up to it changed, and the segment's units.
#[derive(Debug, Clone, Copy)]
pub struct Newest {
    pub stamp: Version,
    pub units_changed: u64,
    pub units: u64,
}

/// The version of a client's copy, and `Newest::units_changed` when it was the newest. None: not
/// known, then every unit counts as changed (over-counting is allowed, [COH-6]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    pub stamp: Version,
    pub units_changed: Option<u64>,
}

/// No copy at all.
pub const NO_COPY: Version = Version {
    incarnation: 0,
    number: 0,
    chain: 0,
};

/// A copy whose content is not of the segment's history [COH-11]. It is older than nothing and
/// newer than nothing, because no segment has this incarnation.
pub const OTHER_HISTORY: Version = Version {
    incarnation: 0,
    number: 1,
    chain: 0,
};

impl Known {
    /// A copy of which only the version is known.
    pub fn at(stamp: Version) -> Self {
        Known {
            stamp,
            units_changed: None,
        }
    }

    /// A copy of the newest version.
    pub fn newest(newest: &Newest) -> Self {
        Known {
            stamp: newest.stamp,
            units_changed: Some(newest.units_changed),
        }
    }

    /// Updates what is known by what the client has, which is of the segment's history or
    /// [`OTHER_HISTORY`]. A counter is kept only for the version for which it was begun.
    pub fn told(&mut self, have: Version, newest: &Newest) {
        if have == newest.stamp {
            *self = Known::newest(newest);
        } else if have != self.stamp {
            *self = Known::at(have);
        }
    }
}

/// A bound that a client asked for: a model and its x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    pub model: CoherenceModel,
    pub x: f64,
}

impl Bound {
    /// Whether x means something under the model.
    pub fn is_valid(&self) -> bool {
        match self.model {
            CoherenceModel::Delta | CoherenceModel::Temporal => self.x >= 0.0,
            CoherenceModel::Diff => (0.0..=100.0).contains(&self.x),
            _ => true,
        }
    }

    /// Whether the copy may still be read under the bound [COH-1..6]. Under Temporal the client's
    /// clock decides, so that the server, when asked, knows only the newest as good enough [COH-5].
    pub fn allows(&self, known: &Known, newest: &Newest) -> bool {
        if known.stamp == newest.stamp {
            return true;
        }
        let comparable = known.stamp.incarnation == newest.stamp.incarnation
            && known.stamp.number <= newest.stamp.number;
        match self.model {
            CoherenceModel::Full | CoherenceModel::Strict | CoherenceModel::Temporal => false,
            CoherenceModel::NullCoherence => known.stamp != NO_COPY,
            CoherenceModel::Delta => {
                let more = f64::from(u8::from(planted::is_in(Defect::DeltaTooOld)));
                let behind = newest.stamp.number.saturating_sub(known.stamp.number);
                comparable && behind as f64 <= self.x + more
            }
            CoherenceModel::Diff => {
                let changed = known
                    .units_changed
                    .map(|then| newest.units_changed.saturating_sub(then));
                comparable
                    && changed.is_some_and(|c| c as f64 * 100.0 <= self.x * newest.units as f64)
            }
        }
    }
}

/// A subscription.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    pub bound: Bound,
    /// Whether the client wants the diff itself.
    pub push: bool,
    /// How many bytes of diffs it will buffer more [NOT-3].
    credit_bytes: u64,
    push_bytes: u64,
    /// Told that its copy is too old, and not heard of a newer one since [NOT-1].
    told: bool,
    /// The client may not read, and is sent no diffs [RULE-7].
    rests: bool,
}

impl Watch {
    pub fn new(bound: Bound, push: bool, push_bytes: u64) -> Self {
        Watch {
            bound,
            push,
            credit_bytes: push_bytes,
            push_bytes,
            told: false,
            rests: false,
        }
    }

    /// Whether the client is to be told now. A client without a copy need not be told that the
    /// segment is empty [NOT-1].
    pub fn is_due(&self, known: &Known, newest: &Newest) -> bool {
        let is_news = newest.stamp.number > 0 || known.stamp != NO_COPY;
        is_news && !self.told && !self.bound.allows(known, newest)
    }

    /// Whether a diff of so many bytes may be pushed [NOT-3].
    pub fn can_push(&self, diff_bytes: u64) -> bool {
        let wants = self.push && !self.rests;
        wants && (diff_bytes <= self.credit_bytes || planted::is_in(Defect::CreditIgnored))
    }

    /// The diff was pushed: the copy counts as the newest [NOT-2].
    pub fn pushed(&mut self, diff_bytes: u64) {
        self.credit_bytes = self.credit_bytes.saturating_sub(diff_bytes);
    }

    /// NOT_RECENT is to be sent. Returns false if the client was told before [NOT-1].
    pub fn announce(&mut self) -> bool {
        !std::mem::replace(&mut self.told, true)
    }

    /// The client's version moved on.
    pub fn moved_on(&mut self) {
        self.told = false;
    }

    /// The client may not read any more. Returns false if that was so before.
    pub fn rest(&mut self) -> bool {
        !std::mem::replace(&mut self.rests, true)
    }

    /// The client has asked for the segment, and may read it.
    pub fn resume(&mut self) {
        self.rests = false;
    }

    /// The client gives credit back; never above what it declared.
    pub fn credited(&mut self, bytes: u64) {
        self.credit_bytes = self.push_bytes.min(self.credit_bytes.saturating_add(bytes));
    }
}
