//! The logins of browsers [ACC-10]: what a cookie stands for. They are in memory only.

use super::login::Shown;
use interweave_access::Login;
use interweave_wire::session_hash::session_hash;
use std::collections::HashMap;
use std::time::Duration;

/// How long a login lasts.
pub const LASTS: Duration = Duration::from_secs(12 * 3600);
/// The most logins of one token. One more ends the oldest of them.
const MOST_OF_TOKEN: usize = 16;
/// The most logins of all tokens. One more ends the oldest.
const MOST: usize = 4096;

#[derive(Debug, Default)]
pub struct Logins {
    /// By the hash of the cookie's value: so the time of a search says nothing of a value.
    all: HashMap<[u8; 16], Entry>,
    last: u64,
}

#[derive(Debug)]
struct Entry {
    login: Login,
    shown: Shown,
    until_ns: u64,
    /// Counts up, so that the least is the oldest.
    number: u64,
}

impl Logins {
    /// Begins a login. `value`: random bytes, which the cookie has. `shown`: the token, if it may
    /// be passed on.
    pub fn begin(&mut self, now_ns: u64, value: [u8; 16], login: Login, shown: Shown) {
        self.all.retain(|_, entry| entry.until_ns > now_ns);
        while self.count_of(login.token) >= MOST_OF_TOKEN {
            self.end_oldest(|entry| entry.login.token == login.token);
        }
        while self.all.len() >= MOST {
            self.end_oldest(|_| true);
        }
        self.last += 1;
        let entry = Entry {
            login,
            shown,
            until_ns: now_ns.saturating_add(LASTS.as_nanos() as u64),
            number: self.last,
        };
        self.all.insert(session_hash(&value), entry);
    }

    /// Returns the login of a cookie's value, and its token. None: it has ended, or never began.
    pub fn find(&self, now_ns: u64, value: &[u8; 16]) -> Option<(&Login, &Shown)> {
        let entry = self.all.get(&session_hash(value))?;
        (entry.until_ns > now_ns).then_some((&entry.login, &entry.shown))
    }

    pub fn end(&mut self, value: &[u8; 16]) {
        self.all.remove(&session_hash(value));
    }

    fn count_of(&self, token: Option<[u8; 6]>) -> usize {
        let all = self.all.values();
        all.filter(|entry| entry.login.token == token).count()
    }

    fn end_oldest(&mut self, among: impl Fn(&Entry) -> bool) {
        let all = self.all.iter().filter(|(_, entry)| among(entry));
        let oldest = all.min_by_key(|(_, entry)| entry.number);
        if let Some(hash) = oldest.map(|(hash, _)| *hash) {
            self.all.remove(&hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_access::Identity;

    fn login(token: u32) -> Login {
        let mut id = [0; 6];
        id[..4].copy_from_slice(&token.to_be_bytes());
        Login {
            identity: Identity::Name("alice".into()),
            token: Some(id),
        }
    }

    fn value(number: u32) -> [u8; 16] {
        let mut value = [7; 16];
        value[..4].copy_from_slice(&number.to_be_bytes());
        value
    }

    fn begin(logins: &mut Logins, now_ns: u64, value: [u8; 16], login: Login) {
        logins.begin(now_ns, value, login, Shown::default());
    }

    #[test]
    fn acc_10_a_login_ends_after_its_hours_or_when_it_is_ended() {
        let mut logins = Logins::default();
        begin(&mut logins, 1, value(1), login(1));
        let end_ns = 1 + LASTS.as_nanos() as u64;
        assert!(logins.find(end_ns - 1, &value(1)).is_some());
        assert!(logins.find(end_ns, &value(1)).is_none());
        assert!(logins.find(1, &value(2)).is_none());
        logins.end(&value(1));
        assert!(logins.find(1, &value(1)).is_none());
        begin(&mut logins, 1, value(3), login(1));
        begin(&mut logins, end_ns, value(4), login(1));
        assert_eq!(logins.all.len(), 1, "what has ended is forgotten");
    }

    #[test]
    fn acc_10_logins_are_few_and_the_oldest_goes() {
        let mut logins = Logins::default();
        begin(&mut logins, 1, value(0), login(0));
        for number in 1..=MOST_OF_TOKEN as u32 + 1 {
            begin(&mut logins, 1, value(number), login(1));
        }
        assert!(logins.find(1, &value(0)).is_some(), "another token's");
        assert!(logins.find(1, &value(1)).is_none());
        assert!(logins.find(1, &value(2)).is_some());
        for number in 0..MOST as u32 {
            begin(&mut logins, 1, value(1000 + number), login(1000 + number));
        }
        assert_eq!(logins.all.len(), MOST);
        assert!(logins.find(1, &value(0)).is_none());
        assert!(logins.find(1, &value(999 + MOST as u32)).is_some());
    }
}
