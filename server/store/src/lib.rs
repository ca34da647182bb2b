//! The store room: what makes an acknowledged release survive.
//!
//! [`SegmentStore`] is the one interface. [`EmbeddedStore`] keeps a log, checkpoints and a
//! catalogue in a directory, as spec/format/server-log.md lays them
//! out; [`MemoryStore`] keeps nothing.

mod access;
mod again;
mod backup;
mod batch;
mod catalogue;
mod checkpoint;
mod creator;
mod damage;
pub mod disk;
mod embedded;
mod error;
mod files;
mod group;
mod history;
mod holders;
mod identity;
mod index;
mod log;
mod memory;
mod missing;
mod older;
mod ordered;
mod owner;
mod pace;
mod pack;
mod packs;
pub mod panics;
mod pieces;
mod random;
mod reading;
mod record;
mod recovery;
mod salvage;
mod saver;
mod scan;
mod sharing;
mod space;
mod status;
mod store;
mod tail;
mod turns;
mod watch;
mod witness;
mod writer;

pub use access::{AccessSource, SharedAccess};
pub use backup::{backup, restore, verify, Report, Wanted};
pub use checkpoint::{complete_head, MAGIC as WHOLE_CHECKPOINT};
pub use creator::{creator_field, creator_of};
pub use embedded::{EmbeddedStore, NowFn, Options, RandomFn, SyncFn};
pub use error::StoreError;
pub use group::{check_record, check_release, header as log_header};
pub use holders::MUCH_LOG_BYTES;
pub use identity::Identity;
pub use index::after as version_after;
pub use memory::MemoryStore;
pub use ordered::{in_order, Threads};
pub use pieces::MAGIC as CHECKPOINT_IN_PIECES;
pub use salvage::LeftOut;
pub use sharing::{
    trouble, unshared, Elsewhere, Follow, Followed, Give, Given, Holder, Listed, Members, Page,
    PageAsked, Pages, Seek, Since, Sought,
};
pub use store::{
    Checkpoint, Done, End, Full, Next, Piece, Record, RecoveredSegment, SegmentStore, Settled,
    StoreStatus, Want,
};
pub use turns::Turns;
pub use watch::Watch;
