//! `interweave drain` and `interweave rebalance`: many segments move, one after the other.

use std::collections::btree_map::{BTreeMap, Entry};
use std::io::{stderr, IsTerminal};
use std::time::Duration;

use clap::Args;
use interweave_wire::protocol::{
    ListedPlace, MemberInfo, MemberState, RedirectField, SegmentPlace,
};

use crate::failure::Failure;
use crate::list::{one_server, whole_servers};
use crate::moving::{move_to, seconds_to_wait, PATIENCE};
use crate::output::{counted, print_text};
use crate::remote::Remote;

const DRAIN_EXAMPLES: &str = "\
Examples:
  interweave drain a.example && ssh a.example systemctl restart interweave

Before a server is stopped, or replaced by a newer program: its segments move to the other servers
of its space, the same number to each. Programs only see a pause. From the beginning the server
claims and creates nothing until it is started again: it sends clients to another server. It serves
what it still has, so a command that is ended in the middle may be repeated. One server must stay
undrained. A rule must allow `admin` at all servers, and `read` for each segment.";

const REBALANCE_EXAMPLES: &str = "\
Examples:
  interweave rebalance a.example             which segments would move
  interweave rebalance --go a.example

Afterwards each server of the space owns the same number of segments, or one more. As few segments
as that takes are moved.";

#[derive(Debug, Args)]
#[command(after_help = DRAIN_EXAMPLES)]
pub struct DrainArgs {
    /// [iw://|iws://]HOST[:PORT] [default: IW_SERVER, else 127.0.0.1]
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    /// For each segment, wait so long for whoever writes, or reads strictly
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds_to_wait)]
    wait: Duration,
}

#[derive(Debug, Args)]
#[command(after_help = REBALANCE_EXAMPLES)]
pub struct RebalanceArgs {
    /// Any servers of the space: [iw://|iws://]HOST[:PORT][,HOST...] [default: IW_SERVER, else
    /// 127.0.0.1]
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    /// Move them; without it, only say which
    #[arg(long)]
    go: bool,
    /// For each segment, wait so long for whoever writes, or reads strictly
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds_to_wait)]
    wait: Duration,
}

pub fn run_drain(args: DrainArgs) -> Result<(), Failure> {
    let server = one_server(args.server.as_deref(), "a drain")?;
    let mut from = Remote::connect(&server)?;
    if others_of(&mut from)?.is_empty() {
        return Err(Failure::new(
            "the server was not drained: no other server of the space takes segments, so nobody \
             could make any more; start one, or stop this one: its segments are claimed then by \
             the first server that is asked for them",
        ));
    }
    from.drain()?;
    // Another drain may have begun meanwhile.
    let others = others_of(&mut from)?;
    let here: Vec<String> = from
        .places("/")?
        .into_iter()
        .filter(is_here)
        .map(path)
        .collect();
    if !here.is_empty() && others.is_empty() {
        return Err(Failure::new(format!(
            "{} cannot move: no other server of the space takes segments; start one, or stop this \
             one: its segments are claimed then by the first server that is asked for them",
            counted(here.len() as u64, "segment")
        )));
    }
    let mut owned: Vec<u64> = others.iter().map(|member| member.segments).collect();
    let to_fewest = |path: String| {
        let fewest = (0..owned.len()).min_by_key(|&at| owned[at]).unwrap_or(0);
        owned[fewest] += 1;
        (path, at(&others[fewest]))
    };
    let moves: Vec<Move> = here.into_iter().map(to_fewest).collect();
    move_all(&mut from, &moves, args.wait)?;
    // Moves may have sent the connection on to another server.
    from.connect_again_within(PATIENCE)?;
    let own = from.members()?;
    let left = own.members.iter().find(|member| member.is_asked);
    match left.map_or(0, |member| member.segments) {
        0 => Ok(()),
        left => Err(Failure::new(format!(
            "the server still has {}; they came meanwhile, or no rule lets you read them: drain \
             again, or ask whoever runs the server for a rule",
            counted(left, "segment")
        ))),
    }
}

pub fn run_rebalance(args: RebalanceArgs) -> Result<(), Failure> {
    let servers = whole_servers(args.server.as_deref(), "a rebalance")?;
    let mut asked = Remote::connect(&servers)?;
    let members = standing(&mut asked)?;
    let places = asked.places("/")?;
    let moves = evened(&members, &places);
    if args.go {
        return move_all(&mut asked, &moves, args.wait);
    }
    for (path, to) in &moves {
        print_text(&format!("{path}  to {}\n", to.address));
    }
    eprintln!(
        "{} would move; say --go",
        counted(moves.len() as u64, "segment")
    );
    Ok(())
}

/// The servers that may be given the segments of the one that is asked.
fn others_of(asked: &mut Remote) -> Result<Vec<MemberInfo>, Failure> {
    let mut others = standing(asked)?;
    others.retain(|member| !member.is_asked);
    Ok(others)
}

/// A segment, and the server that is to have it.
type Move = (String, RedirectField);

/// The servers that may be given segments: no drained one [SPACE-24].
fn standing(asked: &mut Remote) -> Result<Vec<MemberInfo>, Failure> {
    let list = asked.members()?;
    if !list.shares_store {
        return Err(Failure::new(
            "the server shares its store with nobody, so no segment moves; start it with \
             --advertise",
        ));
    }
    let all = list.members.into_iter();
    Ok(all.filter(|m| m.state == MemberState::Standing).collect())
}

fn is_here(place: &ListedPlace) -> bool {
    place.place == SegmentPlace::Here
}

fn path(place: ListedPlace) -> String {
    place.segment.path
}

