//! What the automatic scheduler does can be said as a schedule: applied in its place, that gives the same module, to the letter.

#[cfg(feature = "llvm")]
use rinductor::driver::compiled::Compiled;
#[cfg(feature = "llvm")]
use rinductor::driver::inputs::{Callee, Source};
#[cfg(feature = "llvm")]
use rinductor::driver::reference::{self, Argument};
use rinductor::driver::session::{self, Dialects};
#[cfg(feature = "llvm")]
use rinductor::driver::{Io, Main, main_opt, main_run, main_tune};
use rinductor::driver::{pipelines, schedule};
use rinductor::ir::Ir;
#[cfg(feature = "llvm")]
use rinductor::pass::pipeline::Pipeline;
#[cfg(feature = "llvm")]
use rinductor::passes::apply_schedule::kernel_key;
#[cfg(feature = "llvm")]
use rinductor::runtime::compare::compare_tensors;
use rinductor::support::SourceMap;
#[cfg(feature = "llvm")]
use rinductor::text::split::split;
use rinductor::text::{PrintOptions, print};
use std::path::{Path, PathBuf};

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("it is a folder").map(|e| e.expect("it can be read").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files_below(&path, found);
        } else if path.extension().is_some_and(|e| e == "ir") {
            found.push(path);
        }
    }
}

fn lowered(ir: &Ir, pipeline: &str, dialects: &Dialects, what: &str) -> String {
    let mut ir = ir.clone();
    let mut sources = SourceMap::new();
    let pipeline =
        pipelines::read("pipeline", pipeline, &mut sources).unwrap_or_else(|d| panic!("{what}: {}", d.message));
    if let Err(said) = pipelines::run(&mut ir, &pipeline, dialects, true) {
        panic!("{what}: {}", said[0].message);
    }
    print(&ir, &dialects.registry, &PrintOptions::default())
}

/// The modules of a test, but for those that hold several files (`split-file`).
fn parts(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("it can be read");
    if text.contains("RUN: split-file") {
        return Vec::new();
    }
    text.split("\n// -----\n").map(str::to_string).collect()
}

#[test]
fn a_printed_schedule_gives_the_same_kernels() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    files_below(&root.join("test/models"), &mut files);
    files_below(&root.join("test/graphs"), &mut files);
    let dialects = Dialects::builtin();
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    let file = folder.path().join("schedule.ir");
    let name = file.display().to_string();
    let (mut tried, mut left) = (0, 0);
    for (path, part) in files.iter().flat_map(|path| parts(path).into_iter().map(move |part| (path, part))) {
        let what = path.display().to_string();
        let mut sources = SourceMap::new();
        let id = sources.add(what.clone(), part).expect("it is short");
        let Ok((ir, _)) = session::parse_part(&sources, id, &dialects, false) else { continue };
        let text = schedule::automatic(&ir, &dialects).unwrap_or_else(|d| panic!("{what}: {}", d.message));
        std::fs::write(&file, &text).expect("it can be written");
        let pipeline = schedule::pipeline_with("cpu", &name, &text, &dialects);
        let pipeline = pipeline.unwrap_or_else(|d| panic!("{what}: {}\n{text}", d.message));
        for pass in ["loops-inline", "loops-fuse", "kernels-tile"] {
            assert!(!pipeline.contains(pass), "{pipeline}");
        }
        let (have, want) = (lowered(&ir, &pipeline, &dialects, &what), lowered(&ir, "cpu", &dialects, &what));
        assert!(have == want, "{what}: the schedule\n{text}\ngives\n{have}\nand not\n{want}");
        left += text.matches("is left to it").count();
        tried += 1;
    }
    assert!(tried > 30, "only {tried} files were tried");
    // The steps of the dialect say all that the scheduler does now.
    assert_eq!(left, 0, "kernels are not said by steps");
}

/// The arguments of a function, from a seed.
#[cfg(feature = "llvm")]
fn arguments(ir: &Ir, func: rinductor::ir::Op, seed: u64) -> Vec<Argument> {
    let mut callee = Callee::new(ir, func).expect("a function that can be called");
    callee.arguments(&Source::Seed(seed), &[]).expect("arguments can be made")
}

