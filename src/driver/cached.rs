//! Compiling through the cache on disk: what any process has compiled before is loaded, without passes and without LLVM's.
//!
//! An entry holds the name of the function, the module at the kernel level as text (without the bodies of most kernels), and the object code of
//! its kernels. Its key is a hash of the text that was compiled, the passes, the dialects that were loaded, LLVM's version, and the machine;
//! `runtime::cache` adds the compiler itself.

use super::session::{self, Dialects};
use super::{pipelines, run};
use crate::codegen::compiled::CompiledKernels;
use crate::codegen::cpu::Cpu;
use crate::codegen::kept::without_bodies;
use crate::codegen::threads;
use crate::ir::Ir;
use crate::pass::{Level, OpInfos, level};
use crate::runtime::cache::{Cache, Key, Settings};
use crate::runtime::exec::Executable;
use crate::support::{Diagnostic, Severity, SourceId, SourceMap};
use crate::text::{self, PrintOptions};
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};

/// The key of a text that is lowered by passes, given as texts, and of which a function is compiled.
pub fn key(text: &str, passes: &[&str], function: &str, cpu: Cpu, dialects: &Arc<Dialects>) -> Key {
    // What code is made for: it takes a while to ask.
    static TARGETS: [OnceLock<String>; 2] = [OnceLock::new(), OnceLock::new()];
    let target = TARGETS[usize::from(cpu == Cpu::Cpp)].get_or_init(|| cpu.describe());
    let mut parts = vec![("target", target.as_bytes()), ("function", function.as_bytes()), ("text", text.as_bytes())];
    parts.extend(passes.iter().map(|p| ("passes", p.as_bytes())));
    // Those that come with the compiler are among its sources.
    if !Arc::ptr_eq(dialects, &Dialects::builtin()) {
        let sources = dialects.library.sources();
        parts.extend((0..sources.len()).map(|k| ("dialect", sources.text(SourceId(k as u32)).as_bytes())));
    }
    Key::of(&parts)
}

/// The key of what [`compile_text`] makes of a text.
pub fn text_key(text: &str, pipeline: &str, cpu: Cpu) -> Key {
    key(text, &[pipeline], "", cpu, &Dialects::builtin())
}

/// A cache of compiled functions.
pub struct Cached {
    cache: Cache,
}

/// A function at the kernel level, and its kernels as machine code.
pub struct Found {
    /// The module.
    pub ir: Ir,
    /// The name of the function.
    pub name: String,
    /// Its kernels.
    pub kernels: CompiledKernels,
}

impl Cached {
    /// With the cache in a folder.
    pub fn new(settings: Settings) -> Cached {
        Cached { cache: Cache::new(settings) }
    }

    /// The entries.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// What was kept under a key. An entry that cannot be used is removed with a warning.
    pub fn find(&self, key: &Key, cpu: Cpu, dialects: &Dialects) -> Option<Found> {
        let parts = self.cache.find(key)?;
        match found(&parts, cpu, dialects) {
            Ok(found) => Some(found),
            Err(why) => {
                self.cache.remove(key, &why);
                None
            }
        }
    }

    /// Keeps a module at the kernel level, the name of its function, and the objects of its kernels.
    pub fn keep(&self, key: &Key, ir: &Ir, name: &str, objects: &[Vec<u8>], dialects: &Dialects) {
        // From kernels that cannot be read there are no objects.
        let Ok(short) = without_bodies(ir) else { return };
        let text = text::print(&short, &dialects.registry, &PrintOptions::default());
        let mut parts = vec![name.as_bytes(), text.as_bytes()];
        parts.extend(objects.iter().map(Vec::as_slice));
        self.cache.keep(key, &parts);
    }
}

/// A function from the parts of an entry.
fn found(parts: &[Vec<u8>], cpu: Cpu, dialects: &Dialects) -> Result<Found, String> {
    let [name, text, objects @ ..] = parts else { return Err("it has too few parts".into()) };
    let utf8 = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|e| format!("its text is no text: {e}"));
    let (name, text) = (utf8(name)?, utf8(text)?);
    let mut sources = SourceMap::new();
    let source = sources.add("<cache>", text)?;
    let message = |d: &Diagnostic| format!("its module cannot be used: {}", d.message);
    // What is kept was verified before.
    let (ir, _) = session::parse_part(&sources, source, dialects, true)
        .map_err(|wrong| wrong.first().map_or_else(|| "its module cannot be read".into(), message))?;
    let kernels = cpu.load(&ir, objects).map_err(|d| message(&d))?;
    Ok(Found { ir, name, kernels })
}

/// What a cache has of what [`compile_text`] has made, by the key of the text.
pub fn kept(cached: &Cached, key: &Key, cpu: Cpu) -> Option<(Executable, String)> {
    let Found { ir, name, kernels } = cached.find(key, cpu, &Dialects::builtin())?;
    match Executable::new(&ir, &name, Arc::new(kernels)) {
        Ok(executable) => Some((executable, name)),
        Err(d) => {
            cached.cache().remove(key, &d.message);
            None
        }
    }
}

