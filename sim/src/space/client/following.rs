//! Seeks a segment's server: that of the URL, or the one to which that sends the client on
//! [SPACE-9..14].

use super::{Doing, Place, SpaceClient, MOST_HOPS, PAUSE_NS};
use crate::client::decoded;
use crate::env::{Env, MS};
use crate::history::{violation, Checked, Floor};
use crate::space::member::member_at;
use interweave_wire::fields::Fields;
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::*;
use interweave_wire::Message;

impl SpaceClient {
    /// The server sends the client on [SPACE-9] [SPACE-10].
    pub(super) fn sent_on(
        &mut self,
        env: &mut Env,
        (segment, server): (usize, usize),
        message: &Message,
    ) -> Checked<()> {
        let reply: ErrorReply = decoded(message)?;
        let fields = Fields::of(&reply.fields);
        let to = fields.and_then(|fields| fields.get::<RedirectField>(FieldKey::Redirect));
        let Ok(Some(to)) = to else {
            return violation("messages", "REDIRECTED says where to");
        };
        let Some(next) = member_at(&to.address).filter(|next| *next < self.servers) else {
            return violation(
                "messages",
                format!("{} is not the address of a server", to.address),
            );
        };
        if next == server {
            let text = format!("server {server} sends a client to itself");
            return violation("nobody is sent in circles", text);
        }
        let space = self.links.space_of(server);
        let place = &mut self.places[segment];
        place.hops += 1;
        if place.hops > MOST_HOPS {
            // The request fails. Whoever wants the segment asks again later.
            let ns = self.random.skewed(MS, PAUSE_NS);
            self.places[segment].asks_ns = env.now_ns + ns;
            self.go_home(segment);
            self.request_failed(segment);
            self.wake(env, env.now_ns + ns);
            return Ok(());
        }
        place.at = next;
        place.space = space;
        if let Some(Doing::Removing { is_asked, .. }) = &mut self.doing {
            *is_asked = false;
        }
        Ok(())
    }

    /// Another server has a segment that was open, as the answer to a request about it says.
    pub(super) fn moved_on(
        &mut self,
        env: &mut Env,
        (segment, server, sent_ns): (usize, usize, u64),
        message: &Message,
    ) -> Checked<()> {
        let place = &mut self.places[segment];
        // SEGMENT_MOVED may have come before, and the segment may be back.
        if place.at != server || sent_ns < place.came_ns {
            return Ok(());
        }
        place.came_ns = env.now_ns;
        self.copies[segment].connection_lost();
        self.keeping.gone(segment);
        self.asks_again(segment);
        self.sent_on(env, (segment, server), message)
    }

    /// SEGMENT_MOVED [SPACE-23].
    pub(super) fn moved(
        &mut self,
        env: &mut Env,
        server: usize,
        moved: &SegmentMoved,
    ) -> Checked<()> {
        if !self.habits.follows_moves {
            return violation(
                "messages",
                "SEGMENT_MOVED comes to a client that did not ask",
            );
        }
        let Some(segment) = self.segment_of(server, moved.segment) else {
            return Ok(());
        };
        let Some(next) = member_at(&moved.address).filter(|next| *next < self.servers) else {
            let text = format!("{} is not the address of a server", moved.address);
            return violation("messages", text);
        };
        if next == server {
            let text = format!("server {server} sends a client to itself");
            return violation("nobody is sent in circles", text);
        }
        env.counts.event("a client follows a move");
        self.copies[segment].connection_lost();
        self.keeping.gone(segment);
        let space = self.links.space_of(server);
        let place = &mut self.places[segment];
        (place.at, place.hops, place.space) = (next, 0, space);
        place.came_ns = env.now_ns;
        self.asks_again(segment);
        Ok(())
    }

