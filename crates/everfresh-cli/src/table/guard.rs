//! Turns a panic into an error: decoders of other people's formats may panic on bytes that nobody foresaw.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use anyhow::{Result, anyhow};

thread_local! {
    /// Is what this thread does guarded, so that a panic needs no report of its own?
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Does `work`; a panic in it is an error with the panic's message.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    silence();
    let before = GUARDED.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(before);
    result.unwrap_or_else(|panic| Err(anyhow!("the data is damaged: {}", message(panic.as_ref()))))
}

/// Keeps the usual report of a panic off stderr where the panic becomes an error.
fn silence() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                usual(info);
            }
        }));
    });
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown reason")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let error = guarded::<()>(|| panic!("index {} out of bounds", 7)).unwrap_err();
        assert_eq!(error.to_string(), "the data is damaged: index 7 out of bounds");
        assert_eq!(guarded(|| Ok(1)).unwrap(), 1);
    }
}