/// The same for several keys at once; None if one is missing.
pub fn kept_all(cached: &Cached, keys: &[Key], cpu: Cpu) -> Option<Vec<(Executable, String)>> {
    threads::run(0, || keys.par_iter().map(|key| kept(cached, key, cpu)).collect())
}

/// Compiles the only public function of a text: reads and verifies it (`shown` is what messages call it), runs the passes of a pipeline, and compiles the
/// kernels; or takes what a cache has. With it comes the name of the function.
///
/// # Errors
/// All that is wrong, and the texts that it points into.
pub fn compile_text(
    text: &str,
    shown: &str,
    pipeline: &str,
    cpu: Cpu,
    cached: Option<&Cached>,
) -> Result<(Executable, String), (Vec<Diagnostic>, SourceMap)> {
    let dialects = Dialects::builtin();
    let keyed = cached.map(|c| (c, text_key(text, pipeline, cpu)));
    if let Some((cached, key)) = &keyed
        && let Some(kept) = kept(cached, key, cpu)
    {
        return Ok(kept);
    }
    let mut sources = dialects.library.sources().clone();
    match compile(text, shown, pipeline, cpu, &dialects, &mut sources) {
        Ok((executable, name, ir, objects)) => {
            if let Some((cached, key)) = keyed {
                cached.keep(&key, &ir, &name, &objects, &dialects);
            }
            Ok((executable, name))
        }
        Err(wrong) => Err((wrong, sources)),
    }
}

