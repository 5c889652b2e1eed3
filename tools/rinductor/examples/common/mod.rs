//! What the fuzzers share: a random generator, and a supervisor that outlives what it watches.

pub mod random;
pub mod supervise;