    /// A request about the segment that waits is made anew at the next server.
    fn asks_again(&mut self, segment: usize) {
        match &mut self.doing {
            Some(Doing::Reading {
                segment: of,
                is_asked,
                ..
            })
            | Some(Doing::Subscribing {
                segment: of,
                is_asked,
                ..
            }) if *of == segment => *is_asked = false,
            Some(Doing::Writing(writing)) => writing.ask_again(segment),
            Some(Doing::Removing {
                segment: of,
                is_asked,
            }) if *of == segment => *is_asked = false,
            Some(Doing::Resolving(release)) => release.asked.clear(),
            _ => {}
        }
    }

    /// What the client does comes to nothing, unless it insists.
    fn request_failed(&mut self, segment: usize) {
        let needs_it = |doing: &Doing| doing.segments().contains(&segment);
        let is_release = matches!(self.doing, Some(Doing::Resolving(_)));
        if !self.insists && !is_release && self.doing.as_ref().is_some_and(needs_it) {
            self.doing = None;
        }
    }

    /// The segment was open before, and is not there.
    pub(super) fn is_missing(
        &mut self,
        env: &mut Env,
        segment: usize,
        floor: Floor,
    ) -> Checked<()> {
        self.places[segment].was_open = false;
        let history = &env.history[segment];
        let may_be_lost = env.database_has_lost && history.durable != Durability::Synced;
        match may_be_lost {
            true => Ok(()),
            false => history.check_missing(floor),
        }
    }

    /// WELCOME must have the space id of the server that has sent the client on [SPACE-12].
    pub(super) fn welcomed(
        &mut self,
        env: &mut Env,
        server: usize,
        welcome: &Welcome,
    ) -> Checked<()> {
        let fields = Fields::of(&welcome.fields);
        let space = fields.and_then(|fields| fields.get::<IdField>(FieldKey::SpaceId));
        let Ok(Some(IdField { id: space })) = space else {
            return violation("messages", "WELCOME names the space");
        };
        self.links.welcomed(env, server, (space, welcome));
        let is_other = |place: &Place| match place.space {
            Some(of_before) if planted::is_in(Defect::SpaceIdIgnored) => of_before != self.space,
            Some(of_before) => of_before != space,
            None => self.space != space,
        };
        let strange = |segment: &usize| {
            let place = &self.places[*segment];
            place.at == server && is_other(place)
        };
        let strange: Vec<usize> = (0..self.places.len()).filter(strange).collect();
        if !strange.is_empty() {
            for segment in strange {
                self.go_home(segment);
                self.request_failed(segment);
            }
            self.give_up(env, server);
            return Ok(());
        }
        if !welcome.resumed {
            self.session_is_new(server);
        }
        Ok(())
    }

    pub(super) fn opened(
        &mut self,
        env: &mut Env,
        (segment, floor, creates): (usize, Floor, bool),
        opened: &SegmentOpened,
    ) -> Checked<()> {
        let history = &mut env.history[segment];
        if opened.created && !creates {
            return violation("answers", "a segment was created unasked");
        }
        if opened.created {
            history.created();
            // It was lost, and a server that has lost its standing since may have written to it.
            if env.database_has_lost && history.durable != Durability::Synced {
                history.may_have_lost(history.said_ns.saturating_sub(1));
            }
        }
        history.see(&opened.newest)?;
        history.check_floor("acknowledged is there", &opened.newest, floor, 0)?;
        self.copies[segment].number = Some(opened.segment);
        self.copies[segment].is_opening = false;
        self.places[segment].hops = 0;
        self.places[segment].was_open = true;
        Ok(())
    }

    /// The segment is asked for at the server of the URL. Some programs have several URLs.
    pub(super) fn go_home(&mut self, segment: usize) {
        if self.places[segment].at == self.home && self.random.one_in(2) {
            self.home = self.random.below(self.servers as u64) as usize;
        }
        let home = self.home;
        let place = &mut self.places[segment];
        place.at = home;
        place.hops = 0;
        place.space = None;
    }
}
