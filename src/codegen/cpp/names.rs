//! Names of C++: what IR calls a value, made an identifier that means nothing else.

/// Words that a name must not be: C++'s, and what the emitted code calls.
const TAKEN: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "class",
    "compl",
    "const",
    "const_cast",
    "constexpr",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "linux",
    "Memory",
    "fail",
    "copy",
    "least",
    "greatest",
    "floordiv",
    "floormod",
    "wide",
    "narrow",
    "matmul",
    "convolution",
    "Window",
    "Strided",
    "Brain",
    "Half",
    "out_of_range",
    "message",
    "sizes",
    "to",
    "from",
    "unix",
    "main",
    // Functions that are made where they are used.
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "pow",
    "hypot",
];

/// Whether the emitted code uses a word for something else.
pub fn is_taken(name: &str) -> bool {
    TAKEN.contains(&name) || super::prelude::is_name(name)
}

/// A text as an identifier.
pub fn identifier(text: &str) -> String {
    let mut name: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    // Two underscores belong to the compiler.
    while name.contains("__") {
        name = name.replace("__", "_");
    }
    let name = name.trim_end_matches('_');
    let name = name.strip_prefix('_').unwrap_or(name);
    match name.chars().next() {
        None => "v".to_string(),
        Some(c) if c.is_ascii_digit() => format!("v{name}"),
        Some(_) => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_identifiers() {
        for (text, name) in [("x", "x"), ("0", "v0"), ("a.b#1", "a_b_1"), ("__x", "x"), ("", "v"), ("é", "v")] {
            assert_eq!(identifier(text), name);
        }
        assert!(is_taken("while") && is_taken("load") && !is_taken("loads"));
    }
}
