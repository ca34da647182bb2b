//! The folder of a store, looked at without changing it.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{access, open, statfs, Access, Mode, OFlags, StatFs};

use super::check::{Check, Finding};
use super::subject::Subject;
use crate::output::{counted, size_text};

pub const CHECKS: &[Check] = &[
    Check {
        name: "folder",
        looks_at: "whether the store's folder is there, and whose it is",
        run: folder,
    },
    Check {
        name: "permissions",
        looks_at: "whether this user can write into it, and others cannot",
        run: permissions,
    },
    Check {
        name: "file-system",
        looks_at: "whether the file system keeps what is synced",
        run: file_system,
    },
    Check {
        name: "space",
        looks_at: "how much room is left",
        run: space,
    },
    Check {
        name: "sync-time",
        looks_at: "how long fdatasync of 4 KiB takes: a synced release waits for one",
        run: sync_time,
    },
    Check {
        name: "lock",
        looks_at: "which process has the store",
        run: lock,
    },
    Check {
        name: "log",
        looks_at: "every record of the log and of the checkpoints",
        run: log,
    },
];

/// A store larger than this is read only if it was named, because that takes a while.
const MUCH_TO_READ: u64 = 1 << 30;

fn there(subject: &Subject) -> Result<&Path, Finding> {
    match &subject.store {
        _ if subject.database.is_some() => Err(Finding::skipped("the store is a database")),
        Some(folder) if folder.is_dir() => Ok(folder),
        Some(_) => Err(Finding::skipped("the folder is not there")),
        None => Err(Finding::skipped(
            "no folder is known; --store DIR names one",
        )),
    }
}

fn folder(subject: &Subject) -> Finding {
    if subject.database.is_some() {
        return Finding::skipped("the store is a database");
    }
    let Some(folder) = &subject.store else {
        return Finding::note(
            "no home directory was found to keep segments in",
            "name a folder: `interweave serve --store DIR`",
        );
    };
    let text = folder.display();
    match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => Finding::ok(text.to_string()),
        Ok(_) => Finding::problem(
            format!("{text} is not a folder"),
            "name the folder of a store: --store DIR",
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !subject.store_is_named => {
            Finding::ok(format!(
                "{text} is not there yet; `interweave serve` makes it"
            ))
        }
        Err(error) => Finding::problem(
            format!("{text}: {error}"),
            "name the folder of a store: --store DIR",
        ),
    }
}

fn permissions(subject: &Subject) -> Finding {
    let folder = match there(subject) {
        Ok(folder) => folder,
        Err(skipped) => return skipped,
    };
    let text = folder.display();
    if let Err(error) = access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
        return Finding::problem(
            format!("this user cannot write into {text}: {error}"),
            format!("as its owner: chmod u+rwx {text}; or serve as the user whose it is"),
        );
    }
    let mode = std::fs::metadata(folder).map_or(0, |found| found.mode());
    match mode & 0o022 {
        0 => Finding::ok(format!("mode {:o}", mode & 0o777)),
        _ => Finding::problem(
            format!(
                "other users may write into {text} (mode {:o})",
                mode & 0o777
            ),
            format!("chmod go-w {text}"),
        ),
    }
}

