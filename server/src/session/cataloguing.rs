//! Lists of a server that shares its store: the segments of all servers [SPACE-34].
//!
//! The store gives a page of its catalogue, which goes from one path to another. The engine puts
//! its own segments between those paths in, because it knows more of them, and asks for the next
//! page until the list is full. It never holds more than a page of a list.

use super::effect::Effect;
use super::engine::Engine;
use super::listing::{behind, Found, Search, FEW, SLICE};
use super::sight::Sight;
use super::storing;
use interweave_store::{Page, PageAsked, StoreError};
use interweave_wire::protocol::MAX_LISTED;
use std::collections::BTreeMap;
use std::ops::Bound;

/// The lists that wait for a page, by the number of the page.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    last: u64,
    waiting: BTreeMap<u64, Search>,
}

/// How far a list has come with a page.
enum Progress {
    /// It is complete. Whether there are more segments behind it.
    Complete(bool),
    /// Another page is wanted.
    Further,
}

impl Engine {
    /// REQUIRES: the list is awaited on the wire.
    pub(super) fn begin_from_catalogue(&mut self, search: Search) {
        // If the client may read everything, one page of this size is enough.
        self.ask_for_page(search, MAX_LISTED + 1);
    }

    fn ask_for_page(&mut self, search: Search, most: u32) {
        let catalogue = &mut self.catalogue;
        catalogue.last += 1;
        let page = PageAsked {
            prefix: search.prefix.clone(),
            from: search.from.clone(),
            most,
        };
        let asked = catalogue.last;
        catalogue.waiting.insert(asked, search);
        self.wire.push_effect(Effect::Page { asked, page });
    }

    /// The store has read the page of that number.
    pub fn page_read(&mut self, now_ns: u64, asked: u64, page: Result<Page, StoreError>) {
        self.advance(now_ns);
        let Some(mut search) = self.catalogue.waiting.remove(&asked) else {
            return;
        };
        let (connection, stream) = (search.at.connection, search.at.stream);
        if self.wire.awaited(connection, stream).is_none() {
            return;
        }
        match page.map(|page| self.take_page(&mut search, &page)) {
            Ok(Progress::Further) => self.ask_for_page(search, SLICE as u32),
            Ok(Progress::Complete(more)) => {
                self.drop_gone(&mut search);
                // A client takes an empty list for the last one.
                if more && search.found.is_empty() {
                    self.ask_for_page(search, SLICE as u32);
                } else {
                    self.wire.answered(connection, stream);
                    self.answer_list(search, more);
                }
            }
            Err(error) => {
                self.wire.answered(connection, stream);
                self.wire.counters.errors += 1;
                let rejection = storing::rejection(&error);
                self.wire.refuse(connection, stream, &rejection);
            }
        }
        self.forget_closed();
    }

    /// Takes the segments of a page, and those of this server between them, in order.
    fn take_page(&self, search: &mut Search, page: &Page) -> Progress {
        let Some(session) = self.wire.session(search.at.session) else {
            return Progress::Complete(false);
        };
        let mut sight = Sight::new(&self.permits.access, &session.login.identity);
        let mut merging = Merging::of(self, search, page);
        let end = merging.end;
        let (mut looks, mut unseen) = (0, 0);
        // Paths before this one are in a folder that may not be seen.
        let mut passed: Option<String> = None;
        while let Some((path, here, there)) = merging.next() {
            looks += 1;
            if looks > 2 * SLICE {
                search.from = Bound::Included(path.to_string());
                return Progress::Further;
            }
            if passed.as_deref().is_some_and(|behind| path < behind) {
                continue;
            }
            if sight.sees(path) {
                if search.found.len() == MAX_LISTED as usize {
                    search.from = Bound::Included(path.to_string());
                    return Progress::Complete(true);
                }
                let there = there.cloned().map(Found::There);
                search.found.extend(here.map(Found::Here).or(there));
                unseen = 0;
                continue;
            }
            unseen += 1;
            if unseen >= FEW {
                unseen = 0;
                match sight.folder().map(behind) {
                    Some(Some(behind)) => passed = Some(behind),
                    // All paths begin so.
                    Some(None) => return Progress::Complete(false),
                    None => {}
                }
            }
        }
        let Some(end) = end else {
            return Progress::Complete(false);
        };
        search.from = match passed.filter(|behind| **behind > *end) {
            Some(behind) => Bound::Included(behind),
            None => Bound::Excluded(end.to_string()),
        };
        Progress::Further
    }
}

/// The next segment of two lists in order: its path, its number at this server, and what the store
/// says of it.
type Next<'a> = (&'a str, Option<u32>, Option<&'a interweave_store::Listed>);

/// This server's segments, and those of a page, as one list.
struct Merging<'a> {
    own: Box<dyn Iterator<Item = (&'a str, u32)> + 'a>,
    next_own: Option<(&'a str, u32)>,
    listed: std::slice::Iter<'a, interweave_store::Listed>,
    /// The last path of the page. None: it ends with the prefix.
    end: Option<&'a str>,
}

impl<'a> Merging<'a> {
    fn of(engine: &'a Engine, search: &Search, page: &'a Page) -> Merging<'a> {
        let last = page.segments.last().filter(|_| !page.is_last);
        let end = last.map(|listed| &*listed.path);
        let prefix = search.prefix.clone();
        let is_of_page =
            move |path: &str| path.starts_with(&prefix) && end.is_none_or(|end| path <= end);
        let from = search.from.clone();
        let own = engine
            .segments
            .paths_from(from.as_ref().map(String::as_str));
        let mut own = Box::new(own.take_while(move |(path, _)| is_of_page(path)));
        Merging {
            next_own: own.next(),
            own,
            listed: page.segments.iter(),
            end,
        }
    }

    fn next(&mut self) -> Option<Next<'a>> {
        let listed = self.listed.as_slice().first();
        let there = listed.map(|listed| &*listed.path);
        let here = self.next_own.map(|(path, _)| path);
        let path = match (here, there) {
            (Some(here), Some(there)) => here.min(there),
            (one, other) => one.or(other)?,
        };
        let number = self
            .next_own
            .filter(|(own, _)| *own == path)
            .map(|(_, number)| number);
        if number.is_some() {
            self.next_own = self.own.next();
        }
        let listed = listed.filter(|listed| listed.path == path);
        if listed.is_some() {
            self.listed.next();
        }
        Some((path, number, listed))
    }
}
