//! What each identity uses, and whether it may use more [LIM-1..6].
//!
//! An account begins with an identity's first connection, or with a segment of the identity in the
//! store. It ends when nothing of it is left to remember. So an identity that connects again does
//! not get again what it has used up.

use super::access::Refused;
use interweave_access::{Identity, Limit, LimitName, Limits};
use interweave_wire::protocol::ErrorCode;
use interweave_wire::Rejection;
use std::collections::HashMap;

const SECOND_NS: f64 = 1e9;
/// So many accounts may be there before those that are not used are looked for.
const FEW: usize = 64;

/// What may be used in a second. `left` grows to the limit, and is below 0 after too much.
#[derive(Debug, Default)]
struct Bucket {
    left: f64,
    at_ns: u64,
}

impl Bucket {
    fn refill(&mut self, most: f64, now_ns: u64) {
        let passed = now_ns.saturating_sub(self.at_ns) as f64 / SECOND_NS;
        self.left = match self.at_ns {
            0 => most,
            _ => (self.left + passed * most).min(most),
        };
        self.at_ns = now_ns.max(1);
    }

    /// `most_debt_s`: so many seconds pay for everything.
    fn spend(&mut self, most: f64, amount: f64, most_debt_s: f64, now_ns: u64) {
        self.refill(most, now_ns);
        self.left = (self.left - amount).max(-most_debt_s * most);
    }

    /// Returns how long nothing more may be used.
    fn rest_ns(&mut self, most: f64, now_ns: u64) -> u64 {
        self.refill(most, now_ns);
        match self.left < 0.0 {
            // Not a moment too early, whatever is lost in rounding.
            true => (-self.left / most * SECOND_NS) as u64 + 1,
            false => 0,
        }
    }
}

#[derive(Debug)]
struct Account {
    identity: Identity,
    limits: Limits,
    connections: u64,
    segments: u64,
    quota_bytes: u64,
    releases: Bucket,
    rate: Bucket,
}

impl Account {
    fn bucket(&mut self, name: LimitName) -> Option<(&mut Bucket, f64)> {
        let most = self.limits.get(name)?.most as f64;
        match name {
            LimitName::Releases => Some((&mut self.releases, most)),
            LimitName::Rate => Some((&mut self.rate, most)),
            _ => None,
        }
    }

    fn is_used(&mut self, now_ns: u64) -> bool {
        let mut rests = |name| {
            let bucket = self.bucket(name);
            bucket.is_some_and(|(bucket, most)| {
                bucket.refill(most, now_ns);
                bucket.left < most
            })
        };
        rests(LimitName::Releases) || rests(LimitName::Rate) || self.connections + self.segments > 0
    }

    /// Refuses what is beyond a limit.
    fn check(&self, name: LimitName, total: u64, code: ErrorCode) -> Result<(), OverLimit> {
        match self.limits.get(name) {
            Some(limit) if total > limit.most => {
                let identity = &self.identity;
                Err(OverLimit::new(identity, limit, total, code))
            }
            _ => Ok(()),
        }
    }
}

/// Why a request is refused because of a limit.
#[derive(Debug)]
pub struct OverLimit {
    pub rejection: Box<Rejection>,
    pub refused: Refused,
}

impl OverLimit {
    fn new(identity: &Identity, limit: Limit, total: u64, code: ErrorCode) -> Self {
        let Limit { name, most, line } = limit;
        let with = match name {
            LimitName::Connections => "with this connection it would have",
            _ => "with this segment it would have",
        };
        let text = format!(
            "line {line} of the rules gives {identity} a limit of {most} {name}; {with} {total}; \
             use less, or ask whoever runs the server for more"
        );
        OverLimit {
            rejection: Box::new(Rejection::new(code, text)),
            refused: Refused {
                who: Some(identity.clone()),
                line: Some(line),
                ..Refused::because(format!("limit of {most} {name}"))
            },
        }
    }
}

#[derive(Debug)]
pub struct Accounts {
    numbers: HashMap<Identity, u32>,
    by_number: HashMap<u32, Account>,
    last_number: u32,
    clean_at: usize,
    /// How long nothing is read from a connection at most.
    most_rest_ns: u64,
}

impl Accounts {
    /// `most_rest_ns`: how long nothing is read from a connection at most.
    pub fn new(most_rest_ns: u64) -> Self {
        Accounts {
            numbers: HashMap::new(),
            by_number: HashMap::new(),
            last_number: 0,
            clean_at: FEW,
            most_rest_ns,
        }
    }

