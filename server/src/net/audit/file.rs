//! The file of the audit log: whole lines, and older files beside it [AUDIT-6].

use super::AuditOptions;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;

const MODE: u32 = 0o600;

pub struct LogFile {
    options: AuditOptions,
    file: File,
    /// None: it is a device or a pipe, which has no size and no older files.
    bytes: Option<u64>,
    /// The file may end in a part of a line.
    is_torn: bool,
    /// Older files could not be made when it was tried last.
    is_stuck: bool,
    /// The file has the name of an older one, and no new one could be opened yet.
    is_moved: bool,
}

impl LogFile {
    pub fn open(options: AuditOptions) -> io::Result<LogFile> {
        let (file, bytes, is_torn) = open(&options)?;
        Ok(LogFile {
            options,
            file,
            bytes,
            is_torn,
            is_stuck: false,
            is_moved: false,
        })
    }

    /// Opens the file anew. If that fails, the old one is written further.
    pub fn reopen(&mut self) -> io::Result<()> {
        self.sync();
        (self.file, self.bytes, self.is_torn) = open(&self.options)?;
        self.is_moved = false;
        Ok(())
    }

    /// Appends a line. After an error nothing of it is there.
    pub fn append(&mut self, line: &[u8]) -> io::Result<()> {
        self.make_room(line.len() as u64);
        if self.is_torn {
            self.write_whole(b"\n")?;
            self.is_torn = false;
        }
        self.write_whole(line)
    }

    fn write_whole(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(bytes);
        let Some(before) = self.bytes else {
            return written;
        };
        match written {
            Ok(()) => self.bytes = Some(before + bytes.len() as u64),
            Err(_) => self.is_torn |= self.file.set_len(before).is_err(),
        }
        written
    }

    /// Makes the file an older one, if it is too large with so many bytes more. If that fails, the
    /// file grows, because no line may be lost for it.
    fn make_room(&mut self, more: u64) {
        let Some(bytes) = self.bytes.filter(|bytes| *bytes > 0) else {
            return;
        };
        if bytes + more <= self.options.most_bytes {
            return;
        }
        match self.rotate() {
            Ok(()) => self.is_stuck = false,
            Err(error) => {
                if !std::mem::replace(&mut self.is_stuck, true) {
                    tracing::error!(%error, "the audit log grows: no older file can be made of it");
                }
            }
        }
    }

    fn rotate(&mut self) -> io::Result<()> {
        if !self.is_moved {
            self.rename_all()?;
            self.is_moved = true;
        }
        self.reopen()
    }

    fn rename_all(&self) -> io::Result<()> {
        for number in (1..self.options.keep).rev() {
            rename(self.older(number), self.older(number + 1))?;
        }
        match self.options.keep {
            0 => std::fs::remove_file(&self.options.file),
            _ => rename(self.options.file.clone(), self.older(1)),
        }
    }

    fn older(&self, number: u32) -> PathBuf {
        let mut name = self.options.file.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }

    /// Brings to the disk what was written, as far as the disk does it.
    pub fn sync(&self) {
        // A pipe cannot, and a disk that fails has said so before.
        let _ = self.file.sync_data();
    }
}

