use super::*;
use crate::TokenLine;

fn tokens(now: u64) -> (String, Tokens) {
    let (token, line) = TokenLine::new("alice", [7; 6], [9; 32], 0, 100);
    (token, Tokens::parse(format!("{line}\nend\n"), now).unwrap())
}

fn rules(text: &str) -> Option<Rules> {
    Some(Rules::parse(format!("{text}\nend\n")).unwrap())
}

fn robot() -> Peer {
    Peer {
        certificate: Some("robot".into()),
        user: Some(1),
        ..Peer::default()
    }
}

#[test]
fn an_open_server_lets_everybody_in_and_looks_at_no_token() {
    let open = Access::open();
    assert!(open.is_open());
    for (token, peer) in [("", Peer::default()), ("nonsense", robot())] {
        let login = open.login(token, &peer).unwrap();
        assert_eq!(
            login,
            Login {
                identity: peer.identity(),
                token: None
            }
        );
        assert!(open.still_lets_in(&login));
        assert!(
            open.decide(&login.identity, Operation::Write, "/a")
                .is_allowed
        );
    }
}

#[test]
fn a_token_goes_before_a_certificate() {
    // [ACC-1] [ACC-2]
    let (token, file) = tokens(0);
    let access = Access::new(None, Some(file));
    let login = access.login(&token, &robot()).unwrap();
    assert_eq!(login.identity.to_string(), "alice");
    assert_eq!(login.token, Some([7; 6]));
    assert_eq!(
        access.login("", &robot()).unwrap().identity,
        robot().identity()
    );
    let bad = token.replace("09", "08");
    for bad in [&bad, "iw_", "x", &token.to_uppercase()] {
        assert_eq!(access.login(bad, &robot()), Err(NotLetIn::NotValid));
    }
    let without_tokens = Access::new(rules("allow * all /**"), None);
    assert_eq!(
        without_tokens.login(&token, &robot()),
        Err(NotLetIn::NotValid)
    );
}

#[test]
fn without_rules_everybody_but_anyone_may_do_everything() {
    // [ACC-3]
    let (_, file) = tokens(0);
    let access = Access::new(None, Some(file));
    assert!(!access.is_open());
    assert_eq!(
        access.login("", &Peer::default()),
        Err(NotLetIn::ShowedNothing)
    );
    for operation in Operation::ALL {
        assert!(
            access
                .decide(&robot().identity(), operation, "/a")
                .is_allowed
        );
        assert!(!access.decide(&Identity::Anyone, operation, "/a").is_allowed);
    }
}

#[test]
fn anyone_is_let_in_if_a_rule_allows_anyone_something() {
    // [ACC-4]
    let good = [
        "allow * read /a",
        "allow anyone metrics",
        "group g a anyone\nallow @g read /a",
    ];
    for text in good {
        let access = Access::new(rules(text), None);
        let login = access.login("", &Peer::default()).unwrap();
        assert!(access.still_lets_in(&login), "{text}");
    }
    for text in [
        "",
        "deny * all /**",
        "deny anyone read /a\nallow bob read /a",
        "group g anyone",
    ] {
        let access = Access::new(rules(text), None);
        assert_eq!(
            access.login("", &Peer::default()),
            Err(NotLetIn::ShowedNothing),
            "{text}"
        );
        let anyone = Login {
            identity: Identity::Anyone,
            token: None,
        };
        assert!(!access.still_lets_in(&anyone), "{text}");
    }
}

#[test]
fn a_login_ends_with_its_token() {
    // [ACC-6]
    let (token, file) = tokens(99);
    let with = |tokens| Access::new(None, Some(tokens));
    let access = with(file.clone());
    let login = access.login(&token, &Peer::default()).unwrap();
    assert!(access.still_lets_in(&login));
    assert!(!with(file.without_expired(100)).still_lets_in(&login));
    let (_, other) = TokenLine::new("alice", [8; 6], [9; 32], 0, 0);
    let (_, renamed) = TokenLine::new("bob", [7; 6], [9; 32], 0, 0);
    for line in [other, renamed] {
        let file = Tokens::parse(format!("{line}\nend"), 0).unwrap();
        assert!(!with(file).still_lets_in(&login));
    }
    assert!(!Access::new(rules("allow * all /**"), None).still_lets_in(&login));
    let certificate = access.login("", &robot()).unwrap();
    assert!(with(file.without_expired(100)).still_lets_in(&certificate));
}
