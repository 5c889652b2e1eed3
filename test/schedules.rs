//! What the automatic scheduler does can be said as a schedule: applied in its place, that gives the same module, to the letter.

use rinductor::driver::session::{self, Dialects};
use rinductor::driver::{pipelines, schedule};
use rinductor::ir::Ir;
use rinductor::support::SourceMap;
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
    for path in &files {
        let what = path.display().to_string();
        let mut sources = SourceMap::new();
        let text = std::fs::read_to_string(path).expect("it can be read");
        let id = sources.add(what.clone(), text).expect("it is short");
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
