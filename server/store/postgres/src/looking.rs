//! The thread of looks at the database that claim and write nothing: which servers share the store,
//! how it is, and which segments all of them have.
//!
//! It has a connection of its own. So a look holds up neither a lease's renewal nor a segment that
//! is looked for. It does not want a standby: whether one is attached is a thing to look at.

use crate::answer::Answer;
use crate::checks;
use crate::connection::Connection;
use crate::pages;
use crate::roll::{self, Asking};
use crate::shared::Shared;
use crate::store::Options;
use crate::threads;
use interweave_store::{Members, Page, PageAsked, Pages, StoreError, Watch};
use interweave_wire::protocol::MemberList;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio_postgres::Statement;

/// So many requests are taken together at most.
const TOGETHER: usize = 64;

/// A request, and its hearer.
enum Asked {
    /// The number after which the look begins, and whether it tells all.
    Members((u64, bool), Answer<MemberList>),
    Page(PageAsked, Answer<Page>),
}

pub struct Looking {
    asked: UnboundedSender<Asked>,
    thread: JoinHandle<()>,
}

impl Looking {
    pub fn begin(
        options: &Options,
        shared: &Arc<Shared>,
        epoch: u64,
        watch: &Arc<Watch>,
    ) -> Result<Looking, StoreError> {
        let (asked, waiting) = unbounded_channel();
        let looker = Looker {
            options: options.clone(),
            shared: Arc::clone(shared),
            epoch,
            watch: Arc::clone(watch),
        };
        let look = move || async move { looker.look_for_all(waiting).await };
        let thread = threads::begin("iw-look", threads::event_loop()?, shared, look)?;
        Ok(Looking { asked, thread })
    }

    pub fn members(&self, after: u64, tells_all: bool, members: Members) {
        let asked = Asked::Members((after, tells_all), Answer::by(members));
        // Dropped with its thread, a request answers itself.
        drop(self.asked.send(asked));
    }

    pub fn page(&self, asked: PageAsked, page: Pages) {
        drop(self.asked.send(Asked::Page(asked, Answer::by(page))));
    }

    /// Ends after what was asked.
    pub fn end(self) {
        let Looking { asked, thread } = self;
        drop(asked);
        // Its panic was told already.
        let _ = thread.join();
    }
}

struct Looker {
    options: Options,
    shared: Arc<Shared>,
    epoch: u64,
    watch: Arc<Watch>,
}

/// The connection, and the statement of pages on it.
type Open = Option<(Connection, Statement)>;

impl Looker {
    async fn look_for_all(&self, mut asked: UnboundedReceiver<Asked>) {
        let (mut open, mut waiting) = (None, Vec::new());
        while asked.recv_many(&mut waiting, TOGETHER).await > 0 {
            // Requests that wait at the same time share a look [SPACE-33].
            let mut seen: Vec<((u64, bool), Result<MemberList, StoreError>)> = Vec::new();
            for one in waiting.drain(..) {
                match one {
                    Asked::Members(asked, answer) => {
                        let known = seen.iter().position(|(of, _)| *of == asked);
                        let at = match known {
                            Some(at) => at,
                            None => {
                                seen.push((asked, self.members(&mut open, asked).await));
                                seen.len() - 1
                            }
                        };
                        answer.give(seen[at].1.clone());
                    }
                    Asked::Page(asked, answer) => answer.give(self.page(&mut open, &asked).await),
                }
            }
        }
    }

    async fn members(
        &self,
        open: &mut Open,
        (after, tells_all): (u64, bool),
    ) -> Result<MemberList, StoreError> {
        let asking = Asking {
            epoch: self.epoch,
            shares_store: self.options.member.is_some(),
            wants_standby: !self.options.is_alone,
            after,
            tells_all,
        };
        let found = match self.connected(open).await {
            Ok((connection, _)) => {
                let status = self.shared.lock().status.clone();
                let now = || self.shared.now();
                let asked = roll::call(connection, &asking, &self.watch, (&status, now));
                connection.soon(asked).await
            }
            Err(error) => Err(error),
        };
        self.noted(open, found)
    }

    async fn page(&self, open: &mut Open, asked: &PageAsked) -> Result<Page, StoreError> {
        let found = match self.connected(open).await {
            Ok((connection, statement)) => {
                let now = || self.shared.now();
                let of = (asked, self.epoch);
                let asked = pages::read(connection, statement, of, (&self.watch, now));
                connection.soon(asked).await
            }
            Err(error) => Err(error),
        };
        self.noted(open, found)
    }

    /// After an error the next look connects again.
    fn noted<T>(&self, open: &mut Open, found: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &found {
            *open = None;
            self.shared.note(error);
        }
        found
    }

    /// Connects again where the connection broke.
    async fn connected<'a>(
        &self,
        open: &'a mut Open,
    ) -> Result<&'a (Connection, Statement), StoreError> {
        let is_open = open.as_ref().is_some_and(|(c, _)| !c.is_closed());
        if !is_open {
            *open = None;
            let connection = checks::connect_to_look(&self.options, &self.shared.timelines).await?;
            let page = connection.soon(connection.prepare(pages::PAGE)).await?;
            *open = Some((connection, page));
        }
        open.as_ref().ok_or(StoreError::Closed)
    }
}
