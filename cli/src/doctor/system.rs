//! The kernel's features and the limits of this process, which servers and clients inherit.

use super::check::{Check, Finding};
use super::subject::Subject;
use super::write_tracking;
use crate::output::size_text;
use rustix::fs::{memfd_create, MemfdFlags};
use rustix::process::{getrlimit, Resource};

pub const CHECKS: &[Check] = &[
    Check {
        name: "userfaultfd",
        looks_at: "write protection without faults, the fastest tracker of stores",
        run: write_tracking::userfaultfd_works,
    },
    Check {
        name: "page-scan",
        looks_at: "PAGEMAP_SCAN, by which clients find written pages",
        run: write_tracking::page_scan_works,
    },
    Check {
        name: "tracker",
        looks_at: "IW_TRACKER, which forces a tracker of stores",
        run: write_tracking::tracker_is_known,
    },
    Check {
        name: "memfd",
        looks_at: "memory that can be mapped twice, where clients keep their copies",
        run: memfd,
    },
    Check {
        name: "file-descriptors",
        looks_at: "RLIMIT_NOFILE: a server takes two descriptors for each connection",
        run: file_descriptors,
    },
    Check {
        name: "address-space",
        looks_at: "RLIMIT_AS: clients reserve addresses for whole segments",
        run: address_space,
    },
    Check {
        name: "mappings",
        looks_at: "vm.max_map_count: each part of a segment is a mapping or two",
        run: mappings,
    },
    Check {
        name: "overcommit",
        looks_at: "vm.overcommit_memory: whether reserved addresses count as memory",
        run: overcommit,
    },
    Check {
        name: "memory",
        looks_at: "how much memory is free",
        run: memory,
    },
];

fn memfd(_: &Subject) -> Finding {
    match memfd_create("interweave-doctor", MemfdFlags::CLOEXEC) {
        Ok(_) => Finding::ok("memfd_create works"),
        Err(error) => Finding::problem(
            format!("memfd_create fails ({error}), so that clients cannot keep a segment"),
            "allow the system call memfd_create; in a container, use its default profile",
        ),
    }
}

/// Fewer than this, and a server has no room for a few hundred clients.
const FEW_DESCRIPTORS: u64 = 1024;
/// Two for each of the 10,000 connections that a server allows, and some of its own.
const ENOUGH_DESCRIPTORS: u64 = 20_300;
/// Fewer than this, and hardly anything runs.
const LEAST_DESCRIPTORS: u64 = 128;

fn file_descriptors(_: &Subject) -> Finding {
    let limit = getrlimit(Resource::Nofile);
    let (now, most) = (limit.current, limit.maximum);
    // A server raises its limit to the hard one.
    let reached = most.unwrap_or(u64::MAX);
    let found = format!(
        "{} now, {} at most",
        number_or_none(now),
        number_or_none(most)
    );
    let mend = format!(
        "`ulimit -n {ENOUGH_DESCRIPTORS}`, or LimitNOFILE={ENOUGH_DESCRIPTORS} in the server's unit"
    );
    match reached {
        0..LEAST_DESCRIPTORS => Finding::problem(format!("{found}: too few to serve"), mend),
        LEAST_DESCRIPTORS..FEW_DESCRIPTORS => {
            Finding::note(format!("{found}: a server has room for few clients"), mend)
        }
        FEW_DESCRIPTORS..ENOUGH_DESCRIPTORS => Finding::note(
            format!(
                "{found}: a server has room for {} clients",
                (reached - 300) / 2
            ),
            mend,
        ),
        _ => Finding::ok(found),
    }
}

fn number_or_none(limit: Option<u64>) -> String {
    limit.map_or("no limit".to_string(), |limit| limit.to_string())
}

fn address_space(_: &Subject) -> Finding {
    match getrlimit(Resource::As).current {
        None => Finding::ok("no limit"),
        Some(limit) if limit < 4 << 30 => Finding::problem(
            format!(
                "at most {}: clients reserve addresses ahead, and large segments will not open",
                size_text(limit)
            ),
            "`ulimit -v unlimited`",
        ),
        Some(limit) => Finding::note(
            format!("at most {}: large segments may not open", size_text(limit)),
            "`ulimit -v unlimited`",
        ),
    }
}

fn mappings(_: &Subject) -> Finding {
    const DEFAULT: u64 = 65_530;
    match number_in("/proc/sys/vm/max_map_count") {
        None => Finding::skipped("the system does not say"),
        Some(most) if most < DEFAULT => Finding::note(
            format!("{most}, less than the usual {DEFAULT}: clients with many segments run out"),
            format!("as root: sysctl -w vm.max_map_count={DEFAULT}"),
        ),
        Some(most) => Finding::ok(most.to_string()),
    }
}

fn overcommit(_: &Subject) -> Finding {
    match number_in("/proc/sys/vm/overcommit_memory") {
        None => Finding::skipped("the system does not say"),
        Some(2) => Finding::note(
            "2: the kernel counts reserved addresses as memory, and large segments may be refused",
            "as root: sysctl -w vm.overcommit_memory=0",
        ),
        Some(mode) => Finding::ok(mode.to_string()),
    }
}

fn memory(_: &Subject) -> Finding {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|l| l.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    match kilobytes.map(|kilobytes| kilobytes << 10) {
        None => Finding::skipped("the system does not say"),
        Some(bytes) if bytes < 256 << 20 => Finding::note(
            format!("only {} free", size_text(bytes)),
            "end other programs, or share smaller segments: a server and each client has a copy",
        ),
        Some(bytes) => Finding::ok(format!("{} free", size_text(bytes))),
    }
}

fn number_in(file: &str) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}
