//! Extern ops as calls of `torch.ops`: operands and properties in the order of the op's schema.

use rinductor_defs::ast::SchemaParam;
use rinductor_defs::schema::Base;
use rinductor_defs::{OpDef, Signature};

use super::body::float_literal;
use super::names::quoted;
use crate::codegen::kernel::dtype_of;
use crate::codegen::literal::float_of_bits;
use crate::ir::{Attr, AttrData, Dict, Ir, Type};
use rinductor_scalar::DType;

/// What holds the place of a symbolic integer in a list.
const PLACE_HELD: i64 = i64::MIN;

/// The call of an op; `operands` are texts in the order of the schema.
///
/// # Errors
/// A sentence that says what cannot be written.
pub(super) fn call(
    ir: &Ir,
    name: &str,
    def: Option<&OpDef>,
    props: Dict,
    operands: &[String],
) -> Result<String, String> {
    let Some(Signature::Schema(sig)) = def.map(|d| &d.signature) else {
        return Err(format!("'{name}' has no schema, so that it cannot be called through torch"));
    };
    let counts = ir.dict_get(props, "operandSegmentSizes").and_then(|a| ir.as_ints(a));
    let with_counts: Vec<&SchemaParam> = sig.params.iter().filter(|p| p.ty.has_segment()).collect();
    if let Some(c) = &counts
        && c.len() != with_counts.len()
    {
        return Err(format!(
            "'{name}': operandSegmentSizes has {} entries for {} arguments",
            c.len(),
            with_counts.len()
        ));
    }
    let mut rest = operands.iter();
    let mut counted = 0;
    let mut args: Vec<String> = Vec::new();
    let mut skipped = false;
    for param in &sig.params {
        let attr = ir.dict_get(props, &param.name.text);
        let n = if !param.ty.has_segment() {
            0
        } else {
            let n = match &counts {
                Some(c) => c[counted].max(0) as usize,
                None => usize::from(param.ty.is_tensor() && attr.is_none() && rest.len() > 0),
            };
            counted += 1;
            n
        };
        let mine: Vec<&String> = rest.by_ref().take(n).collect();
        if mine.len() < n {
            return Err(format!("'{name}': too few operands"));
        }
        let text = match (attr, mine.is_empty()) {
            (Some(a), true) => Some(literal(ir, a, param)?),
            // A list whose symbolic entries are operands.
            (Some(a), false) => {
                let values =
                    ir.as_ints(a).ok_or_else(|| format!("'{name}': {} is no list of integers", param.name.text))?;
                let mut mine = mine.into_iter();
                let items = values.into_iter().map(|v| match v {
                    PLACE_HELD => mine.next().cloned().unwrap_or_default(),
                    v => v.to_string(),
                });
                Some(list(items.collect()))
            }
            (None, false) if param.ty.list => Some(list(mine.into_iter().cloned().collect())),
            (None, false) => Some(mine[0].clone()),
            (None, true) if param.ty.list && param.ty.is_tensor() && param.default.is_none() => Some("[]".into()),
            // What makes a tensor from nothing makes it where the function runs.
            (None, true)
                if param.ty.base == Base::Device && !(param.ty.optional() && operands.iter().any(|o| o != "None")) =>
            {
                Some("device".into())
            }
            (None, true) => None,
        };
        match text {
            Some(text) if param.keyword_only || skipped => args.push(format!("{}={text}", param.name.text)),
            Some(text) => args.push(text),
            None => skipped = true,
        }
    }
    if rest.len() > 0 {
        return Err(format!("'{name}': more operands than its schema has"));
    }
    let path = if name.matches('.').count() == 1 { format!("{name}.default") } else { name.to_string() };
    if path.split('.').any(|word| matches!(word, "from" | "in" | "is" | "lambda" | "pass" | "global")) {
        return Err(format!("'{name}' has a word of Python in its name"));
    }
    // Torch's own functions read their arguments faster than `torch.ops`.
    match name.strip_prefix("aten.") {
        Some(function) if makes_memory(name) => Ok(format!("torch.{function}({})", args.join(", "))),
        _ => Ok(format!("torch.ops.{path}({})", args.join(", "))),
    }
}

/// Whether an op's result is new memory, and torch has a function of its name with the arguments of its schema.
pub(super) fn makes_memory(name: &str) -> bool {
    lies_in_order(name) || name == "aten.convolution"
}

/// Whether an op's result lies in order whatever it is given.
pub(super) fn lies_in_order(name: &str) -> bool {
    matches!(name, "aten.mm" | "aten.addmm" | "aten.bmm" | "aten.baddbmm")
}

fn list(items: Vec<String>) -> String {
    format!("[{}]", items.join(", "))
}

/// A property as Python.
fn literal(ir: &Ir, attr: Attr, param: &SchemaParam) -> Result<String, String> {
    Ok(match ir.attr(attr) {
        AttrData::Bool(b) => python_bool(*b).into(),
        AttrData::Integer { value, ty } if ir.int_width(*ty).is_some_and(|w| w.0 == 1) => {
            python_bool(*value != 0).into()
        }
        AttrData::Integer { value, .. } if param.ty.base == Base::Float => float_literal(*value as f64),
        AttrData::Integer { value, .. } => value.to_string(),
        AttrData::Float { bits, ty } => float_literal(float_of_bits(dtype_of(ir, *ty).unwrap_or(DType::F64), *bits)),
        AttrData::String(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            match param.ty.base {
                Base::MemoryFormat | Base::Layout => format!("torch.{text}"),
                Base::Device if text.starts_with("cuda") || text == "cpu" => "device".into(),
                Base::Device => format!("torch.device({})", quoted(&text)),
                _ => quoted(&text),
            }
        }
        AttrData::Type(t) => torch_dtype(ir, *t).ok_or_else(|| format!("{} is no dtype", param.name.text))?,
        AttrData::Array(items) => {
            let items: Result<Vec<String>, String> = items.iter().map(|&i| literal(ir, i, param)).collect();
            list(items?)
        }
        AttrData::DenseArray { element, values } => {
            let kind = dtype_of(ir, *element).unwrap_or(DType::I64);
            let one = |&v: &i64| match kind {
                DType::I1 => python_bool(v != 0).to_string(),
                d if d.is_float() => float_literal(float_of_bits(d, v as u64)),
                _ => v.to_string(),
            };
            list(values.iter().map(one).collect())
        }
        AttrData::Unit => "None".into(),
        _ => return Err(format!("the property {} has no form in Python", param.name.text)),
    })
}

fn python_bool(b: bool) -> &'static str {
    if b { "True" } else { "False" }
}

/// The `torch.dtype` of an element type.
pub(super) fn torch_dtype(ir: &Ir, ty: Type) -> Option<String> {
    dtype_of(ir, ty).map(dtype_name)
}

/// The `torch.dtype` of an element type.
pub(super) fn dtype_name(dtype: DType) -> String {
    let name = match dtype {
        DType::I1 => "bool",
        DType::U8 => "uint8",
        DType::I8 => "int8",
        DType::I16 => "int16",
        DType::I32 => "int32",
        DType::I64 | DType::Index => "int64",
        DType::F16 => "float16",
        DType::BF16 => "bfloat16",
        DType::F32 => "float32",
        DType::F64 => "float64",
        DType::F8E4M3FN => "float8_e4m3fn",
        DType::F8E5M2 => "float8_e5m2",
        DType::C64 => "complex64",
        DType::C128 => "complex128",
    };
    format!("torch.{name}")
}
