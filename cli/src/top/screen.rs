//! A terminal that shows one picture after another, and whose keys come one by one.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::stdio::{stdin, stdout};
use rustix::termios::{
    tcgetattr, tcgetwinsize, tcsetattr, LocalModes, OptionalActions, SpecialCodeIndex, Termios,
};

use crate::failure::Failure;
use crate::interrupt::Unfinished;

const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// The terminal is as before when this is dropped, and after a signal.
pub struct Screen {
    _restored: Unfinished,
}

impl Screen {
    /// REQUIRES: standard input and output are a terminal.
    pub fn begin() -> Result<Screen, Failure> {
        let failed = |error: Errno| Failure::new(format!("the terminal: {error}"));
        let before = tcgetattr(stdin()).map_err(failed)?;
        let mut raw = before.clone();
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        let restored = Unfinished::new(move || restore(&before))?;
        tcsetattr(stdin(), OptionalActions::Now, &raw).map_err(failed)?;
        put(ENTER).map_err(|error| Failure::new(format!("the terminal: {error}")))?;
        Ok(Screen {
            _restored: restored,
        })
    }

    /// Columns and lines.
    pub fn size(&self) -> (usize, usize) {
        let size = tcgetwinsize(stdout()).ok();
        let size = size.filter(|size| size.ws_col > 0 && size.ws_row > 0);
        size.map_or((80, 24), |size| (size.ws_col.into(), size.ws_row.into()))
    }

    /// Shows the lines, of which each fits, in place of those before.
    pub fn show(&self, lines: &[String]) -> io::Result<()> {
        let mut text = String::from("\x1b[H");
        for (at, line) in lines.iter().enumerate() {
            let end = if at + 1 < lines.len() { "\r\n" } else { "" };
            text += &format!("{line}\x1b[K{end}");
        }
        put(&(text + "\x1b[J"))
    }

    /// The next key; None: none came for so long.
    pub fn key(&self, wait: Duration) -> Option<u8> {
        let until = Instant::now() + wait;
        loop {
            let rest = until.saturating_duration_since(Instant::now());
            let rest = Timespec::try_from(rest).ok()?;
            let input = stdin();
            let mut asked = [PollFd::new(&input, PollFlags::IN)];
            match poll(&mut asked, Some(&rest)) {
                Ok(0) => return None,
                // The window has another size.
                Err(Errno::INTR) => return None,
                Err(_) => return Some(b'q'),
                Ok(_) => {}
            }
            let mut byte = [0];
            return match rustix::io::read(input, &mut byte) {
                Ok(1) => Some(byte[0]),
                Err(Errno::INTR) => continue,
                // The terminal is gone.
                _ => Some(b'q'),
            };
        }
    }
}

fn restore(before: &Termios) {
    // If the terminal is gone, nobody can read the error.
    let _ = put(LEAVE);
    let _ = tcsetattr(stdin(), OptionalActions::Now, before);
}

fn put(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
