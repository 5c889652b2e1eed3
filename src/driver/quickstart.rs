//! `rinductor-quickstart`: takes a graph down to machine code pass by pass, leaves every stage as a file, runs every stage, and shows a table.

use super::model::{Model, Verdict};
use super::program::{self, Problem, Program};
use super::{Io, args, inputs, io, pipelines, reference, session};
use crate::codegen::cpu::Cpu;
use crate::ir::Ir;
use crate::pass::Level;
use crate::pass::level::dialect_of;
use crate::pass::pipeline::{Pipeline, Step};
use crate::text::{PrintOptions, print};
use clap::{Arg, Command};
use std::path::Path;
use std::time::{Duration, Instant};

fn command() -> Command {
    let value = |name: &'static str, value: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).default_value(default).help(help)
    };
    args::common(Command::new("rinductor-quickstart"))
        .about("Lowers a graph pass by pass, leaves each stage as a file, runs each stage, and compares with what is expected")
        .override_usage("rinductor-quickstart [OPTIONS] INPUT")
        .arg(args::required_input())
        .arg(
            Arg::new("expected")
                .long("expected")
                .value_name("FILE")
                .help("What it must compute, and from which inputs; expected.json beside the graph if not given"),
        )
        .arg(value("stages", "DIR", "target/quickstart", "Where the stages are written"))
        .arg(value("pipeline", "PIPELINE", "cpu", "Passes, by text or by the name of a pipeline"))
        .arg(
            value("repeat", "N", "20", "How many runs the time is the median of")
                .value_parser(clap::value_parser!(u32).range(1..)),
        )
}

/// The program. Gives its exit code: 1 when anything failed, or when results are not as expected.
pub fn main_quickstart(args: &[String], io: &mut Io, cwd: &Path) -> i32 {
    program::main(command(), args, io, cwd, &mut |program: &mut Program, io: &mut Io| {
        run(program, io).map(|agrees| i32::from(!agrees))
    })
}

fn run(program: &mut Program, io: &mut Io) -> Result<bool, Problem> {
    let cwd = program.cwd;
    let dialects = program.dialects.clone();
    let option = |program: &Program, id: &str| program.text(id).unwrap_or("").to_string();
    let start = Instant::now();
    let (mut ir, _) = program.module(io)?;
    let reading = start.elapsed();
    let func = ir.lookup_symbol("forward").ok_or("the graph has no function @forward".to_string())?;
    let file = program.input();
    let beside = Path::new(file).with_file_name("expected.json").display().to_string();
    let expected = program.text("expected").unwrap_or(&beside);
    let model = Model::new(&ir, func, inputs::expected_graph(expected, None, file, cwd)?)?;

    let steps = pipelines::read("<pipeline>", &option(program, "pipeline"), &mut program.sources)?.steps;
    let folder = &option(program, "stages");
    empty_folder(&cwd.join(folder)).map_err(|e| format!("cannot make the folder '{folder}': {e}"))?;
    let mut table = Table { folder, number: 0, agrees: true, cwd };
    table.head(io)?;
    table.stage("(as read)", reading, &ir, &model, &dialects, io)?;

    for step in steps {
        let name = match &step {
            Step::Pass(pass) => pass.pass.name().to_string(),
            Step::Nested { anchor, .. } => anchor.clone(),
        };
        let start = Instant::now();
        let said = pipelines::run(&mut ir, &Pipeline { steps: vec![step] }, &dialects, true)?;
        let time = start.elapsed();
        program.show(&said, io);
        table.stage(&name, time, &ir, &model, &dialects, io)?;
    }
    let repeat = program.matches.get_one::<u32>("repeat").copied().unwrap_or(1);
    machine_code(&ir, &model, repeat, &mut table, io)?;
    let verdict = if table.agrees { "agrees" } else { "does NOT agree" };
    let line = format!(
        "\nEvery stage {verdict} with eager PyTorch. 'error' is the greatest distance from its values, relative to the greatest of them;\n\
         stages were run by the reference interpreter. The files are in {folder}/.\n"
    );
    table.write(&line, io)?;
    Ok(table.agrees)
}

