//! TODO-DOC index
