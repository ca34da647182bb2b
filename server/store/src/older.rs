//! What stores of older formats say, as this format says it [LOG-14].
//!
//! Format 2 had no fields, and the ids of sessions where their hashes are now. Format 1 also had no
//! chains: a chain of 0 stands for one that is not known.

use interweave_wire::protocol::xdr::{from_bytes, Reader, Xdr, XdrError};
use interweave_wire::protocol::{
    CheckpointHead, CheckpointHead2, CommittedRelease, Durability, LogBody, LogHeader, LogHeader2,
    LogKind, VersionStamp, MAX_PATH,
};
use interweave_wire::session_hash::session_hash;

/// Where the body of a header begins, and a release's chain in it.
const KIND_AT: usize = 20;
const CHAIN_AT: usize = 32;
const MAX_RELEASES: u32 = 1024;

/// A record's header in format 2.
pub fn header_of_2(bytes: &[u8]) -> Result<LogHeader, XdrError> {
    let old: LogHeader2 = from_bytes(bytes)?;
    let mut body = old.body;
    if let LogBody::Release(release) = &mut body {
        release.session = session_hash(&release.session);
    }
    Ok(LogHeader {
        owner: old.owner,
        segment_id: old.segment_id,
        parent: old.parent,
        body,
        fields: Vec::new(),
    })
}

/// A record's header in format 1: that of format 2 without chains.
pub fn header_of_1(bytes: &[u8]) -> Result<LogHeader, XdrError> {
    let kind = bytes.get(KIND_AT..).ok_or(XdrError::Truncated)?;
    let chain_at = match i32::decode(&mut Reader::new(kind))? {
        kind if kind == LogKind::Release as i32 => CHAIN_AT.min(bytes.len()),
        kind if kind == LogKind::Incarnation as i32 => bytes.len(),
        _ => return header_of_2(bytes),
    };
    let (before, after) = bytes.split_at(chain_at);
    header_of_2(&[before, &[0; 8], after].concat())
}

/// The head of a checkpoint in format 2.
pub fn checkpoint_of_2(reader: &mut Reader) -> Result<CheckpointHead, XdrError> {
    let old = CheckpointHead2::decode(reader)?;
    let releases = old.releases.into_iter().map(|release| CommittedRelease {
        session: session_hash(&release.session),
        ..release
    });
    Ok(CheckpointHead {
        magic: old.magic,
        segment_id: old.segment_id,
        path: old.path,
        durable: old.durable,
        quota_bytes: old.quota_bytes,
        at: old.at,
        next_serial: old.next_serial,
        fence: old.fence,
        parent: old.parent,
        releases: releases.collect(),
        fields: Vec::new(),
        diff_bytes: old.diff_bytes,
    })
}

/// The head of a checkpoint in format 1.
pub fn checkpoint_of_1(r: &mut Reader) -> Result<CheckpointHead, XdrError> {
    Ok(CheckpointHead {
        magic: r.fixed::<4>()?,
        segment_id: u64::decode(r)?,
        path: r.string(MAX_PATH)?,
        durable: Durability::decode(r)?,
        quota_bytes: u64::decode(r)?,
        at: VersionStamp {
            incarnation: u64::decode(r)?,
            number: u64::decode(r)?,
            chain: 0,
        },
        next_serial: u64::decode(r)?,
        fence: u64::decode(r)?,
        parent: u32::decode(r)?,
        releases: releases_of_1(r)?,
        fields: Vec::new(),
        diff_bytes: u64::decode(r)?,
    })
}

fn releases_of_1(r: &mut Reader) -> Result<Vec<CommittedRelease>, XdrError> {
    let count = u32::decode(r)?;
    if count > MAX_RELEASES {
        return Err(XdrError::TooLong);
    }
    let release = |_| {
        Ok(CommittedRelease {
            session: session_hash(&r.fixed::<16>()?),
            sequence: u64::decode(r)?,
            version: u64::decode(r)?,
            chain: 0,
        })
    };
    (0..count).map(release).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_14_a_checkpoint_of_format_1_has_1024_releases_at_most() {
        let read = |count: u32| {
            let mut bytes = count.to_be_bytes().to_vec();
            bytes.resize(4 + 32 * count as usize, 0);
            releases_of_1(&mut Reader::new(&bytes)).map(|releases| releases.len())
        };
        assert_eq!(read(1024), Ok(1024));
        assert_eq!(read(1025), Err(XdrError::TooLong));
    }
}
