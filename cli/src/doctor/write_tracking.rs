//! Whether the kernel tells clients which pages were written (native/platform/page_scan.cc asks the
//! same). The headers that programs are built with are older than the kernels that they run on, so
//! the structures stand here.

use super::check::Finding;
use super::subject::{variable, Subject};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{open, Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{ioctl, opcode, Updater};
use rustix::mm::{userfaultfd, UserfaultfdFlags};

const TRACKERS: [&str; 4] = ["wp-async", "scan", "sigsegv", "compare"];

/// UFFD_USER_MODE_ONLY
const USER_MODE_ONLY: u32 = 1;
/// Write protection: of shared memory, of pages that are not there yet, and without messages.
const FEATURES: u64 = 1 << 0 | 1 << 12 | 1 << 13 | 1 << 15;

#[repr(C)]
struct UffdApi {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
#[derive(Default)]
struct ScanArguments {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_count: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_any_of: u64,
    return_mask: u64,
}

const UFFDIO_API: rustix::ioctl::Opcode = opcode::read_write::<UffdApi>(0xaa, 0x3f);
const PAGEMAP_SCAN: rustix::ioctl::Opcode = opcode::read_write::<ScanArguments>(b'f', 16);

pub fn userfaultfd_works(_: &Subject) -> Finding {
    match open_userfaultfd().and_then(|fd| has_features(&fd)) {
        Ok(()) => Finding::ok("the kernel marks written pages by itself (tracker wp-async)"),
        Err(Errno::INVAL) => Finding::note(
            "this kernel has no asynchronous write protection; clients take a slower tracker",
            "Linux 6.7 and newer have it",
        ),
        Err(error) => Finding::note(
            format!("userfaultfd is not allowed ({error}); clients take a slower tracker"),
            "in a container, allow the system call userfaultfd, or give it /dev/userfaultfd",
        ),
    }
}

fn open_userfaultfd() -> Result<OwnedFd, Errno> {
    let flags = UserfaultfdFlags::CLOEXEC
        | UserfaultfdFlags::NONBLOCK
        | UserfaultfdFlags::from_bits_retain(USER_MODE_ONLY);
    // SAFETY: no memory is registered with the descriptor, so that no access to memory waits for
    // it.
    unsafe { userfaultfd(flags) }
}

fn has_features(fd: &OwnedFd) -> Result<(), Errno> {
    let mut api = UffdApi {
        api: 0xaa,
        features: FEATURES,
        ioctls: 0,
    };
    // SAFETY: UFFDIO_API reads and writes one such structure, whose form the opcode's size says.
    unsafe { ioctl(fd, Updater::<UFFDIO_API, UffdApi>::new(&mut api)) }
}

pub fn page_scan_works(_: &Subject) -> Finding {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let scanned = open("/proc/self/pagemap", flags, Mode::empty()).and_then(scan_nothing);
    match scanned {
        Ok(()) => Finding::ok("written pages are found by one system call (PAGEMAP_SCAN)"),
        Err(error) => Finding::note(
            format!(
                "PAGEMAP_SCAN does not work ({error}); clients find stores by faults or by \
                 comparing"
            ),
            "Linux 6.7 and newer have it; /proc must be there",
        ),
    }
}

fn scan_nothing(pagemap: OwnedFd) -> Result<(), Errno> {
    let mut arguments = ScanArguments {
        size: std::mem::size_of::<ScanArguments>() as u64,
        ..ScanArguments::default()
    };
    let request = pagemap.as_fd();
    // SAFETY: PAGEMAP_SCAN reads and writes one such structure. The range is empty, so that it
    // writes no region.
    unsafe {
        ioctl(
            request,
            Updater::<PAGEMAP_SCAN, ScanArguments>::new(&mut arguments),
        )
    }
}

pub fn tracker_is_known(_: &Subject) -> Finding {
    match variable("IW_TRACKER") {
        None => Finding::ok("IW_TRACKER is not set: clients take the fastest tracker that works"),
        Some(name) if TRACKERS.contains(&&*name) => Finding::note(
            format!(
                "IW_TRACKER={name}: clients take this tracker, whether it is the fastest or not"
            ),
            "unset IW_TRACKER",
        ),
        Some(name) => Finding::problem(
            format!("IW_TRACKER={name} is not a tracker, so that no client can open a segment"),
            format!("unset IW_TRACKER, or choose one of {}", TRACKERS.join(", ")),
        ),
    }
}
