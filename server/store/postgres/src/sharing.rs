//! The threads of a store that is shared: one renews this server's lease, one looks for segments,
//! one follows segments, and one gives them away.
//!
//! Each has a connection of its own. So a lease is renewed, and a segment is given away, while a
//! large segment is read and rebuilt, and while appends wait for the standby.

use crate::answer::Answer;
use crate::checks;
use crate::connection::Connection;
use crate::follow::{self, Copies};
use crate::give::{self, Known, Outcome};
use crate::outcome;
use crate::renewals::Renewals;
use crate::seek::{Found, Seeker};
use crate::shared::Shared;
use crate::store::Options;
use crate::threads;
use crate::waits;
use interweave_store::{
    Done, Elsewhere, Follow, Followed, Give, Given, Seek, Sought, StoreError, Watch,
};
use std::future::Future;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};

/// A path to look for, whether it may be claimed, and who hears where its segment is.
type Asked = (String, bool, Answer<Sought>);

/// A path to follow, and who hears what was read.
type Following = (String, Answer<Followed>);

/// A segment and the member to which it is given.
type Giving = ((u64, u64), Answer<Given>);

pub struct Sharing {
    renewals: UnboundedSender<(bool, Answer)>,
    seeks: UnboundedSender<Asked>,
    follows: UnboundedSender<Following>,
    gives: UnboundedSender<Giving>,
    copies: Arc<Copies>,
    threads: Vec<JoinHandle<()>>,
}

impl Sharing {
    /// None: the store is not shared.
    pub fn begin(
        options: &Options,
        shared: &Arc<Shared>,
        epoch: u64,
        watch: &Arc<Watch>,
    ) -> Result<Option<Sharing>, StoreError> {
        if options.member.is_none() {
            return Ok(None);
        }
        let (renewals, asked_renewals) = unbounded_channel();
        let (seeks, asked_seeks) = unbounded_channel();
        let (follows, asked_follows) = unbounded_channel();
        let (gives, asked_gives) = unbounded_channel();
        let copies = Arc::new(Copies::default());
        let server = Arc::new(Server {
            options: options.clone(),
            shared: Arc::clone(shared),
            seeker: Seeker::new(epoch, watch, shared),
            copies: Arc::clone(&copies),
        });
        let [renewer, seeker, follower, giver] = [(); 4].map(|()| Arc::clone(&server));
        let threads = vec![
            begin("iw-renew", shared, || async move {
                renewer.renew_all(asked_renewals).await;
            })?,
            begin("iw-seek", shared, || async move {
                seeker.seek_all(asked_seeks).await;
            })?,
            begin("iw-follow", shared, || async move {
                follower.follow_all(asked_follows).await;
            })?,
            begin("iw-give", shared, || async move {
                giver.give_all(asked_gives).await;
            })?,
        ];
        Ok(Some(Sharing {
            renewals,
            seeks,
            follows,
            gives,
            copies,
            threads,
        }))
    }

    pub fn renew(&self, is_drained: bool, done: Done) {
        // Dropped with its thread, a request answers itself.
        drop(self.renewals.send((is_drained, Answer::by(done))));
    }

    pub fn seek(&self, path: &str, claims: bool, seek: Seek) {
        let asked = (path.to_string(), claims, Answer::by(seek));
        drop(self.seeks.send(asked));
    }

    pub fn follow(&self, path: &str, follow: Follow) {
        drop(self.follows.send((path.to_string(), Answer::by(follow))));
    }

    pub fn unfollow(&self, path: &str) {
        self.copies.forget(path);
    }

    pub fn give(&self, segment: u64, member: u64, give: Give) {
        drop(self.gives.send(((segment, member), Answer::by(give))));
    }

    /// Ends after what was asked. Nothing is claimed from then on.
    pub fn end(self) {
        let Sharing {
            renewals,
            seeks,
            follows,
            gives,
            threads,
            ..
        } = self;
        drop((renewals, seeks, follows, gives));
        for thread in threads {
            // Its panic was told already.
            let _ = thread.join();
        }
    }
}

/// Begins one of the threads.
fn begin<F: Future<Output = ()>>(
    name: &str,
    shared: &Arc<Shared>,
    work: impl FnOnce() -> F + Send + 'static,
) -> Result<JoinHandle<()>, StoreError> {
    threads::begin(name, threads::event_loop()?, shared, work)
}

/// This server among those that share the store.
struct Server {
    options: Options,
    shared: Arc<Shared>,
    seeker: Seeker,
    copies: Arc<Copies>,
}

impl Server {
    async fn renew_all(&self, mut asked: UnboundedReceiver<(bool, Answer)>) {
        let mut connection = None;
        let address = self
            .options
            .member
            .as_ref()
            .map(|member| &*member.at.address);
        let lease = self.options.member.as_ref().map(|member| member.lease);
        let Seeker { epoch, watch, .. } = &self.seeker;
        let mut renewals = Renewals::new(*epoch, address.unwrap_or_default(), watch);
        while let Some((is_drained, answer)) = asked.recv().await {
            renewals.begin();
            let begun = self.shared.now();
            let renewed = self.renew(&mut connection, &mut renewals, is_drained).await;
            match &renewed {
                Ok(()) => watch.renewed(lease.unwrap_or_default(), (begun, self.shared.now())),
                Err(error) => {
                    connection = None;
                    watch.begin_anew();
                    self.shared.note(error);
                }
            }
            answer.give(renewed);
            // After the answer, because it may take a while.
            let swept = match &connection {
                Some(connection) => renewals.sweep(connection).await,
                None => Ok(()),
            };
            if let Err(error) = swept {
                connection = None;
                self.shared.note(&error);
            }
        }
    }

