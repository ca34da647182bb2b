//! A process of PostgreSQL that stands still. If it is a session, its connection is open, and
//! carries nothing.

use crate::admin::Admin;
use rustix::process::{kill_process, Pid, Signal};

/// It continues when this is dropped.
pub struct HungProcess(Pid);

impl HungProcess {
    /// Stops the session whose last statement was like that. There must be one.
    pub fn session(admin: &Admin, last: &str) -> HungProcess {
        let found = "query LIKE $1 AND application_name = 'interweave'";
        HungProcess::found(admin, found, last)
    }

    /// Stops the process that puts settings into effect for all sessions.
    pub fn checkpointer(admin: &Admin) -> HungProcess {
        HungProcess::found(admin, "backend_type = $1", "checkpointer")
    }

    fn found(admin: &Admin, which: &str, value: &str) -> HungProcess {
        let found = format!("SELECT pid::bigint FROM pg_stat_activity WHERE {which}");
        let [row] = &admin.rows(&found, &[&value])[..] else {
            panic!("one process is like {value}");
        };
        let pid = Pid::from_raw(row.get::<_, i64>(0) as i32).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        HungProcess(pid)
    }
}

impl Drop for HungProcess {
    fn drop(&mut self) {
        // The database may have ended it meanwhile.
        let _ = kill_process(self.0, Signal::CONT);
    }
}
