//! Instances of small definitions, and what comes out.
