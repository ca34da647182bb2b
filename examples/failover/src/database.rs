//! The primary and the standby, in a thread of their own, because a promotion takes a while.

use interweave_postgres_cluster::Cluster;
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

pub struct Database {
    kill: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    state: Arc<Mutex<String>>,
}

impl Database {
    /// `say` is called with each change, from that thread.
    pub fn watch_over(mut cluster: Cluster, say: impl Fn(&str) + Send + 'static) -> Database {
        let state = Arc::new(Mutex::new("primary and standby run".to_string()));
        let (kill, asked) = channel();
        let shown = state.clone();
        let tell = move |text: &str| {
            *shown.lock().unwrap() = text.to_string();
            say(text);
        };
        let thread = std::thread::spawn(move || {
            while asked.recv().is_ok() {
                tell("the primary is killed; the standby takes over");
                cluster.fail_over();
                tell("promoted; writes wait until there is a standby");
                cluster.recover();
                tell("primary and a new standby run");
            }
        });
        Database {
            kill: Some(kill),
            thread: Some(thread),
            state,
        }
    }

    pub fn kill_primary(&self) {
        if let Some(kill) = &self.kill {
            // The thread ends only with this.
            let _ = kill.send(());
        }
    }

    pub fn state(&self) -> String {
        self.state.lock().unwrap().clone()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.kill = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed when it came.
            let _ = thread.join();
        }
    }
}
