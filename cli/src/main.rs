//! The `interweave` program.

fn main() {}
