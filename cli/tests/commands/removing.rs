//! `interweave rm` with patterns.

use crate::clients::{connect, open};
use crate::program::{call, refused};
use crate::server::Server;
use interweave_wire::protocol::Durability;

fn server() -> (Server, String) {
    let server = Server::in_memory(&[]);
    let mut client = connect(&server);
    for path in [
        "/fleet/a",
        "/fleet/b",
        "/fleet/b/deep",
        "/fleetwood",
        "/x*y",
        "/xay",
    ] {
        open(&mut client, path, Durability::Memory);
    }
    let address = format!("127.0.0.1:{}", server.port);
    (server, address)
}

fn paths(address: &str) -> Vec<String> {
    let listed = call(&["ls", address, "--json"]).out;
    let words = listed.split('"').filter(|word| word.starts_with('/'));
    words.map(str::to_string).collect()
}

#[test]
fn a_pattern_is_shown_first_and_removed_when_that_is_said() {
    let (_server, address) = server();
    let pattern = format!("{address}/fleet/*");
    let before = paths(&address);
    assert_eq!(before.len(), 6);
    let dry = call(&["rm", "--dry-run", &pattern]);
    assert_eq!(dry.out, "/fleet/a\n/fleet/b\n");
    assert_eq!(dry.err, "2 segments would be removed\n");
    let unsaid = refused(&["rm", &pattern]);
    assert!(
        unsaid.contains("2 segments") && unsaid.contains("--yes"),
        "{unsaid}"
    );
    assert_eq!(paths(&address), before);
    let done = call(&["rm", "--yes", "--json", &pattern]);
    assert_eq!(done.out, "{\"removed\": [\"/fleet/a\", \"/fleet/b\"]}\n");
    assert_eq!(
        paths(&address),
        ["/fleet/b/deep", "/fleetwood", "/x*y", "/xay"]
    );
    assert!(call(&["rm", "--yes", &format!("{address}/fleet/**")]).success);
    assert_eq!(paths(&address), ["/fleetwood", "/x*y", "/xay"]);
}

#[test]
fn a_pattern_without_a_match_and_an_exact_star() {
    let (_server, address) = server();
    let none = refused(&["rm", "--yes", &format!("{address}/none*")]);
    assert!(
        none.contains("no segment") && none.contains("interweave ls"),
        "{none}"
    );
    assert!(call(&["rm", "--yes", "--if-exists", &format!("{address}/none*")]).success);
    assert!(call(&["rm", "--exact", &format!("{address}/x*y")]).success);
    assert!(paths(&address).contains(&"/xay".to_string()));
    assert!(!paths(&address).contains(&"/x*y".to_string()));
}

#[test]
fn a_dry_run_of_one_segment_removes_nothing() {
    let (_server, address) = server();
    let dry = call(&["rm", "--dry-run", &format!("{address}/xay")]);
    assert_eq!(dry.out, "/xay\n");
    assert_eq!(paths(&address).len(), 6);
    let missing = refused(&["rm", "--dry-run", &format!("{address}/none")]);
    assert!(missing.contains("does not exist"), "{missing}");
    let json = call(&[
        "rm",
        "--dry-run",
        "--if-exists",
        "--json",
        &format!("{address}/none"),
    ]);
    assert_eq!(json.out, "{\"would_remove\": []}\n");
}

/// At a terminal, which `script` gives.
#[test]
fn a_terminal_is_asked() {
    let (_server, address) = server();
    let program = env!("CARGO_BIN_EXE_interweave");
    let asked = |answer: &str| {
        let line = format!(
            "printf '{answer}\\n' | script -qec \"{program} rm '{address}/fleet/*'\" /dev/null"
        );
        let output = std::process::Command::new("sh")
            .args(["-c", &line])
            .output();
        String::from_utf8_lossy(&output.expect("sh runs").stdout).into_owned()
    };
    let no = asked("n");
    assert!(
        no.contains("remove 2 segments") && no.contains("nothing was removed"),
        "{no}"
    );
    assert_eq!(paths(&address).len(), 6);
    assert!(asked("y").contains("2 segments removed"));
    assert_eq!(paths(&address).len(), 4);
}
