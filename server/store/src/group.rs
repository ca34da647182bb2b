//! What is appended together: all records or none.

use interweave_wire::protocol::{Durability, LogBody, LogHeader, MAX_PATH};

use crate::batch::record_bytes;
use crate::history::REMOVE;
use crate::log::MAX_FILE_BYTES;
use crate::record::{FILE_HEAD_BYTES, MAX_DIFF_BYTES};
use crate::store::{Done, Record};
use crate::StoreError;

pub struct Group {
    pub records: Vec<Record>,
    /// In the file.
    pub bytes: u64,
    pub sync: bool,
    /// An error if the group is not to be written.
    pub verdict: Result<(), StoreError>,
    pub done: Done,
}

impl Group {
    pub fn new(mut records: Vec<Record>, durable: Durability, done: Done) -> Group {
        if durable == Durability::Memory {
            records.retain(|record| !matches!(record.body, LogBody::Release(_)));
        }
        let verdict = records.iter().try_for_each(check);
        let mut group = Group {
            bytes: 0,
            // what REMOVE lets go is deleted at once, so it must last
            sync: durable == Durability::Synced || records.iter().any(|r| r.body == REMOVE),
            records,
            verdict: Ok(()),
            done,
        };
        if let Err(error) = verdict {
            group.reject(error);
            return group;
        }
        let sizes = group.records.iter().map(|record| {
            let header = header(record, 0, 0);
            record_bytes(&header, &record.diff)
        });
        group.bytes = sizes.sum();
        let limit = MAX_FILE_BYTES - FILE_HEAD_BYTES;
        if group.bytes > limit {
            let bytes = group.bytes;
            group.reject(StoreError::TooLarge { bytes, limit });
        }
        group
    }

    /// The group is answered with this error and nothing of it is written.
    pub fn reject(&mut self, error: StoreError) {
        self.verdict = Err(error);
        self.records.clear();
        self.bytes = 0;
    }
}

pub fn header(record: &Record, owner: u64, parent: u32) -> LogHeader {
    LogHeader {
        owner,
        segment_id: record.segment_id,
        parent,
        body: record.body.clone(),
        fields: Vec::new(),
    }
}

fn check(record: &Record) -> Result<(), StoreError> {
    let bytes = record.diff.len() as u64;
    match &record.body {
        LogBody::Create(create) if create.path.len() > MAX_PATH as usize => {
            Err(StoreError::Io(format!(
                "a path of {} bytes is longer than {MAX_PATH}",
                create.path.len()
            )))
        }
        LogBody::Release(_) if bytes > MAX_DIFF_BYTES => Err(StoreError::TooLarge {
            bytes,
            limit: MAX_DIFF_BYTES,
        }),
        LogBody::Release(_) => Ok(()),
        _ if bytes > 0 => Err(StoreError::Io("only a release has a diff".to_string())),
        _ => Ok(()),
    }
}
