//! The output of the ranks that `interweave run` started, in whole lines.

use std::io::Write;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// A longer line is passed on in pieces.
const LINE_BYTES_MAX: u64 = 64 << 10;

#[derive(Clone, Copy, Debug)]
pub enum Destination {
    Out,
    Err,
}

/// Passes lines on until the rank has closed its end, or nobody reads any more. A last line that
/// has no end gets one if it is that of one rank of many.
pub async fn relay(
    from: impl AsyncRead + Unpin,
    to: Destination,
    label: Option<String>,
    is_one_of_many: bool,
) {
    let mut from = BufReader::new(from);
    let mut is_inside_line = false;
    loop {
        let mut line = match &label {
            Some(label) if !is_inside_line => label.clone().into_bytes(),
            _ => Vec::new(),
        };
        let own = line.len();
        let read = (&mut from)
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut line)
            .await;
        if !matches!(read, Ok(count) if count > 0) {
            break;
        }
        let is_end_of_line = line.last() == Some(&b'\n');
        let is_cut = !is_end_of_line && (line.len() - own) as u64 == LINE_BYTES_MAX;
        if !is_end_of_line && !is_cut && is_one_of_many {
            line.push(b'\n');
        }
        is_inside_line = is_cut;
        // Without a reader the rank is to hear of it: its next output fails.
        if write(to, &line).is_err() {
            break;
        }
    }
}

fn write(to: Destination, line: &[u8]) -> std::io::Result<()> {
    match to {
        Destination::Out => {
            let mut out = std::io::stdout().lock();
            out.write_all(line)?;
            out.flush()
        }
        Destination::Err => std::io::stderr().lock().write_all(line),
    }
}
