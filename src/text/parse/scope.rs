//! SSA names: what each means where, redefinitions, forward references.

use crate::ir::{Ir, Value};
use rinductor_support::{EntityId, FxHashMap, Name};

/// What a name means now.
#[derive(Clone, Copy)]
struct Slot {
    first: Value,
    count: u32,
    /// Which isolated scope it belongs to.
    scope: u32,
    /// Where it was defined.
    offset: u32,
    /// Whether its op was not understood, so that nothing is known of it.
    broken: bool,
}

/// A value that was used before its definition was read.
#[derive(Clone, Copy)]
pub struct Forward {
    /// Stands for it.
    pub value: Value,
    /// Where it was used first.
    pub offset: u32,
}

/// Why a name means nothing here.
pub enum Missing {
    /// `%x#3` of two results.
    NoSuchResult {
        /// How many there are.
        count: u32,
    },
    /// Its op was not understood; that is reported already.
    Broken,
}

/// The names of a file while it is read. A region sees the names around it, unless its op is isolated from above.
#[derive(Default)]
pub struct Scopes {
    /// By the number of the name.
    slots: Vec<Option<Slot>>,
    /// Names that the open regions defined, with what they meant before.
    undo: Vec<(Name, Option<Slot>)>,
    /// Values used before their definition, for each open isolated scope.
    forwards: Vec<(u32, FxHashMap<(Name, u32), Forward>)>,
    next_scope: u32,
}

impl Scopes {
    /// The scope of a file.
    pub fn new() -> Self {
        let mut scopes = Self::default();
        scopes.push_isolated();
        scopes
    }

    /// The mark to which [`Scopes::pop`] goes back.
    pub fn mark(&self) -> usize {
        self.undo.len()
    }

    /// Forgets what was defined since the mark.
    pub fn pop(&mut self, mark: usize) {
        for (name, before) in self.undo.drain(mark..).rev() {
            self.slots[name.index()] = before;
        }
    }

    /// Begins a scope that sees nothing of what is around it.
    pub fn push_isolated(&mut self) {
        self.forwards.push((self.next_scope, FxHashMap::default()));
        self.next_scope += 1;
    }

    /// Ends it: the uses that found no definition.
    pub fn pop_isolated(&mut self) -> Vec<((Name, u32), Forward)> {
        let Some((_, map)) = self.forwards.pop() else { return Vec::new() };
        let mut left: Vec<_> = map.into_iter().collect();
        left.sort_by_key(|(_, f)| f.offset);
        left
    }

    fn scope(&self) -> u32 {
        self.forwards.last().map_or(0, |f| f.0)
    }

    /// The value that `%name#index` means, if it is defined already.
    ///
    /// # Errors
    /// The name has fewer results.
    pub fn find(&self, name: Name, index: u32) -> Result<Option<Value>, Missing> {
        match self.slots.get(name.index()).copied().flatten() {
            Some(s) if s.scope == self.scope() => {
                if s.broken {
                    Err(Missing::Broken)
                } else if index < s.count {
                    Ok(Some(Value::from_index(s.first.index() + index as usize)))
                } else {
                    Err(Missing::NoSuchResult { count: s.count })
                }
            }
            _ => Ok(None),
        }
    }

    /// A value that stands for `%name#index` until it is defined.
    pub fn forward(&mut self, ir: &mut Ir, name: Name, index: u32, ty: crate::ir::Type, offset: u32) -> Value {
        let scope = self.forwards.last_mut().expect("the scope of the file is open until its end");
        scope.1.entry((name, index)).or_insert_with(|| Forward { value: ir.placeholder(ty), offset }).value
    }

    /// Defines `%name:count` as values numbered from `first`.
    ///
    /// # Errors
    /// Where it was defined before.
    pub fn define(&mut self, name: Name, first: Value, count: u32, offset: u32) -> Result<(), u32> {
        self.put(name, Slot { first, count, scope: self.scope(), offset, broken: false })
    }

    /// Defines a name whose op was not understood: uses of it are not errors.
    pub fn define_broken(&mut self, name: Name, count: u32, offset: u32) {
        let slot = Slot { first: Value::from_index(0), count, scope: self.scope(), offset, broken: true };
        // A redefinition is not worth a second error.
        let _before = self.put(name, slot);
        for i in 0..count.min(64) {
            self.resolve(name, i);
        }
    }

    fn put(&mut self, name: Name, slot: Slot) -> Result<(), u32> {
        let i = name.index();
        if self.slots.len() <= i {
            self.slots.resize((i + 1).max(self.slots.len() * 2), None);
        }
        if let Some(old) = self.slots[i].filter(|s| s.scope == slot.scope) {
            return Err(old.offset);
        }
        let before = self.slots[i].replace(slot);
        self.undo.push((name, before));
        Ok(())
    }

    /// The value that stood for a name that is now defined.
    pub fn resolve(&mut self, name: Name, index: u32) -> Option<Forward> {
        let (_, map) = self.forwards.last_mut()?;
        if map.is_empty() { None } else { map.remove(&(name, index)) }
    }
}
