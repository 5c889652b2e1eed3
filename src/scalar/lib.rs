//! TODO-DOC scalar
