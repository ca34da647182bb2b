//! The switch of the changes that are built in. Added to the changed crate as its module `mutants`.
//!
//! MUTANT=n switches change n on. Without it none is on. With MUTANTS_REACHED=FILE, the number of
//! each change whose place is reached is appended to FILE, once for each process.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

const MOST: usize = 65536;

struct Switch {
    on: u32,
    file: Option<File>,
    reached: Vec<AtomicBool>,
}

static SWITCH: OnceLock<Switch> = OnceLock::new();

pub fn is(number: u32) -> bool {
    let switch = SWITCH.get_or_init(read);
    if let Some(mut file) = switch.file.as_ref() {
        if !switch.reached[number as usize].swap(true, Ordering::Relaxed) {
            file.write_all(format!("{number}\n").as_bytes()).unwrap();
        }
    }
    switch.on == number
}

fn read() -> Switch {
    let on = std::env::var("MUTANT").map_or(0, |number| number.parse().unwrap());
    let path = std::env::var_os("MUTANTS_REACHED");
    let file = path.map(|path| File::options().append(true).create(true).open(path).unwrap());
    let most = if file.is_some() { MOST } else { 0 };
    let reached = (0..most).map(|_| AtomicBool::new(false)).collect();
    Switch { on, file, reached }
}