    async fn renew(
        &self,
        connection: &mut Option<Connection>,
        renewals: &mut Renewals,
        is_drained: bool,
    ) -> Result<(), StoreError> {
        let connection = self.connected(connection).await?;
        let now = || self.shared.now();
        let _wait = self.shared.wait(connection, waits::SHORT);
        renewals.renew(connection, is_drained, now).await
    }

    async fn seek_all(&self, mut asked: UnboundedReceiver<Asked>) {
        let mut connection = None;
        while let Some((path, claims, answer)) = asked.recv().await {
            let sought = self.seek(&mut connection, (&path, claims)).await;
            if let Err(error) = &sought {
                // A transaction may be open on it.
                connection = None;
                self.shared.note(error);
            }
            answer.give(sought);
        }
    }

    async fn seek(
        &self,
        connection: &mut Option<Connection>,
        asked: (&str, bool),
    ) -> Result<Sought, StoreError> {
        let connection = self.connected(connection).await?;
        let now = || self.shared.now();
        let found = self.seeker.seek(connection, asked, &self.copies, now);
        Ok(match found.await? {
            Found::Here(id, segment, recovered) => {
                self.shared.lock().segments.insert(id, *segment);
                Sought::Here(recovered)
            }
            Found::Followed(id, segment, since) => {
                self.shared.lock().segments.insert(id, *segment);
                Sought::Followed(since)
            }
            Found::Elsewhere(at) if self.is_own(&at) => Sought::Earlier,
            Found::Elsewhere(elsewhere) => Sought::Elsewhere(elsewhere),
            Found::Absent => Sought::Absent,
        })
    }

    async fn follow_all(&self, mut asked: UnboundedReceiver<Following>) {
        let mut connection = None;
        while let Some((path, answer)) = asked.recv().await {
            let place = self.copies.place(&path);
            let mut copy = place.lock().await;
            let followed = self.follow(&mut connection, &path, &mut copy).await;
            if let Err(error) = &followed {
                // A transaction may be open on it.
                connection = None;
                *copy = None;
                self.shared.note(error);
            }
            answer.give(followed);
        }
    }

    async fn follow(
        &self,
        connection: &mut Option<Connection>,
        path: &str,
        copy: &mut Option<follow::Copy>,
    ) -> Result<Followed, StoreError> {
        let connection = self.connected(connection).await?;
        let now = || self.shared.now();
        follow::follow(connection, &self.seeker, (path, now), copy).await
    }

    async fn give_all(&self, mut asked: UnboundedReceiver<Giving>) {
        let mut connection = None;
        // Programs wait while a segment is given, so they are not to wait for a connection, too.
        if let Err(error) = self.connected(&mut connection).await {
            self.shared.note(&error);
        }
        while let Some(((segment, member), answer)) = asked.recv().await {
            let known = self.shared.lock().segments.get(segment).map(|s| Known {
                id: segment,
                claim: s.claim,
                head: s.tail.head,
            });
            let Some(known) = known else {
                answer.give(Err(StoreError::SegmentsFenced(vec![segment])));
                continue;
            };
            let given = self.give(&mut connection, known, member).await;
            if let Err(error) = &given {
                connection = None;
                self.shared.note(error);
            }
            // Where that is not known, too: the next look at its row tells.
            if !matches!(given, Ok(Given::Not(_))) {
                let mut told = self.shared.lock();
                told.segments.forget_claim(segment, known.claim);
            }
            answer.give(given);
        }
    }

    async fn give(
        &self,
        connection: &mut Option<Connection>,
        known: Known,
        member: u64,
    ) -> Result<Given, StoreError> {
        let connection = self.connected(connection).await?;
        let own = self.options.member.as_ref().map(|member| &member.at);
        let from = (self.seeker.epoch, own);
        let _wait = self.shared.wait(connection, waits::SHORT);
        match give::give(connection, from, known, member).await? {
            Outcome::Given(given) => Ok(given),
            Outcome::Behind => {
                let gone = outcome::gone(known.id, &self.options.target.schema);
                self.shared.stop(&gone);
                Err(gone)
            }
        }
    }

    fn is_own(&self, at: &Elsewhere) -> bool {
        let member = self.options.member.as_ref();
        member.is_some_and(|member| member.at.address == at.address)
    }

    /// Connects again where the connection broke.
    async fn connected<'a>(
        &self,
        connection: &'a mut Option<Connection>,
    ) -> Result<&'a Connection, StoreError> {
        let is_open = connection.as_ref().is_some_and(|c| !c.is_closed());
        if !is_open {
            *connection = None;
            *connection = Some(checks::connect(&self.options, &self.shared.timelines).await?);
        }
        connection.as_ref().ok_or(StoreError::Closed)
    }
}
