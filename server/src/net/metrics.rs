//! The server's numbers as Prometheus reads them, and its health as JSON.

use super::audit::AuditNumbers;
use super::relay::RelayNumbers;
use super::shell::Shell;
use super::space_view;
use super::tasks;
use crate::session::{Counters, SegmentStatistics, Statistics, Totals};
use interweave_store::{StoreError, StoreStatus};
use interweave_wire::protocol::{MemberList, MemberState};
use interweave_wire::Json;
use std::borrow::Cow;
use std::fmt::Write;

/// A few words for a person.
type Status = Cow<'static, str>;

/// Returns whether the server can read and write, and a line of JSON about it. The line counts
/// damaged segments. The server is well in spite of them, because it serves the others. Without
/// `tells_all` it names no segment and no number.
pub fn health(shell: &Shell, tells_all: bool) -> (bool, String) {
    let store = shell.store_status();
    let health = shell.health();
    let (status, why): (Status, _) = match (
        shell.failure(),
        shell.lost_store().or(store.stopped.clone()),
    ) {
        (Some(text), _) => ("failed: the server is ending".into(), Some(text)),
        (None, Some(error @ StoreError::Fenced(_))) => ("fenced".into(), Some(error.to_string())),
        (None, Some(error)) => {
            let status = "store stopped: reads continue, writes are refused";
            (status.into(), Some(error.to_string()))
        }
        (None, None) if shell.is_stopping() => {
            let why = "the server was told to stop";
            ("stopping".into(), Some(why.to_string()))
        }
        (None, None) => match cannot_write(shell, &store) {
            Some((status, why)) => (status, Some(why)),
            None if health.damaged > 0 => ("ok, but for damaged segments".into(), None),
            None => ("ok".into(), None),
        },
    };
    let is_well = why.is_none();
    let mut members = vec![("status", Json::from(&*status))];
    if !tells_all {
        let object: Json = members.into_iter().collect();
        return (is_well, format!("{object}\n"));
    }
    members.extend(why.map(|why| ("why", Json::from(why))));
    members.extend([
        ("segments", Json::from(health.segments)),
        ("damaged", Json::from(health.damaged)),
    ]);
    if health.damaged > 0 {
        members.push(("damaged_segments", Json::from(health.damaged_paths)));
    }
    members.extend([
        ("connections", Json::from(health.connections)),
        ("store_errors", Json::from(store.errors)),
        ("panics", Json::from(tasks::panics())),
    ]);
    let object: Json = members.into_iter().collect();
    (is_well, format!("{object}\n"))
}

/// Why a server that lives writes nothing at present: the status, and what the store says.
fn cannot_write(shell: &Shell, store: &StoreStatus) -> Option<(Status, String)> {
    let full = store.full.as_ref().map(|full| &full.text);
    let all = [
        (full, "store full: reads continue, writes are refused"),
        (
            store.alone.as_ref(),
            "store alone: writes wait for a standby, or are refused with STORE_ALONE",
        ),
        (store.away.as_ref(), "store away: writes are refused"),
    ];
    let said = all
        .into_iter()
        .find_map(|(why, status)| Some((Status::from(status), why?.clone())));
    let Some(hindrance) = shell.hindrance() else {
        return said;
    };
    let status = format!(
        "no standing: {}, so the lease is not renewed and nobody is served",
        hindrance.text()
    );
    Some((
        status.into(),
        said.map(|(_, why)| why)
            .or(store.last_error.clone())
            .unwrap_or_default(),
    ))
}

/// Returns whether clients are to be sent to this server, and a line of JSON about it.
pub fn readiness(shell: &Shell) -> (bool, String) {
    let store = shell.store_status();
    let is_lost = shell.lost_store().or(store.stopped.clone()).is_some();
    let status: Status = match (shell.failure(), is_lost, shell.is_stopping()) {
        (Some(_), ..) => "failed: the server is ending".into(),
        (None, true, _) => "store stopped".into(),
        (None, false, true) => "stopping".into(),
        (None, false, false) => {
            cannot_write(shell, &store).map_or(READY.into(), |(status, _)| status)
        }
    };
    let object: Json = [("status", Json::from(&*status))].into_iter().collect();
    (status == READY, format!("{object}\n"))
}

const READY: &str = "ready";

