//! The numbers of `dense<…>` constants.

use super::number::{self, Big};
use crate::ir::{AttrData, DYNAMIC, Ir, Type, TypeData};

/// How many numbers a dense text holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// One for all elements.
    Splat,
    /// This many.
    Elements(u64),
    /// As many as a type says whose dialect is not known.
    Unknown,
    /// A hexadecimal string of this many bytes: the elements as they lie in memory.
    Bytes(u64),
}

/// Checks that the text of a `dense<…>` has the shape of its type: nested brackets of its sizes, or one number for all.
///
/// # Errors
/// What is wrong.
pub fn check(ir: &Ir, text: &str, ty: Type) -> Result<Count, String> {
    let (shape, element) = match ir.ty(ty) {
        TypeData::Tensor { shape, element, .. }
        | TypeData::Vector { shape, element, .. }
        | TypeData::MemRef { shape, element, .. } => (shape, *element),
        // What shape a type of an unknown dialect has, its dialect alone says.
        TypeData::Dialect(_) if text.trim().starts_with('[') => return Ok(Count::Unknown),
        TypeData::Dialect(_) => return Ok(Count::Splat),
        _ => return Err("a dense constant has a tensor, vector or memref type".into()),
    };
    if shape.contains(&DYNAMIC) {
        return Err("a dense constant has static sizes".into());
    }
    let total =
        shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d as u64)).ok_or("a dense constant has too many elements")?;
    let text = text.trim();
    if text.is_empty() {
        return if total == 0 { Ok(Count::Elements(0)) } else { Err(format!("no numbers for {total} elements")) };
    }
    if text.starts_with("\"0x") {
        let bytes = (text.len() as u64 - 4) / 2;
        if let Some(bits) = element_bits(ir, element) {
            let each = bits.div_ceil(8);
            let packed = if bits == 1 { total.div_ceil(8) } else { total * each };
            // One element stands for all.
            if bytes != packed && bytes != each {
                return Err(format!("{bytes} bytes for {total} elements of {bits} bits"));
            }
        }
        return Ok(Count::Bytes(bytes));
    }
    if !text.starts_with('[') {
        return Ok(Count::Splat);
    }
    let counted = Nest::count(text, shape)?;
    Ok(Count::Elements(counted))
}

fn element_bits(ir: &Ir, element: Type) -> Option<u64> {
    match ir.ty(element) {
        TypeData::Integer { width, .. } => Some((*width).into()),
        TypeData::Index => Some(64),
        TypeData::Float(kind) => Some(kind.bits().into()),
        TypeData::Complex(inner) => element_bits(ir, *inner).map(|b| b * 2),
        _ => None,
    }
}

/// Counts the entries of nested brackets and holds them against sizes.
struct Nest;

impl Nest {
    fn count(text: &str, shape: &[i64]) -> Result<u64, String> {
        // One counter an open bracket; a number or a closed bracket is an entry of the bracket around it.
        let mut open: Vec<u64> = Vec::new();
        let (mut leaves, mut in_leaf, mut parens, mut done) = (0u64, false, 0u32, false);
        let mut chars = text.char_indices().peekable();
        while let Some((_, c)) = chars.next() {
            match c {
                '"' => {
                    while let Some((_, c)) = chars.next() {
                        match c {
                            '\\' => drop(chars.next()),
                            '"' => break,
                            _ => {}
                        }
                    }
                    if !in_leaf {
                        leaves += 1;
                        if let Some(n) = open.last_mut() {
                            *n += 1;
                        }
                        in_leaf = true;
                    }
                }
                '[' if parens == 0 => {
                    if done || open.len() >= shape.len() {
                        return Err(format!(
                            "the brackets are nested deeper than the {} sizes of the type",
                            shape.len()
                        ));
                    }
                    open.push(0);
                }
                ']' if parens == 0 => {
                    in_leaf = false;
                    let depth = open.len();
                    let Some(n) = open.pop() else { return Err("a bracket is closed that is not open".into()) };
                    let size = shape[depth - 1] as u64;
                    if n != size {
                        return Err(format!("{n} entries in dimension {} of size {size}", depth - 1));
                    }
                    match open.last_mut() {
                        Some(outer) => *outer += 1,
                        None => done = true,
                    }
                }
                '(' => {
                    parens += 1;
                    if !in_leaf && parens == 1 {
                        leaves += 1;
                        in_leaf = true;
                        Self::leaf(&mut open, shape)?;
                    }
                }
                ')' => parens = parens.saturating_sub(1),
                ',' if parens == 0 => in_leaf = false,
                c if c.is_whitespace() => {}
                _ if parens > 0 || in_leaf => {}
                _ => {
                    in_leaf = true;
                    leaves += 1;
                    Self::leaf(&mut open, shape)?;
                }
            }
        }
        if !open.is_empty() {
            return Err("a bracket is not closed".into());
        }
        Ok(leaves)
    }

