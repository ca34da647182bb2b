//! What commands print: tables for people, JSON for programs. A closed pipe ends a command quietly.

use std::io::{self, Write};

use interweave_wire::fields::readable;
use interweave_wire::json::{self, Json};

use crate::colour::{self, Colour};

/// Writes lines to standard output. `interweave ls | head -1` does not fail.
pub fn print_text(text: &str) {
    print_painted(&readable_lines(text));
}

/// The same, with colours. REQUIRES: what a server said in it is `clean`.
pub fn print_painted(text: &str) {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            eprintln!("interweave: cannot write the output: {error}");
            std::process::exit(1);
        }
    }
}

/// A text of one line, as a terminal may have it.
pub fn clean(text: &str) -> String {
    readable(text)
}

/// Paths and names come from a server: a terminal must not obey them [FIELD-8]. JSON has no control
/// characters, so it stays as it is.
fn readable_lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(readable).collect();
    lines.join("\n")
}

pub fn print_json(value: &Json) {
    print_text(&(json::line(value) + "\n"));
}

pub fn text(value: &str) -> Json {
    Json::String(value.to_string())
}

pub fn object(members: Vec<(&str, Json)>) -> Json {
    members.into_iter().collect()
}

/// Columns as wide as their widest cell; numbers stand at the right.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(heads: &[&str]) -> Self {
        Table {
            rows: vec![heads.iter().map(|head| head.to_string()).collect()],
        }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub fn print(&self) {
        let text = readable_lines(&self.render());
        let (head, rest) = text.split_once('\n').unwrap_or((&text, ""));
        print_painted(&format!("{}\n{rest}", colour::out(Colour::Bold, head)));
    }

    fn render(&self) -> String {
        let columns = self.rows[0].len();
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let are_numbers: Vec<bool> = (0..columns).map(|c| self.are_numbers(c)).collect();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, width), is_number) in row.iter().zip(&widths).zip(&are_numbers) {
                line.push_str(&match is_number {
                    true => format!("{cell:>width$}  "),
                    false => format!("{cell:<width$}  "),
                });
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    fn are_numbers(&self, column: usize) -> bool {
        let is_number = |cell: &str| cell == "-" || cell.parse::<f64>().is_ok();
        let mut cells = self.rows[1..].iter().map(|row| row[column].as_str());
        self.rows.len() > 1 && cells.all(is_number)
    }
}

/// 1 -> "1 block", 2 -> "2 blocks"
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// 1536 -> "1.5 KiB"
pub fn size_text(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} B"),
        _ => format!("{value:.1} {}", UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_binary_units() {
        assert_eq!(size_text(0), "0 B");
        assert_eq!(size_text(1023), "1023 B");
        assert_eq!(size_text(1536), "1.5 KiB");
        assert_eq!(size_text(3 << 30), "3.0 GiB");
    }

    #[test]
    fn field_8_what_a_server_says_is_printed_without_its_control_characters() {
        assert_eq!(readable_lines("/a\u{1b}[2J\n\u{9b}b\r\n"), "/a?[2J\n?b?\n");
        let text = json_line_of("\u{1b}\u{9b}");
        assert_eq!(readable_lines(&text), text, "JSON escapes them itself");
    }

    fn json_line_of(string: &str) -> String {
        json::line(&text(string)) + "\n"
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["A", "LONG"]);
        table.row(vec!["longer".into(), "x".into()]);
        assert_eq!(table.render(), "A       LONG\nlonger  x\n");
        table.row(vec!["s".into(), "12".into()]);
        assert_eq!(table.render(), "A       LONG\nlonger  x\ns       12\n");
        let mut table = Table::new(&["NUMBER", "TEXT"]);
        table.row(vec!["12".into(), "-x".into()]);
        table.row(vec!["-".into(), "7".into()]);
        assert_eq!(table.render(), "NUMBER  TEXT\n    12  -x\n     -  7\n");
    }
}
