use super::*;

fn identity(word: &str) -> Identity {
    Identity::parse(word).unwrap()
}

/// The line that decides: as it is for allow, negative for deny, 0 if none does.
fn line(file: &str, who: &str, operation: &str, path: &str) -> i64 {
    let rules = Rules::parse(format!("{file}\nend\n")).unwrap();
    let operation = Operation::parse(operation).unwrap();
    let decision = rules.decide(&identity(who), operation, path);
    match decision.line {
        None => {
            assert!(!decision.is_allowed);
            0
        }
        Some(line) if decision.is_allowed => i64::from(line),
        Some(line) => -i64::from(line),
    }
}

fn error(file: impl AsRef<[u8]>) -> (u32, u32, String) {
    let error = Rules::parse(file).unwrap_err();
    (error.line, error.column, error.text)
}

#[test]
fn the_first_rule_that_matches_decides() {
    // [RULE-1]
    let file = "# a comment\n\
                group crew bob  carol # two\n\
                deny\tbob read /lab/secret\n\
                allow @crew read,write /lab/**\n\
                allow * read /lab/*/public\n\
                deny * read /lab/x/**\n\
                allow * read /**";
    assert_eq!(line(file, "bob", "read", "/lab/secret"), -3);
    assert_eq!(line(file, "carol", "read", "/lab/secret"), 4);
    assert_eq!(line(file, "bob", "write", "/lab/secret"), 4);
    assert_eq!(line(file, "bob", "create", "/lab"), 0);
    assert_eq!(line(file, "dave", "read", "/lab/x/public"), 5);
    assert_eq!(line(file, "dave", "read", "/lab/x"), -6);
    assert_eq!(line(file, "dave", "read", "/lab/x/y/z"), -6);
    assert_eq!(line(file, "anyone", "read", "/lab"), 7);
    assert_eq!(line(file, "dave", "write", "/lab"), 0);
    assert_eq!(line("", "dave", "read", "/lab"), 0);
}

#[test]
fn an_operation_that_matches_later_is_not_hidden_by_another_one() {
    let file = "allow a write /x/**\ndeny a read /x/y\nallow a read /x/**";
    assert_eq!(line(file, "a", "read", "/x/y"), -2);
    assert_eq!(line(file, "a", "write", "/x/y"), 1);
    assert_eq!(line(file, "a", "read", "/x/z"), 3);
}

#[test]
fn paths_have_wildcards() {
    let matches = |pattern: &str, path: &str| {
        line(&format!("allow a read {pattern}"), "a", "read", path) == 1
    };
    let good = [
        ("/lab/**", "/lab"),
        ("/lab/**", "/lab/a"),
        ("/lab/**", "/lab/"),
        ("/lab/**", "/lab/a/b"),
        ("/**", "/"),
        ("/**", "/a/b"),
        ("/*", "/"),
        ("/*", "/a"),
        ("/a*/b", "/abc/b"),
        ("/**/b", "/b"),
        ("/**/b", "/a/b/b"),
        ("/a/**/b", "/a/b"),
        ("/a/**/b", "/a/x/y/b"),
        ("/**/a/**/b", "/x/a/a/y/b"),
        ("/**/**/a", "/a"),
        ("/a/**/*", "/a/b"),
        ("/a//b", "/a//b"),
        ("/a/*/b", "/a//b"),
        ("/x**y", "/xaay"),
        ("/\u{e4}/*", "/\u{e4}/b"),
        ("/a?[b]", "/a?[b]"),
        ("/**/x", "/**/x"),
        ("/a*", "/a*"),
        ("/***", "/ab"),
        ("/", "/"),
    ];
    for (pattern, path) in good {
        assert!(matches(pattern, path), "{pattern} {path}");
    }
    let bad = [
        ("/lab/**", "/labor"),
        ("/lab/**", "/"),
        ("/lab", "/lab/"),
        ("/*", "/a/b"),
        ("/", "/a"),
        ("/a*/b", "/a/c/b"),
        ("/**/b", "/b/a"),
        ("/a/**/b", "/a/bb"),
        ("/a/**/*", "/a"),
        ("/**/a/**/b", "/b/a"),
        ("/x**y", "/x/y"),
        ("/A", "/a"),
        ("/***", "/a/b"),
        ("/a?", "/ab"),
    ];
    for (pattern, path) in bad {
        assert!(!matches(pattern, path), "{pattern} {path}");
    }
}

#[test]
fn who_may_write_may_steer_and_who_may_not_steer_may_not_write() {
    // [RULE-2]
    assert_eq!(line("allow a write /x", "a", "steer", "/x"), 1);
    assert_eq!(line("allow a steer /x", "a", "write", "/x"), 0);
    assert_eq!(
        line("deny a steer /x\nallow a write /x", "a", "write", "/x"),
        -1
    );
    assert_eq!(
        line("deny a write /x\nallow a all /x", "a", "steer", "/x"),
        2
    );
    assert_eq!(
        line("deny a write /x\nallow a all /x", "a", "write", "/x"),
        -1
    );
}

#[test]
fn metrics_and_admin_have_no_path() {
    assert_eq!(line("allow a metrics", "a", "metrics", ""), 1);
    assert_eq!(line("allow a metrics", "a", "admin", ""), 0);
    assert_eq!(
        line("allow a all /x/**\nallow a all /**", "a", "admin", ""),
        2
    );
    assert_eq!(
        line("deny * admin,metrics\nallow a all /**", "a", "metrics", ""),
        -1
    );
    assert_eq!(
        line("deny a all /**\nallow * metrics", "a", "metrics", ""),
        -1
    );
    assert_eq!(line("allow a metrics", "a", "read", "/x"), 0);
}

