//! TODO-DOC defs
