//! Runs code that may panic, and gives what it said as a value: a pass that fails must not take down a process that runs many.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// `Some` while a [`catch`] is on the stack of this thread: the message of the last panic.
    static CAUGHT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `f`. A panic is not printed; its message and place are the error.
///
/// # Errors
/// `f` panicked.
pub fn catch<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let taken = CAUGHT.with_borrow_mut(|slot| match slot {
                Some(text) => {
                    let payload = info.payload();
                    let text_of = payload.downcast_ref::<String>().map(String::as_str);
                    let what = text_of.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
                    let place = info.location().map(|l| format!(" ({}:{})", l.file(), l.line())).unwrap_or_default();
                    *text = format!("{what}{place}");
                    true
                }
                None => false,
            });
            if !taken {
                previous(info);
            }
        }));
    });
    let outer = CAUGHT.replace(Some(String::new()));
    // What a panic leaves half done is not looked at again: the caller gives up the IR that `f` worked on.
    let result = catch_unwind(AssertUnwindSafe(f));
    let message = CAUGHT.replace(outer).unwrap_or_default();
    result.map_err(|_| message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_value() {
        assert_eq!(catch(|| 3), Ok(3));
        let nested = catch(|| {
            let inner = catch(|| panic!("inner {}", 1));
            assert!(inner.unwrap_err().starts_with("inner 1 ("));
            panic!("outer")
        });
        let message = nested.map(|()| String::new()).unwrap_err();
        assert!(message.starts_with("outer (src/pass/guard.rs:"), "{message}");
    }
}