#[test]
fn groups_have_groups_above_them() {
    let file = "group a x cert:y\ngroup b @a uid:7 x\nallow @b read /b\nallow @a read /**";
    for who in ["x", "cert:y"] {
        assert_eq!(line(file, who, "read", "/b"), 3);
        assert_eq!(line(file, who, "read", "/a"), 4);
    }
    assert_eq!(line(file, "uid:7", "read", "/b"), 3);
    assert_eq!(line(file, "uid:7", "read", "/a"), 0);
    assert_eq!(error("group a @b\ngroup b x\nend").1, 9);
    assert_eq!(error("group a x\ngroup a y\nend").0, 2);
    assert_eq!(error("group a @a\nend").1, 9);
}

#[test]
fn an_identity_is_in_at_most_32_groups_that_rules_are_for() {
    let mut file = "group g0 x\n".to_string();
    for number in 1..=40 {
        file += &format!("group g{number} @g{}\n", number - 1);
    }
    for number in 0..32 {
        file += &format!("allow @g{number} read /{number}\n");
    }
    assert_eq!(line(&file, "x", "read", "/31"), 73);
    file += "allow @g32 read /32\nend\n";
    let (at, _, text) = error(&file);
    assert_eq!(at, 33);
    assert!(text.starts_with("`x` is in more than 32 groups"), "{text}");
}

#[test]
fn an_error_names_line_column_and_what_to_write() {
    // [RULE-3]
    let cases = [
        ("", 1, 1, "without a last line `end`"),
        ("allow a read /x", 1, 16, "without a last line `end`"),
        ("allow a read /x\nen", 2, 1, "`en` is not group"),
        ("end\n# good\n\nallow a read /x\n", 4, 1, "behind `end`"),
        ("end end\n", 1, 5, "alone"),
        ("permit a read /x\nend", 1, 1, "`permit` is not"),
        ("allow a\nend", 1, 8, "allow WHO OPERATIONS"),
        ("allow a read\nend", 1, 13, "needs a path"),
        ("allow a all\nend", 1, 12, "needs a path"),
        ("allow a read x\nend", 1, 14, "begin with `/`"),
        ("allow a read /x#y\nend", 1, 16, "no `#`"),
        ("allow a read /x y\nend", 1, 17, "no spaces"),
        (
            "allow a read,reed /x\nend",
            1,
            14,
            "`reed` is not an operation",
        ),
        ("allow a read, /x\nend", 1, 14, "`` is not an operation"),
        ("allow a read,read /x\nend", 1, 14, "twice"),
        ("allow a read,all /x\nend", 1, 14, "alone"),
        ("allow a read,admin /x\nend", 1, 14, "rule of their own"),
        ("allow a admin /x\nend", 1, 15, "has no path"),
        ("allow a: read /x\nend", 1, 7, "not an identity"),
        ("allow @a read /x\nend", 1, 7, "no group `a` above"),
        ("group\nend", 1, 6, "has a name"),
        ("group a\nend", 1, 8, "has members"),
        ("group a *\nend", 1, 9, "not a member"),
        ("group end a\nend", 1, 7, "not a name"),
        ("allow cert:\u{e4} reed /x\nend", 1, 14, "`reed`"),
        ("end\r\n", 1, 4, "carriage return"),
        ("\u{feff}end\n", 1, 1, "is not group"),
        ("# \u{1b}[2J\nend", 1, 3, "control character"),
    ];
    for (file, at_line, at_column, what) in cases {
        let (line, column, text) = error(file);
        assert_eq!((line, column), (at_line, at_column), "{file:?}: {text}");
        assert!(text.contains(what), "{file:?}: {text}");
    }
    assert_eq!(error(b"end\n# \xc3\xa4\xc3\n").1, 4);
}

#[test]
fn a_half_written_file_is_not_taken() {
    // [RULE-3]
    let file = "group g a b\nallow @g read /x/**\ndeny * all /**\nend\n";
    for cut in 0..file.len() - 1 {
        assert!(Rules::parse(&file[..cut]).is_err(), "{cut} bytes");
    }
    assert!(Rules::parse(&file[..file.len() - 1]).is_ok());
}

#[test]
fn a_file_has_at_most_so_many_bytes_and_lines() {
    let lines = |count: usize| "\n".repeat(count - 1) + "end";
    assert!(Rules::parse(lines(20_000)).is_ok());
    assert_eq!(error(lines(20_001)).0, 20_001);
    let wide = |bytes: usize| "#".repeat(bytes) + "\nend";
    assert!(Rules::parse(wide(4096)).is_ok());
    assert_eq!(error(wide(4097)).1, 4097);
    let long = |bytes: usize| format!("allow a read /{}\nend", "x".repeat(bytes - 1));
    assert!(Rules::parse(long(1024)).is_ok());
    assert_eq!(error(long(1025)).1, 14);
    let big = format!("{}end\n", "#23456\n".repeat(150_000));
    assert!(error(big).2.contains("1 MiB"));
}

#[test]
fn a_path_that_nearly_matches_in_many_ways_is_decided_at_once() {
    // Exponential time would not end here.
    let mut file = String::new();
    for number in 0..32_u64 {
        let component = |bit: u64| {
            if number >> bit & 1 == 1 {
                "/**/a"
            } else {
                "/**/*"
            }
        };
        let path: String = (0..128).map(|bit| component(bit % 5)).collect();
        file += &format!("allow x read {path}/n{number}\n");
    }
    let path = "/a".repeat(512);
    assert_eq!(line(&file, "x", "read", &path), 0);
    let stars = format!("allow x read /{}b", "*a".repeat(500));
    assert_eq!(
        line(&stars, "x", "read", &format!("/{}", "a".repeat(1023))),
        0
    );
}