/// Every module of the pass's tests computes as machine code what the interpreter computes, before its schedule and after it.
#[cfg(feature = "llvm")]
#[test]
fn steps_change_no_number() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test/passes/apply-schedule");
    let dialects = Dialects::builtin();
    let mut compared = 0;
    for name in ["kernels.ir", "cache.ir"] {
        let text = std::fs::read_to_string(folder.join(name)).expect("it can be read");
        for (line, part) in split(&text) {
            let what = format!("{name}:{line}");
            let mut sources = SourceMap::new();
            let id = sources.add(what.clone(), part).expect("it is short");
            let (before, _) =
                session::parse_part(&sources, id, &dialects, false).unwrap_or_else(|e| panic!("{what}: {e:?}"));
            let Some(func) = before.lookup_symbol("f") else { continue };
            let mut after = before.clone();
            let apply = pipelines::read("pipeline", "apply-schedule", &mut sources).expect("it is a pipeline");
            pipelines::run(&mut after, &apply, &dialects, true).unwrap_or_else(|e| panic!("{what}: {e:?}"));
            for seed in 0..3 {
                let given = arguments(&before, func, seed);
                let copies = || given.iter().map(|a| reference::copy(a).expect("it can be copied")).collect::<Vec<_>>();
                let want = copies();
                reference::run(&before, func, &want, &*dialects.library)
                    .unwrap_or_else(|d| panic!("{what}: {}", d.message));
                let have = copies();
                let compiled = Compiled::new(&after, "f", rinductor::codegen::cpu::Cpu::default())
                    .unwrap_or_else(|d| panic!("{what}: {}", d.message));
                compiled.run(&have).unwrap_or_else(|d| panic!("{what}: {}", d.message));
                for pair in have.iter().zip(&want) {
                    let (Argument::Tensor(have), Argument::Tensor(want)) = pair else { continue };
                    let distance = compare_tensors(have, want, 1e-4, 1e-5).expect("they have one size");
                    assert_eq!(distance.beyond, 0, "{what}, seed {seed}: {distance:?}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= 40, "only {compared} tensors were compared");
}

/// What the search finds is kept, used by compiles, and left alone by the next search.
#[cfg(feature = "llvm")]
#[test]
fn what_a_search_finds_is_used() {
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    let cwd = folder.path();
    // The columns of a matrix, one after the other: the automatic schedule is not the only good one.
    let text = "\
func.func @forward(%x: tensor<64x48xf32>, %y: tensor<64x48xf32>) -> tensor<64xf32> {
  %p = \"aten.mul.Tensor\"(%x, %y) : (tensor<64x48xf32>, tensor<64x48xf32>) -> tensor<64x48xf32>
  %e = \"aten.exp\"(%p) : (tensor<64x48xf32>) -> tensor<64x48xf32>
  %s = \"aten.sum.dim_IntList\"(%e) <{dim = array<i64: 1>}> : (tensor<64x48xf32>) -> tensor<64xf32>
  return %s : tensor<64xf32>
}
";
    std::fs::write(cwd.join("model.ir"), text).expect("it can be written");
    let run = |main: Main, args: &[&str]| {
        let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut io = Io { stdin: &mut std::io::empty(), stdout: &mut out, stderr: &mut err, color: false };
        let code = main(&args, &mut io, cwd);
        assert_eq!(code, 0, "{args:?}: {}", String::from_utf8_lossy(&err));
        String::from_utf8(out).expect("it is text")
    };
    let entry = |steps: &str| {
        let mut sources = SourceMap::new();
        let dialects = Dialects::builtin();
        let id = sources.add("model.ir", text).expect("it is short");
        let (mut ir, _) = session::parse_part(&sources, id, &dialects, false).expect("it is a module");
        let mut all = pipelines::read("cpu", "cpu", &mut sources).expect("there is one").steps;
        let at = all.iter().position(|s| schedule::pass_name(s) == "kernels-tile").expect("kernels are tiled");
        all.truncate(at);
        pipelines::run(&mut ir, &Pipeline { steps: all }, &dialects, true).expect("it is lowered");
        let kernel = ir.ops_named(ir.module(), "kernels.func")[0];
        let (key, machine) = (kernel_key(&ir, kernel), schedule::machine());
        format!(
            "schedule.sequence @known on kernels attributes {{kernel = \"{key}\", machine = \"{machine}\"}} {{\n  \
             %k = schedule.match op \"kernels.func\"\n  {steps}\n}}\n"
        )
    };
    run(main_run, &["model.ir", "--inputs=seed:5", "--outputs=plain.npz"]);
    let compared = ["model.ir", "--inputs=seed:5", "--compare=plain.npz"];
    // An entry is used: the machine code is that of its steps, and the numbers are the same.
    for steps in ["schedule.vectorize %k axis r by 2", "schedule.vectorize %k axis x by 4"] {
        std::fs::write(cwd.join("known.ir"), entry(steps)).expect("it can be written");
        run(main_run, &[&compared[..], &["--schedules=known.ir"]].concat());
        let pipeline =
            schedule::pipeline_with_database("cpu", &cwd.join("known.ir").display().to_string(), &entry(steps));
        let lowered = run(main_opt, &["model.ir", "-p", &pipeline.expect("it is a pipeline")]);
        let axis = if steps.contains("axis x") { "tile 4 parallel" } else { "tile 2 reduce" };
        assert!(lowered.contains(axis), "{lowered}");
        // A kernel that the file knows is left out of a search, and what is not looked for stays in it.
        assert_eq!(run(main_tune, &["model.ir", "--schedules=known.ir", "--budget=0"]), "");
        assert!(std::fs::read_to_string(cwd.join("known.ir")).expect("it is there").contains(steps));
    }
    // A search of a second leaves a file that can be used, or none where nothing was faster.
    let found = run(main_tune, &["model.ir", "--schedules=found.ir", "--budget=1", "--seed=3"]);
    assert!(found.starts_with('@'), "{found}");
    if cwd.join("found.ir").exists() {
        run(main_run, &[&compared[..], &["--schedules=found.ir"]].concat());
    }
}
