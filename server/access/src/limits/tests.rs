use super::*;
use crate::{Access, Identity, Rules};

fn access(text: &str) -> Access {
    Access::new(Some(Rules::parse(format!("{text}\nend\n")).unwrap()), None)
}

fn limit(access: &Access, who: &str, name: LimitName) -> Option<(u64, u32)> {
    let identity = Identity::parse(who).unwrap();
    let limit = access.limits(&identity).get(name);
    limit.map(|limit| (limit.most, limit.line))
}

#[test]
fn the_first_line_for_an_identity_and_a_name_counts() {
    let access = access(
        "group lab alice bob
         limit alice connections 5
         limit @lab connections 3
         limit * rate 2M
         limit * connections 1
         limit @lab rate 9K",
    );
    let connections = |who| limit(&access, who, LimitName::Connections);
    assert_eq!(connections("alice"), Some((5, 2)));
    assert_eq!(connections("bob"), Some((3, 3)));
    assert_eq!(connections("uid:7"), Some((1, 5)));
    assert_eq!(connections("anyone"), Some((1, 5)));
    for who in ["alice", "bob", "cert:robot"] {
        assert_eq!(limit(&access, who, LimitName::Rate), Some((2 << 20, 4)));
        assert_eq!(limit(&access, who, LimitName::Segments), None);
    }
}

#[test]
fn a_limit_allows_nothing() {
    let access = access("limit anyone connections 5\nlimit * segments 5");
    assert!(access.login("", &crate::Peer::default()).is_err());
    let alice = Identity::parse("alice").unwrap();
    let decision = access.decide(&alice, crate::Operation::Read, "/a");
    assert!(!decision.is_allowed);
}

#[test]
fn whoever_has_no_rules_file_has_no_limits() {
    let limits = Access::open().limits(&Identity::Anyone);
    assert_eq!(limits, Limits::default());
    assert!(!Access::open().slows_down());
    assert!(!access("limit * segments 1").slows_down());
    assert!(access("limit bob releases 1").slows_down());
}

#[test]
fn lim_a_line_that_is_not_a_limit_is_refused_with_its_place() {
    let column = |line: &str| {
        let text = Rules::parse(format!("{line}\nend\n"))
            .unwrap_err()
            .to_string();
        assert!(text.contains('1'), "{text}");
        text
    };
    for (line, at) in [
        ("limit bob", 10),
        ("limit bob connections", 22),
        ("limit bob size 5", 11),
        ("limit bob connections -1", 23),
        ("limit bob connections 5K", 23),
        ("limit bob releases 0", 20),
        ("limit bob rate 0", 16),
        ("limit bob rate 9007199254740992", 16),
        ("limit bob bytes 99999999999999999999G", 17),
        ("limit bob bytes 1G more", 20),
        ("limit @none bytes 1G", 7),
        ("limit ! bytes 1G", 7),
    ] {
        let text = column(line);
        assert!(text.contains(&at.to_string()), "{line}: {text}");
    }
    for line in [
        "limit bob bytes 9007199254740991",
        "limit bob connections 0",
    ] {
        assert!(Rules::parse(format!("{line}\nend\n")).is_ok(), "{line}");
    }
}
