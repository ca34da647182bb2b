//! `interweave status`: the servers of a space and their store, and whether all is well.

use clap::Args;
use interweave_wire::protocol::{MemberInfo, MemberList, MemberState, StoreState};
use interweave_wire::Json;
use std::process::ExitCode;

use crate::failure::Failure;
use crate::list::whole_servers;
use crate::output::{counted, object, print_json, print_text, text, Table};
use crate::remote::{address_text, Remote};

/// The server could not be asked.
const NO_ANSWER: u8 = 2;

const EXAMPLES: &str = "\
Examples:
  interweave status                        the server of IW_SERVER, else the one on this machine
  interweave status iws://a.example        the space of that server, as that server sees it
  interweave status --json | jq .troubles
  interweave status --quiet || page-me     in a script

The exit status is 0 if all is well, 1 if something is wrong, which standard error names, and 2 if
the server does not answer. Numbers of segments and the state of the store need a rule that allows
`metrics`.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct StatusArgs {
    /// [iw://]HOST[:PORT][,HOST...], or unix:FILE [default: IW_SERVER, else 127.0.0.1]
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    /// One JSON object
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Only what is wrong
    #[arg(long)]
    quiet: bool,
}

pub fn run(args: &StatusArgs) -> ExitCode {
    let (server, list) = match ask(args) {
        Ok(asked) => asked,
        Err(failure) => {
            eprint!("{failure}");
            return ExitCode::from(NO_ANSWER);
        }
    };
    let troubles = troubles(&list);
    if args.json {
        print_json(&as_json(&server, &list, &troubles));
    } else {
        if !args.quiet {
            print_all(&server, &list);
        }
        for trouble in &troubles {
            eprint!("{}", Failure::new(trouble.clone()));
        }
    }
    ExitCode::from(u8::from(!troubles.is_empty()))
}

/// The server's address, and its answer.
fn ask(args: &StatusArgs) -> Result<(String, MemberList), Failure> {
    let mut remote = Remote::connect(&whole_servers(args.server.as_deref(), "a status")?)?;
    let list = remote.members()?;
    Ok((address_text(remote.server()), list))
}

fn state_text(state: MemberState) -> &'static str {
    match state {
        MemberState::Standing => "standing",
        MemberState::Silent => "silent",
        MemberState::Over => "over",
        MemberState::Ended => "ended",
        MemberState::Drained => "drained",
    }
}

/// The server's address. One that shares its store with nobody is known by where it was asked.
fn address_of<'a>(member: &'a MemberInfo, asked: &'a str) -> &'a str {
    match member.address.is_empty() {
        true => asked,
        false => &member.address,
    }
}

fn print_all(server: &str, list: &MemberList) {
    let mut table = Table::new(&[
        "SERVER", "NUMBER", "STATE", "LEASE", "SEGMENTS", "RULES", "",
    ]);
    for member in present(&list.members) {
        let told = |number: u64| match list.tells_all {
            true => number.to_string(),
            false => "-".to_string(),
        };
        let version = match member.rules_version {
            0 => "-".to_string(),
            version => told(version),
        };
        table.row(vec![
            address_of(member, server).to_string(),
            member.number.to_string(),
            state_text(member.state).to_string(),
            match member.lease_ms {
                0 => "-".to_string(),
                lease_ms => format!("{} s", f64::from(lease_ms) / 1000.0),
            },
            told(member.segments),
            version,
            if member.is_asked { "asked" } else { "" }.to_string(),
        ]);
    }
    table.print();
    if !list.shares_store {
        print_text("the server shares its store with nobody\n");
    }
    if !list.tells_all {
        print_text("a rule that allows `metrics` shows numbers of segments and the store\n");
        return;
    }
    print_text(&format!("store: {}\n", store_text(&list.store)));
    if list.unowned > 0 {
        let segments = counted(list.unowned, "segment");
        print_text(&format!(
            "{segments} without a server: the first that is asked for one of them claims it\n"
        ));
    }
}

fn store_text(store: &StoreState) -> String {
    if store.primary.is_empty() {
        return store.kind.clone();
    }
    let standbys = match store.wants_standby {
        true => counted(store.standbys.into(), "synchronous standby"),
        false => "no standby wanted".to_string(),
    };
    let StoreState {
        kind,
        primary,
        timeline,
        ..
    } = store;
    format!("{kind}, primary {primary}, timeline {timeline}, {standbys}")
}

/// Whether that is an earlier start of a server that is here again, and owns nothing. Its row stays
/// until somebody has use for it.
fn is_past(member: &MemberInfo, all: &[MemberInfo]) -> bool {
    let is_successor = |other: &MemberInfo| {
        let is_here = !matches!(other.state, MemberState::Over | MemberState::Ended);
        is_here && other.number > member.number && other.address == member.address
    };
    member.state == MemberState::Over && member.segments == 0 && all.iter().any(is_successor)
}

