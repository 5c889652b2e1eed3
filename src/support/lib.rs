//! TODO-DOC support
