//! A session of PostgreSQL that stands still: its connection is open, and carries nothing.

use crate::admin::Admin;
use rustix::process::{kill_process, Pid, Signal};

/// It continues when this is dropped.
pub struct HungSession(Pid);

impl HungSession {
    /// Stops the session whose last statement was that one. There must be one.
    pub fn of(admin: &Admin, last: &str) -> HungSession {
        let found = "SELECT pid::bigint FROM pg_stat_activity
          WHERE query = $1 AND application_name = 'interweave'";
        let [row] = &admin.rows(found, &[&last])[..] else {
            panic!("one session has run {last}");
        };
        let pid = Pid::from_raw(row.get::<_, i64>(0) as i32).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        HungSession(pid)
    }
}

impl Drop for HungSession {
    fn drop(&mut self) {
        // The database may have ended it meanwhile.
        let _ = kill_process(self.0, Signal::CONT);
    }
}
