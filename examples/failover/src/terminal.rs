//! The keys and the screen. Without a terminal, keys come from the standard input all the same, and
//! only changes are printed.

use rustix::termios::{isatty, tcgetattr, tcsetattr, LocalModes, OptionalActions, Termios};
use std::io::{Read, Write};
use std::sync::mpsc::Sender;

/// What the demo hears of.
pub enum Event {
    Key(u8),
    Said(String),
    /// Ctrl-C, or the system wants it to end.
    End,
}

/// Gives the terminal back when it is dropped.
pub struct Terminal {
    before: Option<Termios>,
}

impl Terminal {
    pub fn new(events: Sender<Event>) -> Result<Terminal, String> {
        let keys = events.clone();
        std::thread::spawn(move || {
            let mut key = [0];
            while std::io::stdin().read_exact(&mut key).is_ok() {
                if keys.send(Event::Key(key[0])).is_err() {
                    break;
                }
            }
        });
        watch_signals(events)?;
        let is_drawn = isatty(rustix::stdio::stdin()) && isatty(rustix::stdio::stdout());
        let before = is_drawn.then(|| tcgetattr(rustix::stdio::stdin()));
        let before = before.transpose().map_err(|error| error.to_string())?;
        if let Some(before) = &before {
            let mut keys = before.clone();
            keys.local_modes &= !(LocalModes::ICANON | LocalModes::ECHO);
            let set = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &keys);
            set.map_err(|error| error.to_string())?;
            // Another screen, without a cursor.
            print!("\x1b[?1049h\x1b[?25l");
        }
        Ok(Terminal { before })
    }

    pub fn is_drawn(&self) -> bool {
        self.before.is_some()
    }

    /// Columns and lines.
    pub fn size(&self) -> (usize, usize) {
        let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout());
        size.map_or((80, 24), |size| (size.ws_col.into(), size.ws_row.into()))
    }

    pub fn draw(&self, lines: &[String]) {
        let mut text = String::from("\x1b[H");
        for line in lines {
            text += line;
            text += "\x1b[K\r\n";
        }
        text += "\x1b[J";
        write(&text);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            write("\x1b[?25h\x1b[?1049l");
            // A terminal that is gone has no settings.
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, before);
        }
    }
}

/// At once. Words that nobody can read any more are lost.
pub fn write(text: &str) {
    let mut output = std::io::stdout().lock();
    let _ = output.write_all(text.as_bytes());
    let _ = output.flush();
}

fn watch_signals(events: Sender<Event>) -> Result<(), String> {
    use tokio::signal::unix::{signal, SignalKind};
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let guard = runtime.enter();
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    for kind in kinds {
        let mut signal = signal(kind).map_err(|error| error.to_string())?;
        let events = events.clone();
        runtime.spawn(async move {
            while signal.recv().await.is_some() {
                if events.send(Event::End).is_err() {
                    break;
                }
            }
        });
    }
    drop(guard);
    std::thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
    Ok(())
}
