//! `interweave move`: gives a segment to another server of its space, while programs use it.
//!
//! The new server reads the segment before it gets it, so programs wait only for the rest. Each
//! step leaves the segment with one owner. So a command that is ended in the middle leaves nothing
//! to repair.

use std::time::{Duration, Instant};

use clap::Args;

use crate::failure::Failure;
use crate::list::one_server;
use crate::output::print_text;
use crate::remote::{address_text, Remote};
use crate::target::Target;

const EXAMPLES: &str = "\
Examples:
  interweave move a.example/list b.example        /list is served by b.example from now on
  interweave move a.example,b.example/list b.example:7748

Both servers share one store (interweave serve --advertise). Programs that have the segment open
follow it: they only see a pause. A rule must allow `admin` at both servers. Servers that are
called iws://... are asked encrypted.";

/// How long a command waits for a server that was heard a moment ago.
pub const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MoveArgs {
    /// The segment, at any server of its space
    #[arg(value_name = "URL")]
    target: String,
    /// The server that is to have it: [iw://|iws://]HOST[:PORT]
    #[arg(value_name = "SERVER")]
    server: String,
    /// Wait so long for whoever writes, or reads strictly
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds_to_wait)]
    wait: Duration,
}

pub fn seconds_to_wait(text: &str) -> Result<Duration, String> {
    let wait_ms = super::serve::milliseconds(text)?;
    Ok(Duration::from_millis(wait_ms.into()))
}

pub fn run(args: MoveArgs) -> Result<(), Failure> {
    let target = Target::parse(&args.target)?;
    if target.block.is_some() {
        return Err(Failure::new(
            "move moves whole segments; leave the block out",
        ));
    }
    let server = one_server(Some(&args.server), "the target of a move")?;
    let mut from = Remote::connect(&target.url.servers)?;
    let mut to = Remote::connect(&server)?;
    let (path, server) = (&target.url.path, address_text(to.server()));
    if from.space()?.is_none() || from.space()? != to.space()? {
        return Err(Failure::new(format!(
            "{server} does not share a store with the segment's server: the ids of their spaces \
             differ"
        )));
    }
    let begun = Instant::now();
    let bytes = move_to(&mut from, &mut to, path, args.wait)?;
    print_text(&format!(
        "{path} is at {server} now ({bytes} bytes were read before, {} ms)\n",
        begun.elapsed().as_millis()
    ));
    Ok(())
}

/// Moves the segment to the server `to`. `from` asks any server of the space. Returns how many
/// bytes were read before programs had to wait.
///
/// A server closes a connection that says nothing for a lease, and reading a large segment takes
/// longer. A server also closes connections when it cannot renew its own lease. So what a lost
/// connection ended is done again on new ones: nothing is read twice.
pub fn move_to(
    from: &mut Remote,
    to: &mut Remote,
    path: &str,
    wait: Duration,
) -> Result<u64, Failure> {
    match try_to_move(from, to, path, wait) {
        Err(failure) if failure.may_pass() => {
            from.connect_again_within(PATIENCE)?;
            to.connect_again_within(PATIENCE)?;
            try_to_move(from, to, path, wait)
        }
        done => done,
    }
}

fn try_to_move(
    from: &mut Remote,
    to: &mut Remote,
    path: &str,
    wait: Duration,
) -> Result<u64, Failure> {
    let followed = to.follow_segment(path)?;
    if followed.owned {
        return Ok(0);
    }
    from.hand_over(path, followed.member, wait)?;
    match to.follow_segment(path)?.owned {
        true => Ok(followed.read_bytes),
        false => Err(Failure::new(format!(
            "{path} was moved, and another server has taken it meanwhile; move it again"
        ))),
    }
}