/// Makes a folder without the stages of an earlier run.
fn empty_folder(dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "ir") {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// The table, which grows while the work goes on.
struct Table<'a> {
    folder: &'a str,
    number: usize,
    agrees: bool,
    cwd: &'a Path,
}

impl Table<'_> {
    fn head(&self, io: &mut Io) -> Result<(), String> {
        self.write(&format!("{:21}{:8}{:>6}{:>12}{:>11}  {}\n", "stage", "level", "ops", "time", "error", "file"), io)
    }

    /// Writes a stage to its file, interprets it, and adds its row.
    fn stage(
        &mut self,
        name: &str,
        time: Duration,
        ir: &Ir,
        model: &Model,
        dialects: &session::Dialects,
        io: &mut Io,
    ) -> Result<(), Problem> {
        let file = match self.number {
            0 => "00-graph.ir".to_string(),
            n => format!("{n:02}-{name}.ir"),
        };
        self.number += 1;
        let printed = print(ir, &dialects.registry, &PrintOptions::default());
        let path = Path::new(self.folder).join(&file).display().to_string();
        io::write_output(&path, printed.as_bytes(), self.cwd, io.stdout)?;
        let arguments = model.arguments()?;
        let func = ir.lookup_symbol("forward").ok_or_else(|| format!("{name} removed the function @forward"))?;
        let results = reference::run(ir, func, &arguments, &*dialects.library)?;
        let verdict = model.judge(&arguments, &results)?;
        let level = Level::of(ir, ir.module()).map_or("mixed", Level::word);
        self.row(&format!("{name:21}{level:8}{:>6}{:>12}", ops(ir), show_time(time)), &verdict, &file, io)?;
        Ok(())
    }

    fn row(&mut self, start: &str, verdict: &Verdict, end: &str, io: &mut Io) -> Result<(), String> {
        self.write(format!("{start}{:>11.1e}  {end}", verdict.distance).trim_end(), io)?;
        self.write("\n", io)?;
        for line in &verdict.wrong {
            self.write(&format!("  {line}\n"), io)?;
        }
        self.agrees &= verdict.wrong.is_empty();
        Ok(())
    }

    fn write(&self, text: &str, io: &mut Io) -> Result<(), String> {
        io::write_output("-", text.as_bytes(), self.cwd, io.stdout)
    }
}

/// How many ops an IR has, without the module, and without functions and what ends them.
fn ops(ir: &Ir) -> usize {
    let mut n = 0;
    ir.walk(ir.module(), &mut |op| {
        let name = ir.op_name(op);
        n += usize::from(!["builtin", "func"].contains(&dialect_of(name)));
    });
    n
}

fn show_time(t: Duration) -> String {
    format!("{:.2} ms", t.as_secs_f64() * 1e3)
}

/// Compiles the last stage, runs it, and adds the row of it.
fn machine_code(ir: &Ir, model: &Model, repeat: u32, table: &mut Table, io: &mut Io) -> Result<(), Problem> {
    if !Cpu::ALL.contains(&Cpu::Llvm) {
        table.write("\nThis was built without LLVM: there is no machine code.\n", io)?;
        return Ok(());
    }
    let start = Instant::now();
    let compiled = super::compiled::Compiled::new(ir, "forward", Cpu::Llvm)?;
    let compiling = start.elapsed();
    let arguments = model.arguments()?;
    let verdict = model.judge(&arguments, &compiled.run(&arguments)?)?;
    let row = format!("{:21}{:8}{:>6}{:>12}", "LLVM, machine code", "", "", show_time(compiling));
    table.row(&row, &verdict, "(in memory)", io)?;
    let mut times = Vec::new();
    for _ in 0..repeat {
        let arguments = model.arguments()?;
        let start = Instant::now();
        compiled.run(&arguments)?;
        times.push(start.elapsed());
    }
    times.sort();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let line = format!("\n{} kernels; one run takes {} (median of {repeat})\n", compiled.kernels(), show_time(median));
    table.write(&line, io)?;
    Ok(())
}