    /// A connection of the identity begins. Returns the number of its account. `replaced`: so many
    /// connections end for it.
    pub fn enter(
        &mut self,
        identity: &Identity,
        limits: impl FnOnce(&Identity) -> Limits,
        replaced: u64,
        now_ns: u64,
    ) -> Result<u32, OverLimit> {
        let number = self.of(identity, limits, now_ns);
        let account = self.by_number.get_mut(&number);
        let account = account.expect("the table of identities names accounts that are there");
        let total = account.connections + 1;
        let counted = total.saturating_sub(replaced);
        account.check(LimitName::Connections, counted, ErrorCode::TooLarge)?;
        account.connections = total;
        Ok(number)
    }

    /// Returns the number of the identity's account, which begins now if it is missing.
    pub fn of(
        &mut self,
        identity: &Identity,
        limits: impl FnOnce(&Identity) -> Limits,
        now_ns: u64,
    ) -> u32 {
        match self.numbers.get(identity) {
            Some(number) => *number,
            None => self.begin(identity, limits(identity), now_ns),
        }
    }

    /// None: there is no such account.
    pub fn identity(&self, number: u32) -> Option<&Identity> {
        let account = self.by_number.get(&number);
        account.map(|account| &account.identity)
    }

    /// Whether at most one identity has an account.
    pub fn is_one(&self) -> bool {
        self.by_number.len() <= 1
    }

    fn begin(&mut self, identity: &Identity, limits: Limits, now_ns: u64) -> u32 {
        if self.by_number.len() >= self.clean_at {
            self.by_number.retain(|_, account| account.is_used(now_ns));
            let by_number = &self.by_number;
            self.numbers
                .retain(|_, number| by_number.contains_key(number));
            self.clean_at = FEW.max(2 * self.by_number.len());
        }
        // 0 stands for none. A number that is taken belongs to an account of long ago.
        loop {
            self.last_number = self.last_number.wrapping_add(1);
            if self.last_number != 0 && !self.by_number.contains_key(&self.last_number) {
                break;
            }
        }
        let account = Account {
            identity: identity.clone(),
            limits,
            connections: 0,
            segments: 0,
            quota_bytes: 0,
            releases: Bucket::default(),
            rate: Bucket::default(),
        };
        self.numbers.insert(identity.clone(), self.last_number);
        self.by_number.insert(self.last_number, account);
        self.last_number
    }

    /// The rules are others.
    pub fn renew(&mut self, limits: impl Fn(&Identity) -> Limits) {
        for account in self.by_number.values_mut() {
            account.limits = limits(&account.identity);
        }
    }

    /// A connection of the account is gone.
    pub fn leave(&mut self, number: u32) {
        if let Some(account) = self.by_number.get_mut(&number) {
            account.connections -= 1;
        }
    }

    /// Whether the account may have one more segment of that quota.
    pub fn check_segment(&self, number: u32, quota_bytes: u64) -> Result<(), OverLimit> {
        let Some(account) = self.by_number.get(&number) else {
            return Ok(());
        };
        let segments = account.segments + 1;
        let bytes = account.quota_bytes.saturating_add(quota_bytes);
        account.check(LimitName::Segments, segments, ErrorCode::TooLarge)?;
        account.check(LimitName::Bytes, bytes, ErrorCode::Quota)
    }

    /// The account has made a segment.
    pub fn made(&mut self, number: u32, quota_bytes: u64) {
        if let Some(account) = self.by_number.get_mut(&number) {
            account.segments += 1;
            account.quota_bytes = account.quota_bytes.saturating_add(quota_bytes);
        }
    }

    /// A segment that the account has made is gone.
    pub fn unmade(&mut self, number: u32, quota_bytes: u64) {
        if let Some(account) = self.by_number.get_mut(&number) {
            account.segments = account.segments.saturating_sub(1);
            account.quota_bytes = account.quota_bytes.saturating_sub(quota_bytes);
        }
    }

    /// The account has used something of which there is so much in a second.
    pub fn spend(&mut self, number: u32, name: LimitName, amount: u64, now_ns: u64) {
        let most_debt_s = self.most_rest_ns as f64 / SECOND_NS;
        let account = self.by_number.get_mut(&number);
        if let Some((bucket, most)) = account.and_then(|account| account.bucket(name)) {
            bucket.spend(most, amount as f64, most_debt_s, now_ns);
        }
    }

