//! `interweave completions` and `interweave man`.

use crate::server::Directory;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interweave"));
    command.args(arguments).output().expect("the program runs")
}

#[test]
fn bash_takes_the_completions_and_completes_a_command() {
    let script = run(&["completions", "bash"]);
    assert!(script.status.success());
    let script = String::from_utf8(script.stdout).expect("text");
    let ask =
        "COMP_WORDS=(interweave serv); COMP_CWORD=1; _interweave interweave serv interweave; \
               echo \"${COMPREPLY[*]}\"";
    let mut bash = Command::new("bash");
    let said = bash.args(["-c", &format!("{script}\n{ask}")]).output();
    let said = said.expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&said.stdout), "serve\n");
}

#[test]
fn each_command_has_a_manual_page() {
    let directory = Directory::new();
    let pages = directory.path().join("man1");
    let pages = pages.display().to_string();
    let done = run(&["man", &pages]);
    assert!(done.status.success());
    for (page, word) in [
        ("interweave.1", "Shared typed data"),
        ("interweave-serve.1", "max-segments"),
        ("interweave-rules-check.1", "OPERATION"),
        ("interweave-doctor.1", "sync-time"),
        ("interweave-top.1", "WATCHING"),
        ("interweave-export.1", "checksum"),
    ] {
        let text = std::fs::read_to_string(format!("{pages}/{page}")).expect(page);
        assert!(text.replace('\\', "").contains(word), "{page}: {text}");
    }
    let refused = run(&["man", "/proc/nothing"]);
    assert_eq!(refused.status.code(), Some(1));
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(text.contains("/proc/nothing"), "{text}");
}
