//! The parser that pest makes from grammar/ir.pest.

#![allow(missing_docs)] // the rules are documented in the grammar

/// Matches the rules of grammar/ir.pest.
#[derive(pest_derive::Parser)]
#[grammar = "../grammar/ir.pest"]
pub struct IrGrammar;
