//! Rewrites of the pass that are easier to say in Rust than to match in text.
