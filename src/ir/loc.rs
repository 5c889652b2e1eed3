//! Locations: where an op comes from, from the model's source line down to the kernel.

use super::attr::Attr;
use super::{Ir, Value};
use rinductor_support::diag::Place;
use rinductor_support::{Name, SourceId, Span, entity_id};

entity_id! {
    /// An interned location.
    pub struct LocId("loc");
}

/// The location of an op, in eight bytes. A place in the text that was parsed needs no interning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Loc {
    /// `loc(unknown)`.
    #[default]
    Unknown,
    /// The op stands at this byte of a source.
    At {
        /// The source's number.
        source: u16,
        /// Byte offset.
        offset: u32,
    },
    /// A location that the text or a pass gave.
    Id(LocId),
}

/// What a location says beyond a place in the text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LocData {
    /// `loc("file":line:column)` or a range `… to line:column`.
    File {
        /// The file's name.
        file: Name,
        /// Line, from 1.
        line: u32,
        /// Column, from 1.
        column: u32,
        /// Last line and column of a range.
        end: Option<(u32, u32)>,
    },
    /// `loc("name"(child))`.
    Named {
        /// The name.
        name: Name,
        /// The location that it names.
        child: Loc,
    },
    /// `loc(callsite(callee at caller))`.
    CallSite {
        /// Inner.
        callee: Loc,
        /// Outer.
        caller: Loc,
    },
    /// `loc(fused<metadata>[…])`.
    Fused {
        /// What is said about the fusion.
        metadata: Option<Attr>,
        /// The parts.
        locs: Box<[Loc]>,
    },
    /// A location of another dialect, kept as text.
    Dialect(Box<str>),
}

impl Loc {
    /// A place in a source.
    pub fn at(source: SourceId, offset: u32) -> Loc {
        match u16::try_from(source.0) {
            Ok(source) => Loc::At { source, offset },
            Err(_) => Loc::Unknown,
        }
    }
}

impl Ir {
    /// The location that was given for a block argument; unknown if none was.
    pub fn arg_loc(&self, arg: Value) -> Loc {
        self.arg_locs.get(&arg).copied().unwrap_or_default()
    }

    /// Says where a block argument comes from.
    pub fn set_arg_loc(&mut self, arg: Value, loc: Loc) {
        self.arg_locs.insert(arg, loc);
    }

    /// One location for an op made from several: equal parts once, in order; a single part stays itself.
    pub fn fused_loc(&mut self, parts: &[Loc]) -> Loc {
        let mut locs: Vec<Loc> = Vec::new();
        for &part in parts {
            if part != Loc::Unknown && !locs.contains(&part) {
                locs.push(part);
            }
        }
        match locs[..] {
            [] => Loc::Unknown,
            [one] => one,
            _ => Loc::Id(self.locs.intern(LocData::Fused { metadata: None, locs: locs.into() })),
        }
    }

    /// All file positions inside of a location, and the place in the text.
    pub fn places(&self, loc: Loc) -> Vec<Place> {
        let Loc::Id(id) = loc else { return vec![self.place(loc)] };
        match self.locs.get(id) {
            LocData::Named { child, .. } => self.places(*child),
            LocData::CallSite { callee, caller } => [*callee, *caller].iter().flat_map(|&l| self.places(l)).collect(),
            LocData::Fused { locs, .. } => locs.iter().flat_map(|&l| self.places(l)).collect(),
            LocData::File { .. } | LocData::Dialect(_) => vec![self.place(loc)],
        }
    }

    /// The place that a diagnostic about a location shows: the text itself where it is at hand, else the first file position inside.
    pub fn place(&self, loc: Loc) -> Place {
        match loc {
            Loc::Unknown => Place::None,
            Loc::At { source, offset } => Span { source: SourceId(source.into()), start: offset, end: offset }.into(),
            Loc::Id(id) => match self.locs.get(id) {
                LocData::File { file, line, column, .. } => {
                    Place::File { file: self.text(*file).to_string(), line: *line, column: *column }
                }
                LocData::Named { child, .. } => self.place(*child),
                LocData::CallSite { callee, .. } => self.place(*callee),
                LocData::Fused { locs, .. } => {
                    locs.iter().map(|&l| self.place(l)).find(|p| *p != Place::None).unwrap_or_default()
                }
                LocData::Dialect(_) => Place::None,
            },
        }
    }
}
