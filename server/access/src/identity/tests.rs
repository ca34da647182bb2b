use super::*;

#[test]
fn identities_are_read_as_they_are_written() {
    for word in [
        "anyone",
        "alice",
        "4.x_-",
        "cert:robot-1",
        "cert:a b",
        "uid:0",
        "uid:1000",
    ] {
        assert_eq!(Identity::parse(word).unwrap().to_string(), word);
    }
    let long = "a".repeat(64);
    assert!(Identity::parse(&long).is_some());
}

#[test]
fn other_words_are_not_identities() {
    let long = "a".repeat(65);
    let not = [
        "", "*", "@a", "-a", ".a", "_a", "a:b", "a/b", "\u{e4}", "end", "group", "allow",
    ];
    let users = [
        "uid:",
        "uid:01",
        "uid:-1",
        "uid:+1",
        "uid:4294967296",
        "uid:x",
        "cert:",
    ];
    for word in not.into_iter().chain(users).chain(["deny", &long]) {
        assert_eq!(Identity::parse(word), None, "{word}");
    }
}

#[test]
fn a_certificate_goes_before_a_user() {
    // [ACC-1]
    let both = Peer {
        certificate: Some("robot".into()),
        user: Some(7),
        ..Peer::default()
    };
    assert_eq!(both.identity().to_string(), "cert:robot");
    let user = Peer {
        user: Some(7),
        ..Peer::default()
    };
    assert_eq!(user.identity().to_string(), "uid:7");
    assert_eq!(Peer::default().identity(), Identity::Anyone);
}
