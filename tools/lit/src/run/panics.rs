//! Keeps panics of tools quiet and describes them.

use std::any::Any;
use std::cell::RefCell;

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Makes panics of this process be noted for [`describe`] instead of being printed. Call once, before threads start.
pub fn keep_quiet() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, |l| format!(" at {}:{}", l.file(), l.line()));
        LAST.with(|last| *last.borrow_mut() = Some(format!("{}{place}", text(info.payload()))));
    }));
}

/// What the last panic of this thread said, and where it was if the hook of [`keep_quiet`] saw it.
pub fn describe(payload: &(dyn Any + Send)) -> String {
    let noted = LAST.with(|last| last.borrow_mut().take());
    format!("panicked: {}", noted.unwrap_or_else(|| text(payload)))
}

fn text(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        return (*text).to_string();
    }
    payload.downcast_ref::<String>().cloned().unwrap_or_else(|| "no message".to_string())
}