fn compile(
    text: &str,
    shown: &str,
    pipeline: &str,
    cpu: Cpu,
    dialects: &Dialects,
    sources: &mut SourceMap,
) -> Result<(Executable, String, Ir, Vec<Vec<u8>>), Vec<Diagnostic>> {
    let one = |text: String| vec![Diagnostic::error_nowhere(text)];
    let source = sources.add(shown, text).map_err(one)?;
    let (mut ir, said) = session::parse_part(sources, source, dialects, false)?;
    let root = ir.module();
    let wrong = [said, dialects.verify(&mut ir, root)].concat();
    if wrong.iter().any(|d| d.severity == Severity::Error) {
        return Err(wrong);
    }
    let pipeline = pipelines::read("<pipeline>", pipeline, sources).map_err(|d| vec![d])?;
    pipelines::run(&mut ir, &pipeline, dialects, true)?;
    let func = run::function(&ir, None).map_err(one)?;
    let name = ir.symbol_name(func).unwrap_or_default().to_string();
    if !level::fits(&ir, ir.module(), Level::Kernel) {
        return Err(one("the passes leave ops above the kernel level".into()));
    }
    let (kernels, objects) = cpu.compile(&ir).map_err(|d| vec![d])?;
    let executable = Executable::new(&ir, &name, Arc::new(kernels)).map_err(|d| vec![d])?;
    Ok((executable, name, ir, objects))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Tensor;
    use crate::runtime::exec::{Argument, Returned};

    const TEXT: &str = r#"
func.func @forward(%x: tensor<?x16xf32, #aten.layout<sizes = [s0, 16]>>, %s: index {aten.symbol = "s0", aten.min = 2 : i64})
    -> (tensor<?x16xf32, #aten.layout<sizes = [s0, 16]>>, tensor<16xf32>) {
  %e = "aten.exp"(%x) : (tensor<?x16xf32, #aten.layout<sizes = [s0, 16]>>) -> tensor<?x16xf32, #aten.layout<sizes = [s0, 16]>>
  %m = "aten.amax"(%x) <{dim = array<i64: 0>}> : (tensor<?x16xf32, #aten.layout<sizes = [s0, 16]>>) -> tensor<16xf32>
  return %e, %m : tensor<?x16xf32, #aten.layout<sizes = [s0, 16]>>, tensor<16xf32>
}
"#;

    fn cached(folder: &std::path::Path) -> Cached {
        Cached::new(Settings { folder: folder.to_path_buf(), limit: 1 << 30 })
    }

    fn compiled(text: &str, cached: Option<&Cached>) -> Executable {
        let (executable, name) =
            compile_text(text, "a.ir", "cpu", Cpu::default(), cached).unwrap_or_else(|e| panic!("{:?}", e.0));
        assert_eq!(name, "forward");
        executable
    }

    fn results(executable: &Executable) -> Vec<Vec<u8>> {
        let x = Tensor::from_slice(&[5, 16], &(0..80).map(|k| k as f32 / 8.0 - 5.0).collect::<Vec<_>>()).unwrap();
        let bytes = |r: Returned| match r {
            Returned::Tensor(t) => Tensor::to_le_bytes(&t).unwrap(),
            other => panic!("{other:?}"),
        };
        executable.run(&[Argument::Tensor(x), Argument::Int(5)]).unwrap().into_iter().map(bytes).collect()
    }

    fn parameters(executable: &Executable) -> Vec<String> {
        executable.parameters().map(|p| format!("{p:?}")).collect()
    }

    #[test]
    fn what_was_kept_does_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let plain = compiled(TEXT, None);
        let first = cached(dir.path());
        let second = cached(dir.path());
        let key = key(TEXT, &["cpu"], "", Cpu::default(), &Dialects::builtin());
        assert!(second.find(&key, Cpu::default(), &Dialects::builtin()).is_none());
        for executable in [compiled(TEXT, Some(&first)), compiled(TEXT, Some(&second))] {
            assert_eq!(parameters(&executable), parameters(&plain));
            assert_eq!(results(&executable), results(&plain));
        }
        assert!(second.find(&key, Cpu::default(), &Dialects::builtin()).is_some());
        assert_eq!(first.cache().warnings(), [""; 0]);
        assert_eq!(second.cache().warnings(), [""; 0]);
    }

    #[test]
    fn what_was_kept_writes_the_same_arguments() {
        let text = r#"
func.func @forward(%p: tensor<8x4xf32>, %q: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = "aten.add.Tensor"(%p, %q) <{alpha = 1 : i64}> : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = "aten.copy_"(%p, %0) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
"#;
        let dir = tempfile::tempdir().unwrap();
        let cached = cached(dir.path());
        for _ in 0..2 {
            let executable = compiled(text, Some(&cached));
            let written: Vec<bool> = executable.parameters().map(|p| p.written).collect();
            assert_eq!(written, [true, false]);
        }
    }

    #[test]
    fn what_it_depends_on_is_in_the_key() {
        let builtin = Dialects::builtin();
        let (loaded, wrong) = Dialects::with_files([("a.dialect", "/// Mine.\ndialect mine;\n")]);
        assert!(wrong.is_empty(), "{wrong:?}");
        let keys = [
            key(TEXT, &["cpu"], "", Cpu::default(), &builtin),
            key(&TEXT.replace("16", "17"), &["cpu"], "", Cpu::default(), &builtin),
            key(TEXT, &["cpu-debug"], "", Cpu::default(), &builtin),
            key(TEXT, &["cpu", "dce"], "", Cpu::default(), &builtin),
            key(TEXT, &["cpu"], "forward", Cpu::default(), &builtin),
            key(TEXT, &["cpu"], "", Cpu::default(), &loaded),
        ];
        for (i, a) in keys.iter().enumerate() {
            assert_eq!(keys.iter().position(|b| b == a), Some(i), "keys {keys:?}");
        }
        assert_eq!(keys[0], key(TEXT, &["cpu"], "", Cpu::default(), &builtin));
        assert!(!Cpu::ALL.contains(&Cpu::Llvm) || Cpu::Llvm.describe().contains("LLVM 22."));
        assert_ne!(Cpu::Llvm.describe(), Cpu::Cpp.describe());
    }

    #[test]
    fn an_entry_that_is_whole_but_means_nothing_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let cached = cached(dir.path());
        let key = key(TEXT, &["cpu"], "", Cpu::default(), &Dialects::builtin());
        drop(compiled(TEXT, Some(&cached)));
        let good = cached.cache().find(&key).unwrap();
        let empty = b"module {\n}\n".as_slice();
        let object = good[2].as_slice();
        let lists: [&[&[u8]]; 6] = [
            &[],
            &[b"forward", b"\xff", object],
            &[b"forward", b"func.func", object],
            &[b"forward", empty, object],
            &[b"forward", &good[1], b"no object"],
            &[b"forward", &good[1]],
        ];
        for parts in lists {
            cached.cache().keep(&key, parts);
            assert_eq!(results(&compiled(TEXT, Some(&cached))).len(), 2);
            let said = cached.cache().warnings();
            assert!(said.len() == 1 && said[0].contains("is not used"), "{said:?}");
            // In its place there is what was compiled.
            assert_eq!(cached.cache().find(&key).unwrap()[1], good[1]);
        }
    }

    #[test]
    fn errors_are_those_without_a_cache_and_are_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let cached = cached(dir.path());
        let broken = TEXT.replace("array<i64: 0>", "array<i64: 7>");
        for (text, pipeline) in [(broken.as_str(), "cpu"), (TEXT, "cup"), (TEXT, "cse"), ("nothing", "cpu")] {
            let said = |cached| {
                let (wrong, sources) =
                    compile_text(text, "a.ir", pipeline, Cpu::default(), cached).err().expect("it is wrong");
                wrong.iter().map(|d| d.headline(&sources)).collect::<Vec<_>>()
            };
            assert_eq!(said(Some(&cached)), said(None));
            assert!(!said(None).is_empty());
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
