//! Checks the types of an op's operands and results against the constraints of a signature of names.

use crate::ir::{Ir, Op, Type, TypeData};
use crate::text::AttrText;
use rinductor_defs::ast::{Constraint, NamedSig, OperandDecl};
use rinductor_defs::check::CONSTRAINTS;
use smallvec::SmallVec;

/// The type of a handle of a schedule.
pub(super) const HANDLE: &str = "!schedule.handle";

/// The values of one name.
struct Group<'a> {
    what: &'static str,
    decl: &'a OperandDecl,
    types: SmallVec<[Type; 4]>,
}

/// Adds a sentence for each operand and result whose type its constraint does not allow. The counts say how many operands and results each name has.
pub fn verify(ir: &Ir, op: Op, sig: &NamedSig, operands: &[usize], results: &[usize], wrong: &mut Vec<String>) {
    let mut groups: SmallVec<[Group<'_>; 4]> = SmallVec::new();
    let mut types = ir.operands(op).map(|v| ir.value_type(v));
    for (decl, &count) in sig.operands.iter().zip(operands) {
        groups.push(Group { what: "operand", decl, types: types.by_ref().take(count).collect() });
    }
    let mut types = ir.results(op).map(|v| ir.value_type(v));
    for (decl, &count) in sig.results.iter().zip(results) {
        groups.push(Group { what: "result", decl, types: types.by_ref().take(count).collect() });
    }
    for group in &groups {
        for (k, &ty) in group.types.iter().enumerate() {
            if holds(ir, ty, &group.decl.constraint, &groups, k) {
                continue;
            }
            let number = if group.types.len() > 1 { format!(" number {k}") } else { String::new() };
            wrong.push(format!(
                "{} '{}'{number} is of type {}, not {}",
                group.what,
                group.decl.name.text,
                AttrText::of_type(ir, ty),
                words(ir, &group.decl.constraint, &groups, k),
            ));
        }
    }
}

/// The type that another name has: of the value with the same number, if it has several.
fn of_name(groups: &[Group<'_>], name: &str, k: usize) -> Option<Type> {
    let group = groups.iter().find(|g| *g.decl.name.text == *name)?;
    group.types.get(k).or(group.types.first()).copied()
}

/// Whether a type is allowed. A name without values constrains nothing.
fn holds(ir: &Ir, ty: Type, constraint: &Constraint, groups: &[Group<'_>], k: usize) -> bool {
    let other = |name: &str| of_name(groups, name, k);
    match constraint {
        Constraint::Named(word, _) => is_of_class(ir, ty, word),
        Constraint::Same(of, _) => other(of).is_none_or(|o| o == ty),
        Constraint::Element(of, _) => other(of).is_none_or(|o| ir.element_type(o) == ty),
        Constraint::Like(of, element, _) => {
            other(of).is_none_or(|o| same_shape(ir, o, ty)) && holds(ir, ir.element_type(ty), element, groups, k)
        }
        Constraint::Of(container, element, _) => {
            is_of_class(ir, ty, container) && holds(ir, ir.element_type(ty), element, groups, k)
        }
        Constraint::Either(all) => all.iter().any(|c| holds(ir, ty, c, groups, k)),
    }
}

/// Whether two types are both no container, or containers of one kind with the same sizes.
fn same_shape(ir: &Ir, a: Type, b: Type) -> bool {
    match (ir.ty(a), ir.ty(b)) {
        (TypeData::Tensor { shape: x, .. }, TypeData::Tensor { shape: y, .. })
        | (TypeData::MemRef { shape: x, .. }, TypeData::MemRef { shape: y, .. }) => x == y,
        (TypeData::Vector { shape: x, scalable: p, .. }, TypeData::Vector { shape: y, scalable: q, .. }) => {
            x == y && p == q
        }
        (TypeData::UnrankedTensor(_), TypeData::UnrankedTensor(_))
        | (TypeData::UnrankedMemRef { .. }, TypeData::UnrankedMemRef { .. }) => true,
        _ => ir.element_type(a) == a && ir.element_type(b) == b,
    }
}

/// Whether a type is of a class of [`CONSTRAINTS`], or of the dtype of that name.
fn is_of_class(ir: &Ir, ty: Type, word: &str) -> bool {
    let data = ir.ty(ty);
    let tensor = matches!(data, TypeData::Tensor { .. } | TypeData::UnrankedTensor(_));
    let vector = matches!(data, TypeData::Vector { .. });
    let memref = matches!(data, TypeData::MemRef { .. } | TypeData::UnrankedMemRef { .. });
    // The `…_like` classes are of scalars, vectors and tensors.
    let of_elements = |holds: fn(&TypeData) -> bool| !memref && holds(ir.ty(ir.element_type(ty)));
    match word {
        "any" => true,
        "bool_like" => of_elements(is_bool),
        "int_like" => of_elements(|t| is_int(t) || matches!(t, TypeData::Index)),
        "integer_like" => of_elements(is_int),
        "float_like" => of_elements(is_float),
        "complex_like" => of_elements(is_complex),
        "number_like" => of_elements(is_number),
        "index_like" => of_elements(|t| matches!(t, TypeData::Index)),
        "int" => is_int(data),
        "float" => is_float(data),
        "complex" => is_complex(data),
        "number" => is_number(data),
        "function" => matches!(data, TypeData::Function { .. }),
        "tensor" => tensor,
        "vector" => vector,
        "memref" => memref,
        "shaped" => tensor || vector || memref,
        "none" => matches!(data, TypeData::None),
        "handle" => matches!(data, TypeData::Dialect(text) if **text == *HANDLE),
        dtype => rinductor_defs::dtype_of_word(dtype).is_some_and(|d| super::dtype_of(ir, ty) == Some(d)),
    }
}

fn is_bool(data: &TypeData) -> bool {
    matches!(data, TypeData::Integer { width: 1, .. })
}

fn is_int(data: &TypeData) -> bool {
    matches!(data, TypeData::Integer { .. })
}

fn is_float(data: &TypeData) -> bool {
    matches!(data, TypeData::Float(_))
}

fn is_complex(data: &TypeData) -> bool {
    matches!(data, TypeData::Complex(_))
}

fn is_number(data: &TypeData) -> bool {
    is_int(data) || is_float(data) || is_complex(data) || matches!(data, TypeData::Index)
}

/// A constraint in words, with the types that it speaks of.
fn words(ir: &Ir, constraint: &Constraint, groups: &[Group<'_>], k: usize) -> String {
    let other = |name: &str| match of_name(groups, name, k) {
        Some(ty) => format!("'{name}', {}", AttrText::of_type(ir, ty)),
        None => format!("'{name}'"),
    };
    match constraint {
        Constraint::Named(word, _) => {
            let class = CONSTRAINTS.iter().find(|(name, _)| *name == &**word);
            class.map_or_else(|| word.to_string(), |(_, meaning)| (*meaning).to_string())
        }
        Constraint::Same(of, _) => format!("the type of {}", other(of)),
        Constraint::Element(of, _) => format!("the type of an element of {}", other(of)),
        Constraint::Like(of, element, _) => {
            format!("of the shape of {} with elements that are {}", other(of), words(ir, element, groups, k))
        }
        Constraint::Of(container, element, _) => {
            format!("a {container} of which an element is {}", words(ir, element, groups, k))
        }
        Constraint::Either(all) => all.iter().map(|c| words(ir, c, groups, k)).collect::<Vec<_>>().join(", or "),
    }
}