    /// Returns how long no message of the account is taken.
    pub fn rest_ns(&mut self, number: u32, now_ns: u64) -> u64 {
        let Some(account) = self.by_number.get_mut(&number) else {
            return 0;
        };
        let mut rest = |name| {
            let bucket = account.bucket(name);
            bucket.map_or(0, |(bucket, most)| bucket.rest_ns(most, now_ns))
        };
        let ns = rest(LimitName::Releases).max(rest(LimitName::Rate));
        ns.min(self.most_rest_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_access::{Access, Rules};

    const SECOND: u64 = 1_000_000_000;

    fn limits(text: &str) -> impl Fn(&Identity) -> Limits {
        let rules = Rules::parse(format!("{text}\nend\n")).unwrap();
        let access = Access::new(Some(rules), None);
        move |identity| access.limits(identity)
    }

    fn alice() -> Identity {
        Identity::parse("alice").unwrap()
    }

    fn accounts_of(text: &str) -> (Accounts, u32) {
        let mut accounts = Accounts::new(5 * SECOND / 2);
        let number = accounts.enter(&alice(), limits(text), 0, SECOND).unwrap();
        (accounts, number)
    }

    #[test]
    fn lim_5_what_was_not_used_for_a_second_may_be_used_at_once_and_no_more() {
        let (mut accounts, number) = accounts_of("limit * releases 4");
        let mut now_ns = SECOND;
        let mut taken = 0;
        while now_ns < 11 * SECOND {
            match accounts.rest_ns(number, now_ns) {
                0 => {
                    accounts.spend(number, LimitName::Releases, 1, now_ns);
                    taken += 1;
                }
                rest => now_ns += rest,
            }
        }
        // What a second allows, ten times, and one that was begun.
        assert!((44..=45).contains(&taken), "{taken}");
    }

    #[test]
    fn lim_5_no_rest_is_longer_than_a_quarter_of_a_lease() {
        let (mut accounts, number) = accounts_of("limit * rate 10");
        accounts.spend(number, LimitName::Rate, 1 << 40, SECOND);
        assert_eq!(accounts.rest_ns(number, SECOND), 5 * SECOND / 2);
        assert_eq!(accounts.rest_ns(number, 7 * SECOND / 2 + 1), 0);
    }

    #[test]
    fn lim_5_whoever_connects_anew_has_what_was_left() {
        let (mut accounts, number) = accounts_of("limit * rate 1000");
        accounts.spend(number, LimitName::Rate, 2000, SECOND);
        accounts.leave(number);
        for other in 0..1000 {
            let identity = Identity::User(other);
            let number = accounts.enter(&identity, limits(""), 0, SECOND).unwrap();
            accounts.leave(number);
        }
        assert!(accounts.by_number.len() <= FEW + 1, "some were forgotten");
        let again = accounts.enter(&alice(), limits(""), 0, SECOND).unwrap();
        assert!(accounts.rest_ns(again, SECOND) > SECOND / 2);
        accounts.leave(again);
        // After a while it is as if it had used nothing, and it is forgotten.
        let later = 60 * SECOND;
        for other in 0..1000 {
            let identity = Identity::User(other);
            let number = accounts.enter(&identity, limits(""), 0, later).unwrap();
            accounts.leave(number);
        }
        assert!(!accounts.numbers.contains_key(&alice()));
    }

    #[test]
    fn an_account_gets_no_number_that_is_taken_and_not_0() {
        let (mut accounts, alice) = accounts_of("");
        assert_eq!(alice, 1);
        accounts.last_number = u32::MAX;
        let bob = Identity::parse("bob").unwrap();
        assert_eq!(accounts.enter(&bob, limits(""), 0, SECOND).unwrap(), 2);
    }

    #[test]
    fn lim_2_an_account_that_has_something_is_not_forgotten() {
        let (mut accounts, alice) = accounts_of("");
        accounts.made(alice, 10);
        for other in 0..1000 {
            let identity = Identity::User(other);
            let number = accounts.enter(&identity, limits(""), 0, SECOND).unwrap();
            accounts.leave(number);
        }
        assert!(
            accounts.identity(alice).is_some(),
            "a connection and a segment"
        );
    }

    #[test]
    fn lim_6_new_limits_hold_for_accounts_that_are_there() {
        let (mut accounts, number) = accounts_of("limit * segments 1");
        accounts.made(number, 10);
        assert!(accounts.check_segment(number, 10).is_err());
        accounts.renew(limits("limit * bytes 15"));
        let refused = accounts.check_segment(number, 10).unwrap_err();
        assert_eq!(refused.rejection.code, ErrorCode::Quota);
        assert!(accounts.check_segment(number, 5).is_ok());
        accounts.unmade(number, 10);
        assert!(accounts.check_segment(number, 10).is_ok());
    }
}
