//! How the function of a program is called from C: its header, and a small program that calls it.

use std::fmt::Write;

use rinductor_scalar::DType;

/// A tensor that is given or taken, or a number that is taken.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its elements.
    pub dtype: DType,
    /// Its sizes, over the symbols.
    pub sizes: Vec<String>,
    /// Its strides, in elements.
    pub strides: Vec<String>,
    /// How many elements its memory has.
    pub reach: String,
    /// Whether the function writes it.
    pub written: bool,
}

impl Parameter {
    /// A number.
    pub fn number(name: String) -> Parameter {
        Parameter { name, dtype: DType::I64, sizes: Vec::new(), strides: Vec::new(), reach: "1".into(), written: true }
    }
}

/// What a function is called with.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Its name.
    pub name: String,
    /// The tensors that it takes.
    pub inputs: Vec<Parameter>,
    /// Symbols, with their least values.
    pub sizes: Vec<(String, i64)>,
    /// What it writes.
    pub results: Vec<Parameter>,
}

/// The type of an element in C; 16-bit floats are their bits.
fn c_type(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "float",
        DType::F64 => "double",
        DType::F16 | DType::BF16 => "uint16_t",
        DType::I1 | DType::U8 => "uint8_t",
        DType::I8 => "int8_t",
        DType::I16 => "int16_t",
        DType::I32 => "int32_t",
        _ => "int64_t",
    }
}

impl Signature {
    /// The head of the function.
    pub fn head(&self) -> String {
        let mut all = Vec::new();
        for p in &self.inputs {
            all.push(format!("{}{} *{}", if p.written { "" } else { "const " }, c_type(p.dtype), p.name));
        }
        all.extend(self.sizes.iter().map(|(s, _)| format!("int64_t {s}")));
        all.extend(self.results.iter().map(|p| format!("{} *{}", c_type(p.dtype), p.name)));
        all.extend(["char *message".into(), "size_t message_size".into()]);
        format!("int {}({})", self.name, all.join(", "))
    }

    /// The header.
    pub fn header(&self) -> String {
        let guard = format!("{}_H", self.name.to_uppercase());
        let mut out = format!("#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n#include <stdint.h>\n\n");
        out.push_str("#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n/*\n");
        for (kind, list) in [("takes", &self.inputs), ("writes", &self.results)] {
            for p in list {
                let note = if kind == "takes" && p.written { ", which it changes" } else { "" };
                let _ = writeln!(
                    out,
                    " * {kind} {}: {} of sizes [{}], strides [{}] in elements, {} elements of memory{note}",
                    p.name,
                    p.dtype,
                    p.sizes.join(", "),
                    p.strides.join(", "),
                    p.reach
                );
            }
        }
        for (s, least) in &self.sizes {
            let _ = writeln!(out, " * takes {s}: a size, {least} or more");
        }
        out.push_str(" * Gives 0, or 1 with the reason in message.\n */\n");
        let _ = write!(out, "{};\n\n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n", self.head());
        out
    }

    /// A program that calls the function with numbers that it makes up, and shows what comes.
    pub fn main(&self) -> String {
        let mut out = format!(
            "/* Calls {name} with numbers that are made up, and shows the first of each result. */\n\
             #include \"{name}.h\"\n\n#include <stdio.h>\n#include <stdlib.h>\n\n\
             static int64_t floordiv(int64_t a, int64_t b) {{ return a / b - (a % b != 0 && (a < 0) != (b < 0)); }}\n\
             static int64_t floormod(int64_t a, int64_t b) {{ return a - floordiv(a, b) * b; }}\n\
             static int64_t least(int64_t a, int64_t b) {{ return a < b ? a : b; }}\n\
             static int64_t greatest(int64_t a, int64_t b) {{ return a > b ? a : b; }}\n\nint main(void) {{\n  \
             (void)floordiv, (void)floormod, (void)least, (void)greatest;\n",
            name = self.name
        );
        for (s, least) in &self.sizes {
            let _ = writeln!(out, "  int64_t {s} = {};", (*least).max(8));
        }
        for p in self.inputs.iter().chain(&self.results) {
            let ty = c_type(p.dtype);
            let _ = writeln!(
                out,
                "  const int64_t {0}_count = {1};\n  {ty} *{0} = calloc((size_t){0}_count + 1, sizeof({ty}));",
                p.name, p.reach
            );
        }
        for p in &self.inputs {
            let value = match p.dtype {
                DType::F32 | DType::F64 => "(k % 17) / 8.0 - 1",
                // Small numbers near 1 of either format; indices of what has an element.
                DType::BF16 => "0x3f80 + k % 7",
                DType::F16 => "0x3c00 + k % 7",
                _ => "0",
            };
            let ty = c_type(p.dtype);
            let _ = writeln!(out, "  for (int64_t k = 0; k < {0}_count; k++) {0}[k] = ({ty})({value});", p.name);
        }
        let mut args: Vec<&str> = self.inputs.iter().map(|p| p.name.as_str()).collect();
        args.extend(self.sizes.iter().map(|s| s.0.as_str()));
        args.extend(self.results.iter().map(|p| p.name.as_str()));
        let _ = write!(
            out,
            "  char message[256];\n  if ({}({}, message, sizeof message)) {{\n    fprintf(stderr, \"%s\\n\", message);\n    return 1;\n  }}\n",
            self.name,
            args.join(", ")
        );
        for p in &self.results {
            let (format, cast) = match p.dtype {
                DType::F32 | DType::F64 => (" %g", "(double)"),
                _ => (" %lld", "(long long)"),
            };
            let _ = write!(
                out,
                "  printf(\"{0}:\");\n  for (int64_t k = 0; k < {0}_count && k < 8; k++) printf(\"{format}\", {cast}{0}[k]);\n  printf(\"\\n\");\n",
                p.name
            );
        }
        for p in self.inputs.iter().chain(&self.results) {
            let _ = writeln!(out, "  free({});", p.name);
        }
        out.push_str("  return 0;\n}\n");
        out
    }
}