/// A text in the exposition format of Prometheus.
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP interweave_{name} {help}");
        let _ = writeln!(self.0, "# TYPE interweave_{name} {kind}");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.head(name, kind, help);
        let _ = writeln!(self.0, "interweave_{name} {value}");
    }

    fn all<const N: usize>(&mut self, kind: &str, rows: [(&str, &str, u64); N]) {
        for (name, help, value) in rows {
            self.one(name, kind, help, value);
        }
    }

    fn per_segment(
        &mut self,
        name: &str,
        help: &str,
        segments: &[SegmentStatistics],
        value: impl Fn(&SegmentStatistics) -> u64,
    ) {
        self.head(name, "gauge", help);
        for segment in segments {
            let path = segment.path.replace('\\', "\\\\").replace('"', "\\\"");
            let value = value(segment);
            let _ = writeln!(self.0, "interweave_{name}{{segment=\"{path}\"}} {value}");
        }
    }
}

/// What /metrics tells. It is gathered on the engine's thread and made into text on another.
pub struct Numbers {
    pub statistics: Statistics,
    pub totals: Totals,
    pub store: StoreStatus,
    pub received: u64,
    pub sent: u64,
    pub refused: u64,
    /// None: the server passes no connection on.
    pub relays: Option<RelayNumbers>,
    pub audit: Option<AuditNumbers>,
    /// The servers that share the store. None: nothing is known of them.
    pub space: Option<MemberList>,
    /// The version of the shared rules that holds; 0: the store has none.
    pub rules_version: u64,
    /// Those that have series of their own.
    pub segments: Vec<SegmentStatistics>,
}

/// Everything for /metrics.
pub fn prometheus(numbers: &Numbers) -> String {
    let mut page = Page(String::with_capacity(8192));
    connections(&mut page, numbers);
    identities(&mut page, &numbers.statistics.counters);
    audit(&mut page, numbers.audit.as_ref());
    space(&mut page, numbers);
    relays(&mut page, numbers.relays.as_ref());
    work(&mut page, &numbers.statistics);
    totals(&mut page, &numbers.statistics, &numbers.totals);
    segments(&mut page, &numbers.segments);
    store(&mut page, &numbers.store, &numbers.statistics);
    page.0
}

fn identities(page: &mut Page, counters: &Counters) {
    let rows = [
        (
            "logins_refused_total",
            "Connections whose token was not valid.",
            counters.logins_refused,
        ),
        (
            "limits_refused_total",
            "Requests beyond a limit of their identity.",
            counters.limits_refused,
        ),
        (
            "limits_rests_total",
            "Times that a connection waited because of a limit of its identity.",
            counters.rests,
        ),
    ];
    page.all("counter", rows);
}

/// Nothing, if there is no audit log.
fn audit(page: &mut Page, numbers: Option<&AuditNumbers>) {
    let Some(numbers) = numbers else {
        return;
    };
    let rows = [
        (
            "audit_lines_total",
            "Lines of the audit log.",
            numbers.lines,
        ),
        (
            "audit_dropped_total",
            "Lines dropped because the audit log was not written.",
            numbers.dropped,
        ),
    ];
    page.all("counter", rows);
    let rows = [
        (
            "audit_waiting",
            "Lines that wait for the audit log's file.",
            numbers.waiting,
        ),
        (
            "audit_failing",
            "Whether the audit log cannot be written now.",
            u64::from(numbers.is_failing),
        ),
    ];
    page.all("gauge", rows);
}

/// Nothing, if the store is not a database.
fn relays(page: &mut Page, relays: Option<&RelayNumbers>) {
    let Some(relays) = relays else {
        return;
    };
    page.one(
        "relays",
        "gauge",
        "Connections that are passed on to other servers, also those that are being made.",
        relays.open,
    );
    let rows = [
        (
            "relays_total",
            "Connections that were passed on to other servers.",
            relays.begun,
        ),
        (
            "relays_failed_total",
            "Connections that could not be passed on.",
            relays.failed,
        ),
        (
            "relayed_bytes_total",
            "Bytes that were passed on, in both directions.",
            relays.bytes,
        ),
    ];
    page.all("counter", rows);
}

fn space(page: &mut Page, numbers: &Numbers) {
    let Some(list) = &numbers.space else {
        return;
    };
    let members = "Servers that share the store, by what this one has seen of them.";
    page.head("space_members", "gauge", members);
    for (name, state) in [
        ("standing", MemberState::Standing),
        ("silent", MemberState::Silent),
        ("over", MemberState::Over),
        ("ended", MemberState::Ended),
        ("drained", MemberState::Drained),
    ] {
        let value = space_view::in_state(list, state);
        let _ = writeln!(
            page.0,
            "interweave_space_members{{state=\"{name}\"}} {value}"
        );
    }
    let store = &list.store;
    let rows = [
        (
            "space_segments_unserved",
            "Segments whose server is gone, until somebody asks for them.",
            space_view::unserved(list),
        ),
        (
            "space_rules_version",
            "The version of the shared rules that this server has taken; 0: none.",
            numbers.rules_version,
        ),
        (
            "space_rules_newest",
            "The newest version of the shared rules in the store; 0: none.",
            list.rules_version,
        ),
        (
            "store_standbys",
            "Synchronous standbys of the database.",
            store.standbys.into(),
        ),
        (
            "store_timeline",
            "The timeline of the database.",
            store.timeline,
        ),
    ];
    page.all("gauge", rows);
}

