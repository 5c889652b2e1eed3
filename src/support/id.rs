//! Typed ids over `NonZeroU32`, and the maps keyed by them.

use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

/// A typed id: a small number that names one entity of one arena. `Option<Id>` is four bytes too.
pub trait EntityId: Copy + Eq + std::hash::Hash + std::fmt::Debug {
    /// The id of entity number `index` (from 0).
    fn from_index(index: usize) -> Self;
    /// The number of the entity (from 0).
    fn index(self) -> usize;
}

/// Makes the number that stands in an id.
///
/// # Panics
/// When an arena holds 2^32 - 1 entities: the process is out of memory well before.
pub fn raw_id(index: usize) -> NonZeroU32 {
    u32::try_from(index + 1).ok().and_then(NonZeroU32::new).expect("fewer than 2^32 - 1 entities")
}

/// Declares typed ids: `entity_id! { /// doc pub struct Op("op"); }`. They print as `op3`.
#[macro_export]
macro_rules! entity_id {
    ($($(#[$meta:meta])* $vis:vis struct $name:ident($prefix:literal);)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis struct $name(std::num::NonZeroU32);
        impl $crate::EntityId for $name {
            fn from_index(index: usize) -> Self { Self($crate::id::raw_id(index)) }
            fn index(self) -> usize { self.0.get() as usize - 1 }
        }
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}{}", $prefix, self.0.get() - 1)
            }
        }
    )*};
}

/// The arena that owns entities of one kind: ids come from `push`.
#[derive(Clone)]
pub struct PrimaryMap<K, V> {
    items: Vec<V>,
    key: PhantomData<K>,
}

impl<K: EntityId, V> PrimaryMap<K, V> {
    /// An empty arena.
    pub const fn new() -> Self {
        Self { items: Vec::new(), key: PhantomData }
    }
    /// Adds an entity and gives its id.
    pub fn push(&mut self, value: V) -> K {
        let id = K::from_index(self.items.len());
        self.items.push(value);
        id
    }
    /// The id that the next `push` will give.
    pub fn next_id(&self) -> K {
        K::from_index(self.items.len())
    }
    /// How many entities were ever added.
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// The entity, or None for an id of another arena.
    pub fn get(&self, id: K) -> Option<&V> {
        self.items.get(id.index())
    }
    /// Entities with their ids, in the order of creation.
    pub fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.items.iter().enumerate().map(|(i, v)| (K::from_index(i), v))
    }
    /// All ids, in the order of creation.
    pub fn ids(&self) -> impl Iterator<Item = K> + use<K, V> {
        (0..self.items.len()).map(K::from_index)
    }
}

impl<K: EntityId, V> Default for PrimaryMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: EntityId, V> Index<K> for PrimaryMap<K, V> {
    type Output = V;
    fn index(&self, id: K) -> &V {
        &self.items[id.index()]
    }
}

impl<K: EntityId, V> IndexMut<K> for PrimaryMap<K, V> {
    fn index_mut(&mut self, id: K) -> &mut V {
        &mut self.items[id.index()]
    }
}

/// Facts about entities that another arena owns; an entity without a fact has the default.
#[derive(Clone, Default)]
pub struct SecondaryMap<K, V> {
    items: Vec<V>,
    default: V,
    key: PhantomData<K>,
}

impl<K: EntityId, V: Clone + Default> SecondaryMap<K, V> {
    /// A map in which every entity has the default.
    pub fn new() -> Self {
        Self { items: Vec::new(), default: V::default(), key: PhantomData }
    }
}

impl<K: EntityId, V: Clone + Default> Index<K> for SecondaryMap<K, V> {
    type Output = V;
    fn index(&self, id: K) -> &V {
        self.items.get(id.index()).unwrap_or(&self.default)
    }
}

impl<K: EntityId, V: Clone + Default> IndexMut<K> for SecondaryMap<K, V> {
    fn index_mut(&mut self, id: K) -> &mut V {
        if self.items.len() <= id.index() {
            self.items.resize(id.index() + 1, self.default.clone());
        }
        &mut self.items[id.index()]
    }
}