fn at(member: &MemberInfo) -> RedirectField {
    RedirectField {
        address: member.address.clone(),
        tls_name: member.tls_name.clone(),
        relay: true,
    }
}

/// The moves after which each server has the same number of segments, or one more.
fn evened(members: &[MemberInfo], places: &[ListedPlace]) -> Vec<Move> {
    let own = members.iter().find(|member| member.is_asked);
    let mut owned: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for member in members {
        owned.insert(&member.address, Vec::new());
    }
    for place in places {
        let owner = match place.place {
            SegmentPlace::Here => own.map(|own| &*own.address),
            SegmentPlace::Elsewhere => Some(&*place.address),
            SegmentPlace::Unclaimed => None,
        };
        if let Some(paths) = owner.and_then(|owner| owned.get_mut(owner)) {
            paths.push(&place.segment.path);
        }
    }
    let mut moves = Vec::new();
    loop {
        let count = |(_, paths): &(&&str, &Vec<&str>)| paths.len();
        let (Some(most), Some(least)) = (
            owned.iter().max_by_key(count).map(|(name, _)| *name),
            owned.iter().min_by_key(count).map(|(name, _)| *name),
        ) else {
            return moves;
        };
        if owned[most].len() <= owned[least].len() + 1 {
            return moves;
        }
        let path = owned.get_mut(most).and_then(Vec::pop);
        let to = members.iter().find(|member| member.address == least);
        let (Some(path), Some(to)) = (path, to) else {
            return moves;
        };
        if let Some(paths) = owned.get_mut(least) {
            paths.push(path);
        }
        moves.push((path.to_string(), at(to)));
    }
}

/// Moves them, and says how far that is.
fn move_all(from: &mut Remote, moves: &[Move], wait: Duration) -> Result<(), Failure> {
    let mut servers: BTreeMap<&str, Remote> = BTreeMap::new();
    let (mut failed, mut gone) = (0, 0);
    for (number, (path, to)) in moves.iter().enumerate() {
        match move_one(from, &mut servers, (path, to), wait) {
            Ok(()) => say_progress(number + 1, moves.len(), path, &to.address),
            // It was removed since the list was made, and needs no move.
            Err(failure) if failure.is_gone() => gone += 1,
            Err(failure) => {
                failed += 1;
                eprint!("{failure}");
                // The connection may be why.
                servers.remove(&*to.address);
                from.connect_again_within(PATIENCE)?;
            }
        }
    }
    eprintln!(
        "{} moved",
        counted((moves.len() - failed - gone) as u64, "segment")
    );
    match failed {
        0 => Ok(()),
        failed => Err(Failure::new(format!(
            "{} did not move; try again",
            counted(failed as u64, "segment")
        ))),
    }
}

/// `servers` has a connection to each server that segments were moved to.
fn move_one<'a>(
    from: &mut Remote,
    servers: &mut BTreeMap<&'a str, Remote>,
    (path, to): (&str, &'a RedirectField),
    wait: Duration,
) -> Result<(), Failure> {
    let server = match servers.entry(&to.address) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(unknown) => unknown.insert(from.sent_to(to)?),
    };
    move_to(from, server, path, wait).map(|_| ())
}

/// One line that is written over at a terminal, and a line for each segment elsewhere.
fn say_progress(number: usize, count: usize, path: &str, to: &str) {
    let line = format!("{number} of {count}: {path} is at {to} now");
    match stderr().is_terminal() {
        true => eprint!("\r\x1b[K{line}{}", if number == count { "\n" } else { "" }),
        false => eprintln!("{line}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_wire::protocol::{Durability, SegmentInfo, VersionStamp};

    fn member(number: u64) -> MemberInfo {
        MemberInfo {
            number,
            address: format!("{number}.example:7747"),
            tls_name: String::new(),
            lease_ms: 1000,
            state: MemberState::Standing,
            is_asked: number == 1,
            segments: 0,
            rules_version: 0,
        }
    }

    fn listed(path: usize, owner: u64) -> ListedPlace {
        ListedPlace {
            segment: SegmentInfo {
                path: format!("/{path}"),
                newest: VersionStamp {
                    incarnation: 0,
                    number: 0,
                    chain: 0,
                },
                durable: Durability::Synced,
                block_count: 0,
                wire_bytes: 0,
                quota_bytes: 0,
                clients: 0,
                subscribers: 0,
                writer_locked: false,
                writers_waiting: 0,
            },
            place: match owner {
                0 => SegmentPlace::Unclaimed,
                1 => SegmentPlace::Here,
                _ => SegmentPlace::Elsewhere,
            },
            address: match owner {
                0 | 1 => String::new(),
                _ => format!("{owner}.example:7747"),
            },
            tls_name: String::new(),
        }
    }

    #[test]
    fn as_few_segments_as_it_takes_are_moved() {
        let members = [member(1), member(2), member(3)];
        let owners = [1, 1, 1, 1, 1, 1, 1, 2, 0];
        let places: Vec<_> = owners
            .iter()
            .enumerate()
            .map(|(at, o)| listed(at, *o))
            .collect();
        let moves = evened(&members, &places);
        let to = |number: u64| {
            let address = format!("{number}.example:7747");
            moves.iter().filter(|(_, to)| to.address == address).count()
        };
        assert_eq!((to(1), to(2) + to(3), moves.len()), (0, 4, 4));
        assert!(to(3) >= 2 && to(2) >= 1, "{moves:?}");
        assert!(evened(&members, &[listed(0, 1), listed(1, 0)]).is_empty());
        assert!(evened(&[], &places).is_empty());
    }
}