/// A file that is not there need not be renamed.
fn rename(from: PathBuf, to: PathBuf) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the file, its bytes if it has a size, and whether it ends in a part of a line.
fn open(options: &AuditOptions) -> io::Result<(File, Option<u64>, bool)> {
    let mut how = OpenOptions::new();
    how.append(true).create(true).mode(MODE);
    // A device need not be readable.
    let opened = how.clone().read(true).open(&options.file);
    let file = opened.or_else(|_| how.open(&options.file))?;
    let data = file.metadata()?;
    if !data.is_file() {
        return Ok((file, None, false));
    }
    if data.permissions().mode() & 0o777 != MODE {
        file.set_permissions(Permissions::from_mode(MODE))?;
    }
    let mut last = [b'\n'];
    if data.len() > 0 {
        // If it cannot be read, an empty line does no harm.
        let read = file.read_exact_at(&mut last, data.len() - 1);
        read.unwrap_or_else(|_| last = [0]);
    }
    Ok((file, Some(data.len()), last != [b'\n']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A folder that is removed with its contents.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Folder {
            static LAST: AtomicU32 = AtomicU32::new(0);
            let number = LAST.fetch_add(1, Ordering::Relaxed);
            let name = format!("interweave-audit-{}-{number}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }

        fn options(&self, most_bytes: u64, keep: u32) -> AuditOptions {
            AuditOptions {
                file: self.0.join("audit"),
                most_bytes,
                keep,
            }
        }

        fn read(&self, name: &str) -> Option<String> {
            fs::read_to_string(self.0.join(name)).ok()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn audit_6_a_file_becomes_an_older_one_before_it_is_too_large() {
        let folder = Folder::new();
        let mut file = LogFile::open(folder.options(10, 2)).unwrap();
        for line in [
            "a23\n",
            "b23\n",
            "c23\n",
            "d2345678901234\n",
            "e23\n",
            "f23\n",
            "g23\n",
        ] {
            file.append(line.as_bytes()).unwrap();
        }
        assert_eq!(folder.read("audit").unwrap(), "g23\n");
        assert_eq!(folder.read("audit.1").unwrap(), "e23\nf23\n");
        assert_eq!(folder.read("audit.2").unwrap(), "d2345678901234\n");
        assert_eq!(folder.read("audit.3"), None, "the oldest is gone");
        for name in ["audit", "audit.1", "audit.2"] {
            let mode = fs::metadata(folder.0.join(name)).unwrap().permissions();
            assert_eq!(mode.mode() & 0o777, MODE);
        }
    }

    #[test]
    fn audit_6_no_older_file_stays_if_none_is_wanted() {
        let folder = Folder::new();
        let mut file = LogFile::open(folder.options(4, 0)).unwrap();
        file.append(b"a23\n").unwrap();
        file.append(b"b23\n").unwrap();
        assert_eq!(folder.read("audit").unwrap(), "b23\n");
        assert_eq!(folder.read("audit.1"), None);
    }

    #[test]
    fn audit_6_the_file_is_opened_anew_after_another_program_has_renamed_it() {
        let folder = Folder::new();
        let mut file = LogFile::open(folder.options(100, 2)).unwrap();
        file.append(b"a\n").unwrap();
        fs::rename(folder.0.join("audit"), folder.0.join("yesterday")).unwrap();
        file.append(b"b\n").unwrap();
        file.reopen().unwrap();
        file.append(b"c\n").unwrap();
        assert_eq!(folder.read("yesterday").unwrap(), "a\nb\n");
        assert_eq!(folder.read("audit").unwrap(), "c\n");
    }

    #[test]
    fn audit_6_a_line_that_was_cut_does_not_spoil_the_next_one() {
        let folder = Folder::new();
        fs::write(folder.0.join("audit"), "whole\npar").unwrap();
        let mut file = LogFile::open(folder.options(100, 2)).unwrap();
        file.append(b"next\n").unwrap();
        file.append(b"last\n").unwrap();
        assert_eq!(folder.read("audit").unwrap(), "whole\npar\nnext\nlast\n");
        let mode = fs::metadata(folder.0.join("audit")).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, MODE, "a file of before is closed, too");
    }

    #[test]
    fn audit_6_where_no_older_file_can_be_made_the_file_grows() {
        let folder = Folder::new();
        // A folder that is not empty cannot be replaced by a file.
        fs::create_dir_all(folder.0.join("audit.1/full")).unwrap();
        let mut file = LogFile::open(folder.options(4, 1)).unwrap();
        for line in ["a23\n", "b23\n", "c23\n"] {
            file.append(line.as_bytes()).unwrap();
        }
        assert_eq!(folder.read("audit").unwrap(), "a23\nb23\nc23\n");
        fs::remove_dir_all(folder.0.join("audit.1")).unwrap();
        file.append(b"d23\n").unwrap();
        assert_eq!(folder.read("audit").unwrap(), "d23\n");
        assert_eq!(folder.read("audit.1").unwrap(), "a23\nb23\nc23\n");
    }

    #[test]
    fn a_device_is_written_and_says_when_it_is_full() {
        let folder = Folder::new();
        let at = |file: &str| AuditOptions {
            file: file.into(),
            ..folder.options(1, 1)
        };
        let mut full = LogFile::open(at("/dev/full")).unwrap();
        for _ in 0..2 {
            let error = full.append(b"a\n").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
        let mut null = LogFile::open(at("/dev/null")).unwrap();
        for _ in 0..3 {
            null.append(b"longer than the limit\n").unwrap();
        }
        assert!(LogFile::open(at("/dev")).is_err());
    }
}
