//! The build script: checks the dialect files that come with the compiler, and writes what the crate includes of them: where each definition
//! stands, and typed views of ops. A file that is wrong ends the build with all its errors. It also tells the crate what it is made of.

use rinductor_defs::ast::ItemKind;
use rinductor_defs::views::views;
use rinductor_defs::{Library, read};
use rinductor_support::diag::render::{Style, render};
use rinductor_support::{Diagnostic, SourceId};
use std::collections::hash_map::DefaultHasher;
use std::fmt::Write;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// The files in the order in which they are read: a file of rules comes after the ops that it names.
const FILES: [&str; 31] = [
    "builtin.dialect",
    "func.dialect",
    "arith.dialect",
    "math.dialect",
    "scalar.dialect",
    "sym.dialect",
    "aten.dialect",
    "prims.dialect",
    "aten_pointwise.dialect",
    "aten_divide.dialect",
    "aten_special.dialect",
    "aten_polynomial.dialect",
    "aten_activation.dialect",
    "aten_compare.dialect",
    "aten_reduce.dialect",
    "aten_view.dialect",
    "aten_create.dialect",
    "aten_index.dialect",
    "aten_pool.dialect",
    "aten_pad.dialect",
    "aten_resample.dialect",
    "aten_foreach.dialect",
    "aten_scan.dialect",
    "aten_norm.dialect",
    "aten_loss.dialect",
    "aten_extern.dialect",
    "aten_random.dialect",
    "aten.rules",
    "loops.dialect",
    "kernels.dialect",
    "schedule.dialect",
];

/// The dialects whose ops all have views: their ops are looked at by name. Of the others what an op means is data.
const VIEWED: [&str; 6] = ["builtin", "func", "sym", "loops", "kernels", "schedule"];

/// The ops of `aten` that Rust looks at by name: those about sizes, and those that are no computation.
const VIEWED_ATEN: [&str; 7] = [
    "aten.constant",
    "aten.copy_",
    "aten.none",
    "aten.sym_numel",
    "aten.sym_size.int",
    "aten.sym_storage_offset",
    "aten.sym_stride.int",
];

fn main() {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the crate is"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where to write"));
    println!("cargo::rerun-if-changed=dialects");
    println!("cargo::rerun-if-changed=src/dialects/build.rs");
    println!("cargo::rustc-env=RINDUCTOR_SOURCES={:016x}", sources(&root));
    let folder = root.join("dialects");
    let mut library = Library::new();
    let mut wrong = others(&folder);
    for name in FILES {
        match std::fs::read_to_string(folder.join(name)) {
            Ok(text) => wrong.extend(library.load(&format!("dialects/{name}"), text)),
            Err(e) => wrong.push(Diagnostic::error_nowhere(format!("cannot read dialects/{name}: {e}"))),
        }
    }
    if !wrong.is_empty() {
        eprintln!("{}", render(&wrong, library.sources(), Style::Rich, false));
        std::process::exit(1);
    }
    write(&out.join("checked.rs"), &checked(&library));
    for dialect in VIEWED {
        write(&out.join(format!("{dialect}_views.rs")), &views(library.ops_of(dialect)));
    }
    let aten =
        VIEWED_ATEN.map(|name| library.op(name).unwrap_or_else(|| panic!("there is no op {name} to make a view of")));
    write(&out.join("aten_views.rs"), &views(aten));
}

/// What the compiler is made of, as a number: the cache on disk (`runtime::cache`) keeps nothing from one state of the sources to another.
fn sources(root: &Path) -> u64 {
    let mut work: Vec<PathBuf> =
        ["Cargo.lock", "Cargo.toml", "dialects", "grammar", "src"].map(|n| root.join(n)).into();
    let mut files = Vec::new();
    for name in ["Cargo.lock", "Cargo.toml", "grammar", "src"] {
        println!("cargo::rerun-if-changed={name}");
    }
    while let Some(path) = work.pop() {
        if let Ok(entries) = std::fs::read_dir(&path) {
            work.extend(entries.flatten().map(|e| e.path()));
        } else if let Ok(bytes) = std::fs::read(&path) {
            files.push((path.strip_prefix(root).map(Path::to_path_buf).unwrap_or_default(), bytes));
        }
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    hasher.finish()
}

/// Files of the folder that nothing would read.
fn others(folder: &Path) -> Vec<Diagnostic> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|e| e.file_name().to_string_lossy().into_owned());
    names
        .filter(|n| !FILES.contains(&n.as_str()))
        .map(|n| Diagnostic::error_nowhere(format!("dialects/{n} is not in the list of src/dialects/build.rs")))
        .collect()
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
}

/// Where each item of the files stands.
fn checked(library: &Library) -> String {
    let mut out = String::from(
        "/// The dialect files that come with the compiler, as they were checked.\npub static FILES: &[CheckedFile] = &[\n",
    );
    for (k, name) in FILES.iter().enumerate() {
        let path = format!("concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/dialects/{name}\")");
        let _ = writeln!(out, "CheckedFile {{ name: \"{name}\", text: include_str!({path}), items: &[");
        let (file, _) = read::read(library.sources(), SourceId(k as u32));
        for item in file.items {
            let kind = match item.kind {
                ItemKind::Declaration => "Declaration",
                ItemKind::Op => "Op",
                ItemKind::Rules => "Rules",
            };
            let _ = writeln!(out, "({kind}, \"{}\", {}, {}),", item.name, item.span.start, item.span.end);
        }
        out.push_str("] },\n");
    }
    out.push_str("];\n");
    out
}