fn present(all: &[MemberInfo]) -> impl Iterator<Item = &MemberInfo> {
    all.iter().filter(|member| !is_past(member, all))
}

/// A line for everything that is not as it should be.
fn troubles(list: &MemberList) -> Vec<String> {
    let mut all = Vec::new();
    for member in present(&list.members) {
        let MemberInfo {
            address,
            number,
            segments,
            ..
        } = member;
        let name = format!("server {address} (number {number})");
        match member.state {
            MemberState::Silent => all.push(format!(
                "{name} has not renewed its lease: look at its log, and at its way to the database"
            )),
            MemberState::Over => all.push(format!(
                "{name} is over, with {}: start it again; others take its segments over meanwhile",
                counted(*segments, "segment")
            )),
            MemberState::Standing | MemberState::Drained
                if member.rules_version != list.rules_version =>
            {
                all.push(format!(
                    "{name} has version {} of the rules, and the store has {}: look at its log",
                    member.rules_version, list.rules_version
                ));
            }
            MemberState::Standing | MemberState::Drained | MemberState::Ended => {}
        }
    }
    let is_in = |state| present(&list.members).any(|member| member.state == state);
    if is_in(MemberState::Drained) && !is_in(MemberState::Standing) {
        all.push("no server makes or claims segments: start a drained one again".to_string());
    }
    let store = &list.store;
    if !store.trouble.is_empty() {
        all.push(format!("the store: {}", store.trouble));
    }
    all
}

fn as_json(server: &str, list: &MemberList, troubles: &[String]) -> Json {
    let member = |member: &MemberInfo| {
        let known = |number: u64| match list.tells_all {
            true => Json::from(number),
            false => Json::Null,
        };
        object(vec![
            ("address", text(address_of(member, server))),
            ("tls_name", text(&member.tls_name)),
            ("number", Json::from(member.number)),
            ("state", text(state_text(member.state))),
            ("lease_ms", Json::from(u64::from(member.lease_ms))),
            ("asked", Json::Bool(member.is_asked)),
            ("segments", known(member.segments)),
            ("rules_version", known(member.rules_version)),
        ])
    };
    let store = match list.tells_all {
        true => object(vec![
            ("kind", text(&list.store.kind)),
            ("primary", text(&list.store.primary)),
            ("timeline", Json::from(list.store.timeline)),
            ("standbys", Json::from(u64::from(list.store.standbys))),
            ("wants_standby", Json::Bool(list.store.wants_standby)),
            ("trouble", text(&list.store.trouble)),
        ]),
        false => Json::Null,
    };
    object(vec![
        ("server", text(server)),
        ("shares_store", Json::Bool(list.shares_store)),
        ("well", Json::Bool(troubles.is_empty())),
        (
            "troubles",
            Json::Array(troubles.iter().map(|one| text(one)).collect()),
        ),
        (
            "members",
            Json::Array(list.members.iter().map(member).collect()),
        ),
        ("unowned", Json::from(list.unowned)),
        ("rules_version", Json::from(list.rules_version)),
        ("store", store),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_wire::protocol::StoreState;

    fn member(number: u64, address: &str, state: MemberState, segments: u64) -> MemberInfo {
        MemberInfo {
            number,
            address: address.to_string(),
            tls_name: String::new(),
            lease_ms: 10_000,
            state,
            is_asked: number == 1,
            segments,
            rules_version: 0,
        }
    }

    #[test]
    fn a_space_of_drained_servers_is_in_trouble() {
        let list = |states: &[MemberState]| MemberList {
            shares_store: true,
            tells_all: false,
            members: (1..)
                .zip(states)
                .map(|(number, state)| member(number, "a:1", *state, 1))
                .collect(),
            more: false,
            unowned: 0,
            rules_version: 0,
            store: StoreState {
                kind: "postgres".to_string(),
                primary: String::new(),
                timeline: 1,
                standbys: 1,
                wants_standby: true,
                trouble: String::new(),
            },
        };
        let (drained, standing) = (MemberState::Drained, MemberState::Standing);
        assert_eq!(troubles(&list(&[drained, drained])).len(), 1);
        assert!(troubles(&list(&[drained, standing])).is_empty());
        assert!(troubles(&list(&[])).is_empty());
    }

    #[test]
    fn an_earlier_start_without_segments_is_not_shown() {
        let over = MemberState::Over;
        let all = [
            member(1, "a:1", MemberState::Standing, 2),
            member(2, "b:1", over, 0),
            member(3, "b:1", MemberState::Standing, 0),
            member(4, "c:1", over, 0),
            member(5, "d:1", over, 1),
            member(6, "d:1", MemberState::Standing, 0),
        ];
        let shown: Vec<u64> = present(&all).map(|member| member.number).collect();
        assert_eq!(shown, [1, 3, 4, 5, 6]);
    }
}