fn connections(page: &mut Page, numbers: &Numbers) {
    let statistics = &numbers.statistics;
    let counters = &statistics.counters;
    let open = statistics.connections as u64;
    let sessions = statistics.sessions as u64;
    page.one("connections", "gauge", "Connections open.", open);
    page.one(
        "sessions",
        "gauge",
        "Sessions, with a connection or within their lease.",
        sessions,
    );
    page.one(
        "connections_total",
        "counter",
        "Connections accepted.",
        counters.connections,
    );
    page.one(
        "connections_refused_total",
        "counter",
        "Connections beyond the limit.",
        numbers.refused,
    );
    page.one(
        "connections_silent_total",
        "counter",
        "Connections closed because nothing was heard.",
        counters.silent,
    );
    page.one(
        "connections_stuck_total",
        "counter",
        "Connections closed because others needed the memory of what they did not take.",
        counters.stuck,
    );
    page.one(
        "received_bytes_total",
        "counter",
        "Bytes received from clients.",
        numbers.received,
    );
    page.one(
        "sent_bytes_total",
        "counter",
        "Bytes sent to clients.",
        numbers.sent,
    );
    page.one(
        "malformed_total",
        "counter",
        "Connections that lost their framing.",
        counters.malformed,
    );
    process(page);
}

fn process(page: &mut Page) {
    if let Some(milliseconds) = processor_milliseconds() {
        page.one(
            "cpu_milliseconds_total",
            "counter",
            "Processor time of the process.",
            milliseconds,
        );
    }
    if let Some(bytes) = resident_bytes() {
        page.one(
            "resident_memory_bytes",
            "gauge",
            "Memory of the process.",
            bytes,
        );
    }
}

fn work(page: &mut Page, statistics: &Statistics) {
    let c = &statistics.counters;
    let rows = [
        ("requests_total", "Requests taken.", c.requests),
        ("errors_total", "Requests answered with an error.", c.errors),
        ("releases_total", "Releases committed.", c.releases),
        (
            "releases_refused_total",
            "Releases refused.",
            c.releases_refused,
        ),
        (
            "release_bytes_total",
            "Bytes of diffs committed.",
            c.release_bytes,
        ),
        ("writer_grants_total", "Writer locks granted.", c.grants),
        (
            "kept_grants_total",
            "Releases after which the client kept the lock's grant.",
            c.kept,
        ),
        (
            "recalls_total",
            "Kept grants that somebody waited for.",
            c.recalls,
        ),
        (
            "leases_lost_total",
            "Writer locks taken away because lease or hold time ended.",
            c.leases_lost,
        ),
        ("pushes_total", "Diffs pushed to subscribers.", c.pushes),
        ("push_bytes_total", "Bytes of diffs pushed.", c.push_bytes),
        (
            "announcements_total",
            "Subscribers told without a diff.",
            c.announcements,
        ),
        (
            "collected_total",
            "Diffs given to clients that asked.",
            c.collected,
        ),
        (
            "collections_total",
            "Of them, those that had to be collected.",
            c.collections,
        ),
        (
            "diff_cache_hits_total",
            "Of them, those that a diff cache had.",
            c.cache_hits,
        ),
        (
            "diffs_shared_total",
            "Of them, those that another client was being sent.",
            c.shared,
        ),
        (
            "collected_bytes_total",
            "Bytes of those diffs.",
            c.collected_bytes,
        ),
    ];
    page.all("counter", rows);
}

fn totals(page: &mut Page, statistics: &Statistics, totals: &Totals) {
    let rows = [
        ("segments", "Segments.", statistics.segments as u64),
        (
            "segments_damaged",
            "Segments stopped by damage.",
            statistics.damaged as u64,
        ),
        ("blocks", "Blocks of all segments.", totals.blocks),
        ("wire_bytes", "Wire bytes of all blocks.", totals.wire_bytes),
        (
            "overhead_bytes",
            "Memory of all segments beyond their wire bytes.",
            totals.overhead_bytes,
        ),
        (
            "open_segments",
            "Segments open, counted for each connection.",
            totals.clients,
        ),
        (
            "subscriptions",
            "Segments subscribed to, counted for each connection.",
            totals.subscribers,
        ),
        (
            "writer_locks",
            "Writer locks that are held.",
            totals.writer_locked,
        ),
        (
            "writers_waiting",
            "Writers waiting.",
            totals.writers_waiting,
        ),
    ];
    page.all("gauge", rows);
}

