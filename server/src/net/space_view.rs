//! The servers of the space, looked at now and then for /metrics.
//!
//! A look counts the segments of the whole store, so no scrape waits for one.

use super::shell::Shell;
use interweave_wire::protocol::{MemberList, MemberState};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{sleep, Instant};

/// The pause between two looks, at least.
const LOOK: Duration = Duration::from_secs(5);
/// The pause is so many times as long as the look before. So looks at a very large store take a
/// fiftieth of the database's time at most.
const PAUSES: u32 = 50;

/// Looks for as long as the server runs.
pub async fn look(shell: Rc<Shell>) {
    loop {
        let begun = Instant::now();
        let found = whole(&shell).await;
        shell.space_view.replace(found);
        sleep(LOOK.max(begun.elapsed() * PAUSES)).await;
    }
}

/// All pages of the list as one. None: the store has none, or a look failed. The store counts that
/// as an error.
async fn whole(shell: &Shell) -> Option<MemberList> {
    let mut list = shell.members(0, true).await?.ok()?;
    while list.more {
        let after = list.members.last()?.number;
        let page = shell.members(after, true).await?.ok()?;
        list.more = page.more;
        list.members.extend(page.members);
    }
    Some(list)
}

/// How many of the servers are in that state.
pub fn in_state(list: &MemberList, state: MemberState) -> u64 {
    let members = list.members.iter().filter(|member| member.state == state);
    members.count() as u64
}

/// Segments that no server with standing owns: the first that is asked for one of them claims it.
pub fn unserved(list: &MemberList) -> u64 {
    let gone = |member: &&interweave_wire::protocol::MemberInfo| {
        matches!(member.state, MemberState::Over | MemberState::Ended)
    };
    let segments = list
        .members
        .iter()
        .filter(gone)
        .map(|member| member.segments);
    list.unowned + segments.sum::<u64>()
}
