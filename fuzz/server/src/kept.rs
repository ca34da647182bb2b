//! A server in memory that is kept for many inputs, because to begin one takes longer than most
//! inputs take.

use interweave_server::net::MemoryServer;
use std::cell::RefCell;
use std::mem::ManuallyDrop;

/// The server's timers remember each connection for some seconds. So a server that is kept for long
/// would need more and more memory.
const MOST_INPUTS: u32 = 100;

/// A thread does not drop its server at its end, because the tasks of the server need other
/// variables of the thread, which may be gone by then.
pub type KeptByThread = ManuallyDrop<RefCell<Kept>>;

pub struct Kept {
    begin: fn() -> MemoryServer,
    server: Option<MemoryServer>,
    inputs: u32,
}

impl Kept {
    /// `begin` begins a server.
    pub const fn by_thread(begin: fn() -> MemoryServer) -> KeptByThread {
        ManuallyDrop::new(RefCell::new(Kept {
            begin,
            server: None,
            inputs: 0,
        }))
    }

    /// Returns what the work makes of the server and the input. A task of the server that panics
    /// fails the input.
    pub fn with<T>(&mut self, work: impl FnOnce(&MemoryServer) -> T) -> T {
        if self.inputs == MOST_INPUTS {
            self.end();
        }
        self.inputs += 1;
        let server = self.server.get_or_insert_with(self.begin);
        let result = work(server);
        assert_eq!(server.failure(), None, "a task of the server panicked");
        result
    }

    /// The next input has a new server.
    pub fn end(&mut self) {
        self.server = None;
        self.inputs = 0;
    }
}