fn segments(page: &mut Page, all: &[SegmentStatistics]) {
    if all.is_empty() {
        return;
    }
    page.per_segment("segment_version", "Newest version.", all, |s| s.version);
    page.per_segment("segment_blocks", "Blocks.", all, |s| s.blocks);
    page.per_segment(
        "segment_wire_bytes",
        "Wire bytes of all blocks.",
        all,
        |s| s.wire_bytes,
    );
    page.per_segment(
        "segment_block_overhead_bytes",
        "Headers and names of blocks.",
        all,
        |s| s.overhead.block_bytes,
    );
    page.per_segment(
        "segment_version_bytes",
        "Versions of subblocks.",
        all,
        |s| s.overhead.version_bytes,
    );
    page.per_segment(
        "segment_shared_bytes",
        "Received diffs kept beyond what blocks share.",
        all,
        |s| s.overhead.shared_bytes,
    );
    page.per_segment("segment_diff_cache_bytes", "The diff cache.", all, |s| {
        s.overhead.cache_bytes
    });
    page.per_segment(
        "segment_metadata_bytes",
        "Types, slots and freed serials.",
        all,
        |s| s.overhead.metadata_bytes,
    );
    page.per_segment("segment_clients", "Connections with it open.", all, |s| {
        s.clients as u64
    });
    page.per_segment("segment_subscribers", "Subscribers.", all, |s| {
        s.subscribers as u64
    });
    page.per_segment("segment_writer_locked", "1: a writer has it.", all, |s| {
        u64::from(s.writer_locked)
    });
    page.per_segment("segment_writers_waiting", "Writers waiting.", all, |s| {
        s.writers_waiting as u64
    });
    page.per_segment("segment_damaged", "1: stopped by damage.", all, |s| {
        u64::from(s.damaged)
    });
}

/// Whether the store takes appends.
fn store_health(page: &mut Page, status: &StoreStatus) {
    let gauges = [
        (
            "store_full",
            "1: writes are refused.",
            u64::from(status.full.is_some()),
        ),
        (
            "store_alone",
            "1: the database has no standby; writes wait or are refused.",
            u64::from(status.alone.is_some()),
        ),
        (
            "store_away",
            "1: the database cannot be reached.",
            u64::from(status.away.is_some()),
        ),
        (
            "store_fenced",
            "1: another server has the store.",
            u64::from(matches!(status.stopped, Some(StoreError::Fenced(_)))),
        ),
        (
            "store_stopped",
            "1: nothing is written any more.",
            u64::from(status.stopped.is_some()),
        ),
    ];
    page.all("gauge", gauges);
}

fn store(page: &mut Page, status: &StoreStatus, statistics: &Statistics) {
    store_health(page, status);
    let gauges = [
        ("store_log_bytes", "Records in log files.", status.log_bytes),
        ("store_log_files", "Log files.", status.log_files),
        (
            "store_waiting",
            "Appends and checkpoints under way.",
            statistics.store_waiting as u64,
        ),
        (
            "store_undecided",
            "Appends of which the store is to say what became of them.",
            statistics.store_undecided as u64,
        ),
    ];
    page.all("gauge", gauges);
    let counters = [
        ("store_groups_total", "Groups appended.", status.groups),
        ("store_syncs_total", "Syncs of the log.", status.syncs),
        (
            "store_sync_microseconds_total",
            "Time that syncs of the log took.",
            u64::try_from(status.syncing.as_micros()).unwrap_or(u64::MAX),
        ),
        (
            "store_checkpoints_total",
            "Checkpoints written.",
            status.checkpoints,
        ),
        (
            "store_errors_total",
            "Failures of the store.",
            status.errors,
        ),
        (
            "store_doubts_total",
            "Appends whose outcome the store did not know at first.",
            statistics.counters.doubts,
        ),
        ("panics_total", "Errors of the server.", tasks::panics()),
    ];
    page.all("counter", counters);
}

/// Returns the memory of this process, where the system tells it.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Returns the processor time of this process, where the system tells it.
fn processor_milliseconds() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name, in parentheses, may have spaces. Behind it the times are words 12 and 13.
    let (_, behind) = text.rsplit_once(')')?;
    let mut times = behind.split_whitespace().skip(11);
    let mut next = || times.next()?.parse::<u64>().ok();
    Some((next()? + next()?) * 10)
}
