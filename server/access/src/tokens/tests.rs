use super::*;

/// A token and a file that has it.
fn one(name: &str, expires: u64) -> (String, String) {
    let (token, line) = TokenLine::new(name, [0xab; 6], [0x5c; 32], 1000, expires);
    (token, format!("# ours\n\n{line}\nend\n"))
}

fn error(file: impl AsRef<[u8]>) -> (u32, u32, String) {
    let error = Tokens::parse(file, 0).unwrap_err();
    (error.line, error.column, error.text)
}

#[test]
fn a_token_is_found_by_its_whole_text() {
    // [ACC-2]
    let (token, file) = one("alice", 0);
    assert_eq!(token.len(), TOKEN_BYTES);
    let tokens = Tokens::parse(&file, 5000).unwrap();
    assert_eq!(&*tokens.find(&token).unwrap().name, "alice");
    for at in 0..token.len() {
        let mut other = token.clone().into_bytes();
        other[at] = if other[at] == b'0' { b'1' } else { b'0' };
        assert!(
            tokens.find(std::str::from_utf8(&other).unwrap()).is_none(),
            "byte {at}"
        );
    }
    let upper = token.to_uppercase().replace("IW_", "iw_");
    let others = [
        "",
        "iw_",
        "iw__",
        &token[1..],
        &token[..79],
        &upper,
        &format!("{token}0"),
    ];
    for other in others {
        assert!(tokens.find(other).is_none(), "{other}");
    }
}

#[test]
fn a_token_is_not_valid_from_the_second_at_which_it_expires() {
    // [ACC-2]
    let (token, file) = one("alice", 5000);
    let tokens = Tokens::parse(&file, 4999).unwrap();
    assert!(tokens.find(&token).is_some() && tokens.has(&[0xab; 6], "alice"));
    assert_eq!(tokens.next_expiry(), Some(5000));
    let later = tokens.without_expired(5000);
    assert!(later.find(&token).is_none() && !later.has(&[0xab; 6], "alice"));
    assert_eq!(later.next_expiry(), None);
    assert!(Tokens::parse(&file, 5000).unwrap().find(&token).is_none());
}

#[test]
fn expiries_come_in_order() {
    let mut file = String::new();
    for (id, expires) in [(1, 300), (2, 0), (3, 100), (4, 300)] {
        let (_, line) = TokenLine::new("a", [id; 6], [id; 32], 0, expires);
        file += &format!("{line}\n");
    }
    let tokens = Tokens::parse(file + "end", 0).unwrap();
    assert_eq!(tokens.next_expiry(), Some(100));
    assert_eq!(tokens.without_expired(100).next_expiry(), Some(300));
    assert_eq!(tokens.without_expired(300).next_expiry(), None);
}

#[test]
fn a_file_that_does_not_end_with_end_is_not_taken() {
    // [RULE-3]
    let (_, file) = one("alice", 0);
    for cut in 0..file.len() - 1 {
        assert!(Tokens::parse(&file[..cut], 0).is_err(), "{cut} bytes");
    }
    assert!(Tokens::parse(&file[..file.len() - 1], 0).is_ok());
    assert_eq!(error("").0, 1);
    assert_eq!((error("# a\n").0, error("# a\n").1), (1, 4));
    assert_eq!(error("end\n\n").0, 2);
    assert_eq!(error("end\r\n").0, 1);
}

#[test]
fn an_error_names_line_and_column() {
    // [RULE-3]
    let (_, file) = one("alice", 7);
    let line = file.lines().nth(2).unwrap();
    let wrong = |from: &str, to: &str| error(file.replacen(from, to, 1));
    assert_eq!(wrong(" alice", " anyone").1, 79);
    assert_eq!(wrong("abab", "ABab").1, 1);
    assert_eq!(wrong(" 1000", " 01000").1, 85);
    assert_eq!(wrong(" 7\n", " 9007199254740992\n").1, 90);
    assert_eq!(wrong(" 7\n", "\n").1, 89);
    assert_eq!(wrong(" 7\n", " \n").1, 90);
    assert_eq!(wrong(" 7\n", " 7 8\n").1, 92);
    assert_eq!(wrong(" alice", "  alice").1, 79);
    assert_eq!(wrong("\nend", &format!("\n{line}\nend")).0, 4);
    let (line, column, text) = error(b"\xc3\xa4\xff\nend\n");
    assert_eq!((line, column, &text[..9]), (1, 2, "this byte"));
}

#[test]
fn a_file_has_at_most_so_many_bytes_and_tokens() {
    let fill = |bytes: usize| "#".repeat(bytes - 4) + "\nend";
    assert!(Tokens::parse(fill(MAX_TOKENS_FILE_BYTES), 0).is_ok());
    assert!(error(fill(MAX_TOKENS_FILE_BYTES + 1)).2.contains("16 MiB"));
    let mut file = String::new();
    for number in 0..MAX_TOKENS as u64 {
        let hash = "0".repeat(64);
        file += &format!("{number:012x} {hash} a 0 0\n");
    }
    assert_eq!(
        Tokens::parse(file.clone() + "end", 0)
            .unwrap()
            .lines()
            .len(),
        MAX_TOKENS
    );
    file += &format!("{:012x} {} a 0 0\nend", MAX_TOKENS, "0".repeat(64));
    assert_eq!(error(file).0, 100_001);
}

#[test]
fn what_is_printed_has_no_token() {
    // [ACC-7]
    let (token, file) = one("alice", 0);
    let tokens = Tokens::parse(&file, 0).unwrap();
    let moved = error(file.replacen("abab", &format!("{token} abab"), 1)).2;
    let in_rules = crate::Rules::parse(format!("allow {token} read /**\nend")).unwrap_err();
    for printed in [format!("{tokens:?}"), file, moved, in_rules.to_string()] {
        assert!(!printed.contains(&token[16..40]), "{printed}");
    }
}