/// The kinds that are worth a word, by the number that the system gives them (statfs(2)).
const NETWORK: [(u64, &str); 4] = [
    (0x6969, "NFS"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB"),
    (0x6573_5546, "FUSE"),
];
const IN_MEMORY: [(u64, &str); 2] = [(0x0102_1994, "tmpfs"), (0x8584_58f6, "ramfs")];
const OTHERS: [(u64, &str); 6] = [
    (0xef53, "ext4"),
    (0x5846_5342, "XFS"),
    (0x9123_683e, "Btrfs"),
    (0x794c_7630, "overlayfs"),
    (0x2fc1_2fc1, "ZFS"),
    (0xf2f5_2010, "F2FS"),
];

fn file_system(subject: &Subject) -> Finding {
    let kind = match there(subject).map(statfs_of) {
        Ok(Ok(found)) => found.f_type as u64 & 0xffff_ffff,
        Ok(Err(error)) => return Finding::skipped(error.to_string()),
        Err(skipped) => return skipped,
    };
    let among = |names: &[(u64, &'static str)]| {
        let found = names.iter().find(|(number, _)| *number == kind);
        found.map(|(_, name)| *name)
    };
    if let Some(name) = among(&IN_MEMORY) {
        return Finding::note(
            format!("{name}: nothing is left after the machine restarts"),
            "keep the store on a disk, or say what it is: --store memory",
        );
    }
    if let Some(name) = among(&NETWORK) {
        return Finding::note(
            format!("{name}: locks and syncs may not do what they promise"),
            "keep the store on a disk of the server's machine",
        );
    }
    match among(&OTHERS) {
        Some(name) => Finding::ok(name),
        None => Finding::ok(format!("kind {kind:#x}")),
    }
}

fn statfs_of(folder: &Path) -> io::Result<StatFs> {
    Ok(statfs(folder)?)
}

fn space(subject: &Subject) -> Finding {
    let found = match there(subject).map(statfs_of) {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => return Finding::skipped(error.to_string()),
        Err(skipped) => return skipped,
    };
    let free = found.f_bavail.saturating_mul(found.f_bsize as u64);
    let text = format!("{} free", size_text(free));
    let mend = "make room, or move the store: `interweave backup`, then `interweave restore`";
    match free {
        0..0x400_0000 => Finding::problem(format!("{text}: writes are refused soon"), mend),
        0x400_0000..0x4000_0000 => Finding::note(text, mend),
        _ => Finding::ok(text),
    }
}

fn sync_time(subject: &Subject) -> Finding {
    let folder = match there(subject) {
        Ok(folder) => folder,
        Err(skipped) => return skipped,
    };
    match timed_syncs(folder) {
        Err(error) => Finding::skipped(format!("no nameless file can be made there: {error}")),
        Ok(times) => {
            let middle = times[times.len() / 2];
            let text = format!("{:.2} ms (median of {})", ms(middle), times.len());
            match middle > Duration::from_millis(20) {
                true => Finding::note(
                    format!("{text}: each synced release waits so long"),
                    "use a faster disk, or open segments as \"written\" where losing the last \
                     releases with the power does not matter",
                ),
                false => Finding::ok(text),
            }
        }
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The file has no name, so that the store stays as it is, and the system removes it.
fn timed_syncs(folder: &Path) -> io::Result<Vec<Duration>> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mut file = File::from(open(folder, flags, Mode::RUSR | Mode::WUSR)?);
    let mut times = Vec::new();
    for _ in 0..9 {
        let begun = Instant::now();
        file.write_all(&[0; 4096])?;
        file.sync_data()?;
        times.push(begun.elapsed());
    }
    times.sort();
    Ok(times)
}

fn lock(subject: &Subject) -> Finding {
    let folder = match there(subject) {
        Ok(folder) => folder,
        Err(skipped) => return skipped,
    };
    match holder(folder) {
        Some(0) => Finding::ok("a process of another container has it"),
        Some(pid) => Finding::ok(format!("process {pid} has it")),
        None if is_empty(folder) => Finding::ok("nobody has it; it is empty"),
        None => Finding::ok("nobody has it"),
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// The process that has the store's lock, as the kernel lists locks. To try the lock would keep a
/// server out that starts at this moment.
fn holder(folder: &Path) -> Option<u32> {
    let found = std::fs::metadata(folder.join("LOCK")).ok()?;
    let device = found.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let wanted = format!("{major:02x}:{minor:02x}:{}", found.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    holder_in(&locks, &wanted)
}

/// `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`; a waiting process has `->` before FLOCK.
fn holder_in(locks: &str, wanted: &str) -> Option<u32> {
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_it = words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&wanted);
        let pid = words.get(4).filter(|_| is_it)?;
        // Negative or 0: of another namespace of processes.
        Some(pid.parse().unwrap_or(0))
    })
}

fn log(subject: &Subject) -> Finding {
    let folder = match there(subject) {
        Ok(folder) => folder,
        Err(skipped) => return skipped,
    };
    if is_empty(folder) {
        return Finding::ok("no log yet");
    }
    if holder(folder).is_some() {
        return Finding::skipped(
            "a server has the store and checks what it reads; `interweave backup` checks all of it",
        );
    }
    let bytes = bytes_in(folder);
    if bytes > MUCH_TO_READ && !subject.store_is_named {
        return Finding::skipped(format!(
            "{} are much to read; --store {} asks for it",
            size_text(bytes),
            folder.display()
        ));
    }
    match interweave_store::verify(folder) {
        Err(error) => Finding::problem(
            format!("the store cannot be read: {error}"),
            "restore a backup: `interweave restore DIR STORE`",
        ),
        Ok(report) => match report.damage.first() {
            None => Finding::ok(format!(
                "{}, {}, {}: all whole",
                counted(report.segments, "segment"),
                counted(report.records, "log record"),
                counted(report.checkpoints, "checkpoint")
            )),
            Some(damage) => Finding::problem(
                format!(
                    "{} damaged; the first: {damage}",
                    counted(report.damage.len() as u64, "place")
                ),
                "`interweave backup --whole-segments STORE DIR` saves what is whole; then restore \
                 the rest from an older backup",
            ),
        },
    }
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| entry.metadata().ok());
    found.map(|metadata| metadata.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_found_in_the_kernels_list() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 08:01:55 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 1234 08:01:55 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 99 08:01:56 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE -1 08:01:57 0 EOF\n";
        assert_eq!(holder_in(locks, "08:01:55"), Some(1234));
        assert_eq!(holder_in(locks, "08:01:56"), None);
        assert_eq!(holder_in(locks, "08:01:57"), Some(0));
    }
}
