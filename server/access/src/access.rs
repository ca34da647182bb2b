//! The decisions: whether a client is let in, and what its identity may do.

use crate::{Identity, Limits, Operation, Peer, Rules, Tokens};
use std::path::{Path, PathBuf};

/// What the tokens file and the rules file say, as long as both are as they are.
#[derive(Debug, Default)]
pub struct Access {
    rules: Option<Rules>,
    tokens: Option<Tokens>,
    /// Where the programs of the server's user find its own token [OWN-2].
    own_folder: Option<PathBuf>,
    /// The only token is the server's own, which no other server takes.
    is_own: bool,
}

/// The identity that a session got at HELLO, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub identity: Identity,
    /// The ID of the token that the client showed.
    pub token: Option<[u8; 6]>,
}

/// Why a client is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotLetIn {
    /// The client showed a token that is not valid [ACC-2].
    NotValid,
    /// The client showed nothing, and this server lets nobody do anything [ACC-3] [ACC-4].
    ShowedNothing,
}

/// Whether an operation is allowed, and the rule that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    pub is_allowed: bool,
    /// The line of the rule. None: no rule matches, or there is no rules file.
    pub line: Option<u32>,
}

impl Access {
    /// Everybody may do everything.
    pub fn open() -> Self {
        Access::default()
    }

    /// What these files say. None: the server does not have such a file.
    pub fn new(rules: Option<Rules>, tokens: Option<Tokens>) -> Self {
        Access {
            rules,
            tokens,
            ..Access::default()
        }
    }

    /// Whoever shows the server's own token may do everything [OWN-1]. `own_folder`: of its files.
    pub fn of_own_token(token: Tokens, own_folder: Option<PathBuf>) -> Self {
        Access {
            rules: None,
            tokens: Some(token),
            own_folder,
            is_own: true,
        }
    }

    /// Whether the only token is the server's own, which no other server takes [OWN-1].
    pub fn is_of_own_token(&self) -> bool {
        self.is_own
    }

    /// Returns the folder of the files that have the server's own token. None: there are none.
    pub fn own_folder(&self) -> Option<&Path> {
        self.own_folder.as_deref()
    }

    /// Whether there is neither a tokens file nor a rules file.
    pub fn is_open(&self) -> bool {
        self.rules.is_none() && self.tokens.is_none()
    }

    /// Decides whose a session is. `token`: "" for none.
    pub fn login(&self, token: &str, peer: &Peer) -> Result<Login, NotLetIn> {
        let earlier = peer.login.as_ref();
        if let Some(login) = earlier.filter(|_| token.is_empty() && !self.is_open()) {
            let is_valid = self.still_lets_in(login);
            return is_valid.then(|| login.clone()).ok_or(NotLetIn::NotValid);
        }
        if self.is_open() || token.is_empty() {
            let identity = peer.identity();
            let is_let_in = identity != Identity::Anyone || self.lets_anyone_in();
            let login = Login {
                identity,
                token: None,
            };
            return is_let_in.then_some(login).ok_or(NotLetIn::ShowedNothing);
        }
        let found = self.tokens.as_ref().and_then(|tokens| tokens.find(token));
        let login = found.map(|line| Login {
            identity: Identity::Name(line.name.clone()),
            token: Some(line.id),
        });
        login.ok_or(NotLetIn::NotValid)
    }

    /// Whether a client that shows nothing is let in.
    pub fn lets_anyone_in(&self) -> bool {
        self.is_open() || self.rules.as_ref().is_some_and(Rules::lets_anyone_in)
    }

    /// Whether a session that got this login still has it [ACC-6].
    pub fn still_lets_in(&self, login: &Login) -> bool {
        if self.is_open() {
            return true;
        }
        match (&login.identity, &login.token) {
            (Identity::Name(name), Some(id)) => self
                .tokens
                .as_ref()
                .is_some_and(|tokens| tokens.has(id, name)),
            (Identity::Name(_), None) => false,
            (Identity::Anyone, _) => self.lets_anyone_in(),
            (Identity::Certificate(_) | Identity::User(_), _) => true,
        }
    }

    /// Returns how much the identity may use.
    pub fn limits(&self, identity: &Identity) -> Limits {
        let rules = self.rules.as_ref();
        rules
            .map(|rules| rules.limits(identity))
            .unwrap_or_default()
    }

    /// Whether a limit is of what happens in a second [LIM-5].
    pub fn slows_down(&self) -> bool {
        self.rules.as_ref().is_some_and(Rules::slow_down)
    }

    /// Decides one operation on one segment. `path` is "" for Metrics and Admin.
    pub fn decide(&self, identity: &Identity, operation: Operation, path: &str) -> Decision {
        match &self.rules {
            Some(rules) => rules.decide(identity, operation, path),
            None => self.without_rules(identity),
        }
    }

    /// Decides one operation on one segment. Also returns the beginning of the path, up to and with
    /// a '/', such that the same holds for all paths that begin so; "": for all paths. None: it may
    /// hold for this path alone. REQUIRES: the operation is about a segment.
    pub fn decide_with_reach<'a>(
        &self,
        identity: &Identity,
        operation: Operation,
        path: &'a str,
    ) -> (Decision, Option<&'a str>) {
        match &self.rules {
            Some(rules) => rules.decide_with_reach(identity, operation, path),
            None => (self.without_rules(identity), Some("")),
        }
    }

    fn without_rules(&self, identity: &Identity) -> Decision {
        Decision {
            is_allowed: self.is_open() || *identity != Identity::Anyone,
            line: None,
        }
    }
}

#[cfg(test)]
mod tests;
