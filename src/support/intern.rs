//! Interners: equal values get equal ids, so that equality of what is interned is equality of ids.

use crate::FxBuild;
use crate::id::{EntityId, PrimaryMap};
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hash};

/// Interns values of one type.
#[derive(Clone)]
pub struct Interner<K, V> {
    items: PrimaryMap<K, V>,
    table: HashTable<K>,
}

impl<K: EntityId, V: Eq + Hash> Interner<K, V> {
    /// An empty interner.
    pub fn new() -> Self {
        Self { items: PrimaryMap::new(), table: HashTable::new() }
    }
    /// The id of `value`; equal values have the same id.
    pub fn intern(&mut self, value: V) -> K {
        let hash = FxBuild::default().hash_one(&value);
        if let Some(&id) = self.table.find(hash, |&id| self.items[id] == value) {
            return id;
        }
        let id = self.items.push(value);
        let items = &self.items;
        self.table.insert_unique(hash, id, |&id| FxBuild::default().hash_one(&items[id]));
        id
    }
    /// The id of `value` if it was interned before.
    pub fn find(&self, value: &V) -> Option<K> {
        self.table.find(FxBuild::default().hash_one(value), |&id| self.items[id] == *value).copied()
    }
    /// The value of an id.
    pub fn get(&self, id: K) -> &V {
        &self.items[id]
    }
    /// How many distinct values there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Whether nothing was interned.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// All values with their ids, in the order of first interning.
    pub fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.items.iter()
    }
}

impl<K: EntityId, V: Eq + Hash> Default for Interner<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

crate::entity_id! {
    /// An interned string: an op name, an attribute name, an SSA name.
    pub struct Name("name");
}

/// Interns strings in one growing buffer (no allocation a string).
#[derive(Clone, Default)]
pub struct Names {
    bytes: String,
    ends: Vec<u32>,
    table: HashTable<Name>,
}

impl Names {
    /// An empty interner.
    pub fn new() -> Self {
        Self::default()
    }
    /// The id of `text`.
    pub fn intern(&mut self, text: &str) -> Name {
        let hash = FxBuild::default().hash_one(text);
        if let Some(&id) = self.table.find(hash, |&id| self.get(id) == text) {
            return id;
        }
        self.bytes.push_str(text);
        self.ends
            .push(u32::try_from(self.bytes.len()).expect("fewer than 4 GiB of distinct names: sources are smaller"));
        let id = Name::from_index(self.ends.len() - 1);
        let (bytes, ends) = (&self.bytes, &self.ends);
        self.table.insert_unique(hash, id, |&id| FxBuild::default().hash_one(slice(bytes, ends, id)));
        id
    }
    /// The id of `text` if it was interned before.
    pub fn find(&self, text: &str) -> Option<Name> {
        self.table.find(FxBuild::default().hash_one(text), |&id| self.get(id) == text).copied()
    }
    /// The text of an id.
    pub fn get(&self, id: Name) -> &str {
        slice(&self.bytes, &self.ends, id)
    }
    /// How many distinct strings there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    /// Whether nothing was interned.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

fn slice<'a>(bytes: &'a str, ends: &[u32], id: Name) -> &'a str {
    let i = id.index();
    let start = if i == 0 { 0 } else { ends[i - 1] as usize };
    &bytes[start..ends[i] as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_have_equal_ids() {
        let mut names = Names::new();
        let (a, b, c) = (names.intern("add"), names.intern(""), names.intern("add"));
        assert_eq!((a, names.get(b), names.get(c), names.len()), (c, "", "add", 2));
        assert_eq!((names.find("add"), names.find("mul")), (Some(a), None));
    }
}
