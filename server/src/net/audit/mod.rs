//! The audit log: who did what, and whether it was allowed [AUDIT-1..6].
//!
//! The engine's thread puts lines into a bounded queue (queue.rs) and waits for nothing. Another
//! thread makes texts of them (line.rs), writes them into the file (file.rs), and tries again while
//! the disk is full.

mod file;
mod line;
mod queue;

use crate::session::{Act, Audited};
use file::LogFile;
use queue::{Line, Queue};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Between two looks at the queue lines become one, if they are alike [AUDIT-4].
const PAUSE: Duration = Duration::from_millis(100);
/// The time after which a disk that took nothing is tried again.
const TRY_AGAIN: Duration = Duration::from_millis(500);
/// How long the end of the server waits for the file.
const ENDING: Duration = Duration::from_secs(3);

/// Where the audit log is, and how large it may be.
#[derive(Debug, Clone)]
pub struct AuditOptions {
    pub file: PathBuf,
    /// The size beyond which the file becomes an older one.
    pub most_bytes: u64,
    /// How many older files stay.
    pub keep: u32,
}

/// The numbers of the audit log for /metrics.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditNumbers {
    pub lines: u64,
    pub dropped: u64,
    pub waiting: u64,
    pub is_failing: bool,
}

/// The log's handle on the engine's thread.
pub struct AuditLog {
    shared: Arc<Shared>,
    ended: Receiver<()>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    lines: AtomicU64,
    dropped: AtomicU64,
    /// Lines that the thread has taken and not written.
    taken: AtomicU64,
    is_failing: AtomicBool,
}

#[derive(Default)]
struct State {
    queue: Queue,
    reopens: bool,
    ends: bool,
}

impl AuditLog {
    /// Opens the file. An error says what is wrong with it.
    pub fn open(options: AuditOptions) -> Result<AuditLog, String> {
        let name = options.file.display().to_string();
        let failed = |error: io::Error| format!("--audit {name}: {error}");
        let file = LogFile::open(options).map_err(failed)?;
        let shared = Arc::<Shared>::default();
        let (end, ended) = sync_channel(1);
        let writer = Writer {
            shared: shared.clone(),
            file,
        };
        let thread = std::thread::Builder::new().name("iw-audit".to_string());
        let run = move || {
            writer.run();
            // Whoever ends the server may have waited long enough.
            let _ = end.send(());
        };
        thread.spawn(run).map_err(failed)?;
        Ok(AuditLog { shared, ended })
    }

    /// Where other threads than the engine's put their lines.
    pub fn notes(&self) -> Notes {
        Notes(self.shared.clone())
    }

    pub fn note(&self, audited: Box<Audited>) {
        self.shared.note(audited);
    }

    /// Opens the file anew, because another program has renamed it.
    pub fn reopen(&self) {
        self.shared.state().reopens = true;
        self.shared.changed.notify_one();
    }

    pub fn numbers(&self) -> AuditNumbers {
        let waiting = self.shared.state().queue.len() as u64;
        AuditNumbers {
            lines: self.shared.lines.load(Ordering::Relaxed),
            dropped: self.shared.dropped.load(Ordering::Relaxed),
            waiting: waiting + self.shared.taken.load(Ordering::Relaxed),
            is_failing: self.shared.is_failing.load(Ordering::Relaxed),
        }
    }

    /// Writes what waits, and ends. Waits for a moment only.
    pub fn close(&self) {
        self.shared.state().ends = true;
        self.shared.changed.notify_one();
        let ended = self.ended.recv_timeout(ENDING).is_ok();
        let lost = self.numbers().waiting;
        if lost > 0 || !ended {
            tracing::error!(
                lost,
                "the audit log could not be written before the end; these lines are lost"
            );
        }
    }
}

/// Takes lines from any thread.
#[derive(Clone)]
pub struct Notes(Arc<Shared>);

impl Notes {
    pub fn note(&self, audited: Audited) {
        self.0.note(Box::new(audited));
    }
}

impl Shared {
    /// Takes a line. Waits for no disk.
    fn note(&self, audited: Box<Audited>) {
        let mut state = self.state();
        // The thread sleeps only while the queue is empty.
        let was_empty = state.queue.is_empty();
        let dropped = state.queue.push(now_us(), audited);
        drop(state);
        if dropped {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        if was_empty {
            self.changed.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change of the state is whole, also where somebody panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `is_awaited` holds, or for so long.
    fn wait(&self, time: Duration, is_awaited: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waited = self
            .changed
            .wait_timeout_while(self.state(), time, |state| !is_awaited(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

struct Writer {
    shared: Arc<Shared>,
    file: LogFile,
}

impl Writer {
    fn run(mut self) {
        loop {
            let wanted = |state: &State| state.ends || state.reopens || !state.queue.is_empty();
            let mut state = self.shared.wait(Duration::MAX, wanted);
            let (lines, dropped) = state.queue.take();
            self.shared
                .taken
                .store(lines.len() as u64, Ordering::Relaxed);
            let ends = state.ends;
            drop(state);
            self.look_for_reopening();
            let is_done = self.write_all(lines, dropped);
            if ends || !is_done {
                self.file.sync();
                return;
            }
            drop(self.shared.wait(PAUSE, |state| state.ends || state.reopens));
        }
    }

    fn look_for_reopening(&mut self) {
        if std::mem::take(&mut self.shared.state().reopens) {
            match self.file.reopen() {
                Ok(()) => tracing::info!("the audit log was opened anew"),
                Err(error) => tracing::error!(%error, "the audit log cannot be opened anew"),
            }
        }
    }

    /// Writes lines in their order, however long it takes. False: the server ends before.
    fn write_all(&mut self, lines: Vec<Line>, dropped: u64) -> bool {
        let told = (dropped > 0).then(|| Line::of_dropped(now_us(), dropped));
        for line in lines.iter().chain(&told) {
            if !self.write(line) {
                return false;
            }
            self.shared.lines.fetch_add(1, Ordering::Relaxed);
            let taken = &self.shared.taken;
            taken.store(
                taken.load(Ordering::Relaxed).saturating_sub(1),
                Ordering::Relaxed,
            );
        }
        true
    }

    fn write(&mut self, line: &Line) -> bool {
        let text = line::text(line);
        let mut last: Option<Instant> = None;
        loop {
            match self.file.append(text.as_bytes()) {
                Ok(()) => {
                    if self.shared.is_failing.swap(false, Ordering::Relaxed) {
                        tracing::info!("the audit log is written again");
                    }
                    return true;
                }
                Err(error) => {
                    if !self.shared.is_failing.swap(true, Ordering::Relaxed) {
                        tracing::error!(%error, "the audit log cannot be written; its lines wait");
                    }
                }
            }
            let awaited = |state: &State| state.ends || state.reopens;
            let ends = self.shared.wait(TRY_AGAIN, awaited).ends;
            // At the end there is time for one more attempt.
            if ends && last.is_some_and(|last| last.elapsed() >= TRY_AGAIN / 2) {
                return false;
            }
            if ends {
                last.get_or_insert_with(Instant::now);
                std::thread::sleep(TRY_AGAIN / 2);
            }
            self.look_for_reopening();
        }
    }
}

/// Returns microseconds since 1970.
fn now_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_micros()).unwrap_or(0))
}

impl Line {
    fn of_dropped(time_us: u64, count: u64) -> Line {
        let text = "lines of what was allowed are missing here, because the log was not written";
        Line {
            audited: Box::new(Audited::of_server(Act::Dropped, true, text)),
            time_us,
            until_us: time_us,
            count,
        }
    }
}
