//! Panics at the edge of a thread: an error of ours is said to those who wait, not kept from them.

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// What it said.
pub fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it says nothing".to_string())
}

/// Runs `run`; a panic becomes its text. Do not rely on data that a panicking `run` was changing.
pub fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| text_of(&*panic))
}
