//! A database as a place of a store.

use super::server::Server;
use super::store::{Connection, DatabaseStore, Manners, SharedServer};
use crate::locked;
use crate::place::{Ability, Cancel, Crash, Opened, Place};
use interweave_store::StoreError;
use std::cell::RefCell;
use std::sync::{Arc, Mutex};

pub struct DatabasePlace {
    server: SharedServer,
    manners: Manners,
    /// The connections of the owners that live.
    connections: RefCell<Vec<Arc<Connection>>>,
    copy: RefCell<Option<Server>>,
}

impl DatabasePlace {
    pub fn new(manners: Manners) -> DatabasePlace {
        DatabasePlace {
            server: Arc::new(Mutex::new(Server::new())),
            manners,
            connections: RefCell::default(),
            copy: RefCell::default(),
        }
    }
}

impl Place for DatabasePlace {
    fn can(&self, _ability: Ability) -> bool {
        true
    }

    fn open(&self) -> Result<Opened, StoreError> {
        let (epoch, claimed, segments) = locked(&self.server).claim_all();
        let store = DatabaseStore::new(Arc::clone(&self.server), self.manners, epoch, claimed);
        self.connections.borrow_mut().push(store.connection());
        Ok(Opened {
            store: Box::new(store),
            segments,
        })
    }

    fn crash(&self, crash: Crash) {
        for connection in self.connections.take() {
            connection.end();
        }
        locked(&self.server).crash(crash);
    }

    fn steps(&self) -> u32 {
        1
    }

    fn hold(&self, _step: u32) {
        locked(&self.server).holds = true;
    }

    fn is_held(&self) -> bool {
        let connections = self.connections.borrow();
        connections.iter().any(|connection| connection.is_held())
    }

    fn let_go(&self) {
        for connection in self.connections.borrow().iter() {
            connection.let_go();
        }
        locked(&self.server).let_go();
    }

    fn fail(&self, commits: u32) {
        locked(&self.server).failing = commits;
    }

    fn fill(&self, is_full: bool) {
        locked(&self.server).is_full = is_full;
    }

    fn cancel(&self, cancel: Cancel) {
        locked(&self.server).cancel = Some(cancel);
    }

    fn take(&self, segments: &[u64]) {
        locked(&self.server).claim(segments);
    }

    fn damage(&self, bytes: &[u8]) {
        locked(&self.server).damage(bytes);
    }

    fn copy(&self) {
        self.copy.replace(Some(locked(&self.server).clone()));
    }

    fn put_copy_back(&self) {
        let copy = self.copy.borrow();
        *locked(&self.server) = copy.clone().expect("a copy was made");
    }
}