    fn leaf(open: &mut [u64], shape: &[i64]) -> Result<(), String> {
        if open.len() != shape.len() {
            return Err(format!("a number stands in {} brackets, the type has {} sizes", open.len(), shape.len()));
        }
        if let Some(n) = open.last_mut() {
            *n += 1;
        }
        Ok(())
    }
}

/// The elements of a dense constant of integers, bools or floats, in row-major order, a splat once for each: integers by value, floats by the bits
/// of their format; complex elements as two numbers.
///
/// # Errors
/// It is not a dense constant, or of another element type.
pub fn elements(ir: &Ir, attr: crate::ir::Attr) -> Result<Vec<i64>, String> {
    let AttrData::Dense { text, ty } = ir.attr(attr) else { return Err("not a dense constant".into()) };
    let count = check(ir, text, *ty)?;
    let total: usize = ir.shape(*ty).unwrap_or(&[]).iter().map(|&d| d as usize).product();
    let (element, parts) = match ir.ty(ir.element_type(*ty)) {
        TypeData::Complex(inner) => (*inner, 2),
        _ => (ir.element_type(*ty), 1),
    };
    let values = match count {
        Count::Bytes(_) => bytes(ir, text.trim(), element, total * parts)?,
        Count::Splat | Count::Elements(_) | Count::Unknown => text
            .split(|c: char| c.is_whitespace() || "[](),".contains(c))
            .filter(|t| !t.is_empty())
            .map(|t| number(ir, t, element))
            .collect::<Result<Vec<_>, _>>()?,
    };
    if values.len() == parts && total != 1 {
        return Ok(values.iter().copied().cycle().take(total * parts).collect());
    }
    if values.len() != total * parts {
        return Err(format!("{} numbers for {total} elements", values.len()));
    }
    Ok(values)
}

fn number(ir: &Ir, text: &str, element: Type) -> Result<i64, String> {
    match ir.ty(element) {
        TypeData::Float(kind) => number::float_bits(*kind, text)
            .map(|b| b as i64)
            .map_err(|_| format!("'{text}' is not a number of type {}", kind.spelling())),
        _ => match text {
            "true" => Ok(1),
            "false" => Ok(0),
            _ => Big::parse(text).map(|b| b.low64()).map_err(|_| format!("'{text}' is too long")),
        },
    }
}

fn bytes(ir: &Ir, text: &str, element: Type, total: usize) -> Result<Vec<i64>, String> {
    let hex = text.trim_matches('"').trim_start_matches("0x").as_bytes();
    let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8).ok_or("a digit that is not hexadecimal");
    let bytes: Vec<u8> =
        hex.chunks_exact(2).map(|p| Ok(digit(p[0])? << 4 | digit(p[1])?)).collect::<Result<_, &str>>()?;
    let bits = element_bits(ir, element).ok_or("elements of this type have no bytes")?;
    if bits == 1 {
        if bytes.len() == 1 && total > 8 {
            return Ok(vec![i64::from(bytes[0] & 1)]);
        }
        return Ok((0..total).map(|i| i64::from(bytes[i / 8] >> (i % 8) & 1)).collect());
    }
    let size = bits.div_ceil(8) as usize;
    if size > 8 {
        return Err(format!("elements of {bits} bits are not read"));
    }
    let signed = matches!(ir.ty(element), TypeData::Integer { sign, .. } if *sign != crate::ir::Signedness::Unsigned);
    Ok(bytes
        .chunks_exact(size)
        .map(|c| {
            let v = c.iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b));
            let shift = 64 - size as u32 * 8;
            if signed { ((v << shift) as i64) >> shift } else { v as i64 }
        })
        .collect())
}

/// The text inside `dense<…>` for elements given by value (integers) or by bits (floats): nested brackets, one number when all are equal.
pub fn text(ir: &Ir, values: &[i64], ty: Type) -> String {
    let shape = ir.shape(ty).unwrap_or(&[]);
    let element = ir.element_type(ty);
    let one = |v: i64| match ir.ty(element) {
        TypeData::Float(kind) => number::float_text(*kind, v as u64),
        TypeData::Integer { width: 1, .. } => (v != 0).to_string(),
        TypeData::Integer { sign: crate::ir::Signedness::Unsigned, .. } => (v as u64).to_string(),
        _ => v.to_string(),
    };
    if values.is_empty() {
        return String::new();
    }
    if values.iter().all(|v| v == &values[0]) {
        return one(values[0]);
    }
    let mut out = String::new();
    for (i, &v) in values.iter().enumerate() {
        // A bracket opens or closes wherever a multiple of the inner sizes begins or ends.
        let mut inner = 1;
        let mut opens = 0;
        for &d in shape.iter().rev() {
            inner *= d as usize;
            opens += usize::from(i % inner == 0);
        }
        if i > 0 {
            out.push_str(", ");
        }
        out.extend(std::iter::repeat_n('[', opens));
        out.push_str(&one(v));
        let mut inner = 1;
        for &d in shape.iter().rev() {
            inner *= d as usize;
            if (i + 1) % inner == 0 {
                out.push(']');
            }
        }
    }
    out
}
