//! What is appended together: all records or none.

use bytes::Bytes;
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::{
    Durability, LogBody, LogHeader, LogRelease, MAX_HEADER_FIELDS, MAX_PATH,
};

use crate::batch::record_bytes;
use crate::history::REMOVE;
use crate::log::MAX_FILE_BYTES;
use crate::record::{FILE_HEAD_BYTES, MAX_DIFF_BYTES};
use crate::store::{Done, Record};
use crate::StoreError;

/// The most bytes of field values in a record, so that a header with the longest path holds them.
const MOST_FIELD_BYTES: usize = 1024;

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
        let verdict = records.iter().try_for_each(check_record);
        let mut group = Group {
            bytes: 0,
            // what REMOVE lets go is deleted at once, so it must last
            sync: durable == Durability::Synced
                || records.iter().any(|r| r.body == REMOVE)
                    && !planted::is_in(Defect::RemovalUnsynced),
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
            record_bytes(&header, record.diff.len() as u64)
        });
        match whole(sizes) {
            Ok(bytes) => group.bytes = bytes,
            Err(error) => group.reject(error),
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

/// What records of these sizes take together, if that fits into one file.
fn whole(sizes: impl Iterator<Item = u64>) -> Result<u64, StoreError> {
    let bytes = sizes.fold(0, u64::saturating_add);
    let limit = MAX_FILE_BYTES - FILE_HEAD_BYTES;
    match bytes <= limit {
        true => Ok(bytes),
        false => Err(StoreError::TooLarge { bytes, limit }),
    }
}

fn check_diff(bytes: u64) -> Result<(), StoreError> {
    let limit = MAX_DIFF_BYTES;
    match bytes <= limit {
        true => Ok(()),
        false => Err(StoreError::TooLarge { bytes, limit }),
    }
}

/// Whether the log could take one release with diffs of these sizes.
pub fn check_release(diffs: impl Iterator<Item = u64> + Clone) -> Result<(), StoreError> {
    diffs.clone().try_for_each(check_diff)?;
    // its numbers are as long as all others
    let release = LogRelease {
        version: 0,
        chain: 0,
        session: [0; 16],
        sequence: 0,
        fence: 0,
    };
    let record = Record {
        segment_id: 0,
        body: LogBody::Release(release),
        diff: Bytes::new(),
        fields: Vec::new(),
    };
    let header = header(&record, 0, 0);
    whole(diffs.map(|bytes| record_bytes(&header, bytes))).map(drop)
}

/// The header of a record, as every store writes it.
pub fn header(record: &Record, owner: u64, parent: u32) -> LogHeader {
    LogHeader {
        owner,
        segment_id: record.segment_id,
        parent,
        body: record.body.clone(),
        fields: record.fields.clone(),
    }
}

/// Whether a log could take the record, whatever it follows.
pub fn check_record(record: &Record) -> Result<(), StoreError> {
    let bytes = record.diff.len() as u64;
    let values = record.fields.iter().map(|field| field.value.len());
    if record.fields.len() > MAX_HEADER_FIELDS as usize || values.sum::<usize>() > MOST_FIELD_BYTES
    {
        return Err(StoreError::Io("a record's fields are too long".to_string()));
    }
    match &record.body {
        LogBody::Create(create) if create.path.len() > MAX_PATH as usize => {
            Err(StoreError::Io(format!(
                "a path of {} bytes is longer than {MAX_PATH}",
                create.path.len()
            )))
        }
        LogBody::Release(_) => check_diff(bytes),
        _ if bytes > 0 => Err(StoreError::Io("only a release has a diff".to_string())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_wire::protocol::{HeaderField, LogCreate};

    #[test]
    fn a_release_fits_by_each_diff_and_by_all_together() {
        let check = |diffs: &[u64]| check_release(diffs.iter().copied());
        let refused = |result| matches!(result, Err(StoreError::TooLarge { .. }));
        assert_eq!(check(&[MAX_DIFF_BYTES]), Ok(()));
        assert!(refused(check(&[1, MAX_DIFF_BYTES + 1])));
        let fit = (MAX_FILE_BYTES - FILE_HEAD_BYTES) / (MAX_DIFF_BYTES + 4096);
        let many = vec![MAX_DIFF_BYTES; fit as usize + 1];
        assert_eq!(check(&many[1..]), Ok(()));
        assert!(refused(check(&many)));
    }

    #[test]
    fn records_fit_together_that_fill_a_file() {
        let room = MAX_FILE_BYTES - FILE_HEAD_BYTES;
        assert_eq!(whole([9, room - 9].into_iter()), Ok(room));
        assert!(whole([9, room - 8].into_iter()).is_err());
    }

    #[test]
    fn a_record_has_a_path_and_fields_of_a_bounded_length_and_only_a_release_has_a_diff() {
        let record = |path_bytes: u32, fields: u32, value_bytes: usize| Record {
            segment_id: 1,
            body: LogBody::Create(LogCreate {
                path: "a".repeat(path_bytes as usize),
                durable: Durability::Synced,
                quota_bytes: 0,
                incarnation: 1,
            }),
            diff: Bytes::new(),
            fields: (0..fields)
                .map(|key| HeaderField {
                    key,
                    value: vec![0; value_bytes],
                })
                .collect(),
        };
        let (path, most) = (MAX_PATH, MAX_HEADER_FIELDS);
        assert_eq!(check_record(&record(path, most, 0)), Ok(()));
        assert_eq!(check_record(&record(1, 2, MOST_FIELD_BYTES / 2)), Ok(()));
        assert!(check_record(&record(path + 1, 0, 0)).is_err());
        assert!(check_record(&record(1, most + 1, 0)).is_err());
        assert!(check_record(&record(1, 1, MOST_FIELD_BYTES + 1)).is_err());
        let with_diff = Record {
            diff: Bytes::from_static(b"x"),
            ..record(1, 0, 0)
        };
        assert!(check_record(&with_diff).is_err());
    }
}
