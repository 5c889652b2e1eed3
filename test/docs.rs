//! The documentation is what the programs do: generated pages are up to date, and the examples of pages run.
//!
//! In a page, a block after a line that ends with a file's name in backquotes and a colon is that file; a `console` block shows commands after `$ ` and what
//! they print. `RINDUCTOR_BLESS=1 cargo test --test docs` writes generated pages and outputs of commands as they are now.

use rinductor::driver::session::Dialects;
use rinductor::driver::{Io, docs, help, main_opt, main_run, main_translate};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn blessing() -> bool {
    std::env::var_os("RINDUCTOR_BLESS").is_some_and(|v| v != "0")
}

/// Holds a file against what it should be, or writes it; gives what is wrong.
fn hold(path: &Path, want: &str) -> Option<String> {
    let full = root().join(path);
    let have = std::fs::read_to_string(&full).unwrap_or_default();
    if have == want {
        return None;
    }
    if blessing() {
        std::fs::create_dir_all(full.parent().expect("it is below the root")).expect("the folder can be made");
        std::fs::write(&full, want).expect("the page can be written");
        return None;
    }
    let line = have.lines().zip(want.lines()).take_while(|(a, b)| a == b).count();
    let at = |text: &str| text.lines().nth(line).unwrap_or("(the end)").to_string();
    Some(format!(
        "{}:{}: has\n  {}\nand should have\n  {}\nRINDUCTOR_BLESS=1 cargo test --test docs writes it",
        path.display(),
        line + 1,
        at(&have),
        at(want)
    ))
}

fn assert_none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn generated_pages_are_up_to_date() {
    let dialects = Dialects::builtin();
    let library = &dialects.library;
    let mut pages = BTreeMap::new();
    pages.insert(PathBuf::from("docs/passes.md"), help::pass_docs());
    pages.insert(PathBuf::from("docs/dialects/index.md"), docs::dialect_list(library));
    for dialect in library.dialects() {
        let name = &dialect.name.text;
        pages.insert(PathBuf::from(format!("docs/dialects/{name}.md")), docs::dialect_page(library, name));
    }
    let mut wrong: Vec<String> = pages.iter().filter_map(|(path, text)| hold(path, text)).collect();
    for file in std::fs::read_dir(root().join("docs/dialects")).expect("the folder is in the repository") {
        let path = Path::new("docs/dialects").join(file.expect("it can be read").file_name());
        if !pages.contains_key(&path) {
            wrong.push(format!("{} is about no dialect", path.display()));
        }
    }
    assert_none(wrong);
}

/// The words of a command: separated by spaces, except inside single quotes.
fn words(command: &str) -> Vec<String> {
    let mut list = vec![String::new()];
    let mut quoted = false;
    for c in command.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => list.push(String::new()),
            c => list.last_mut().expect("it starts with one").push(c),
        }
    }
    list.retain(|w| !w.is_empty());
    list
}

/// What a command prints: a program of rinductor in this process, perhaps followed by `| head -N`, or `cat` of files.
fn output(command: &str, cwd: &Path) -> Result<String, String> {
    let (command, filter) = command.split_once(" | ").map_or((command, None), |(c, f)| (c, Some(f)));
    let words = words(command);
    let (program, args) = words.split_first().ok_or("an empty command")?;
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut io = Io { stdin: &mut std::io::empty(), stdout: &mut stdout, stderr: &mut stderr, color: false };
    match program.as_str() {
        "rinductor-opt" => main_opt(args, &mut io, cwd),
        "rinductor-run" => main_run(args, &mut io, cwd),
        "rinductor-translate" => main_translate(args, &mut io, cwd),
        "cat" => {
            for file in args {
                stdout.extend(std::fs::read(cwd.join(file)).map_err(|e| format!("{file}: {e}"))?);
            }
            0
        }
        other => return Err(format!("'{other}' is no program that a page can show")),
    };
    stderr.extend(stdout);
    let text = String::from_utf8(stderr).map_err(|e| e.to_string())?;
    let Some(filter) = filter else { return Ok(text) };
    let n = filter.strip_prefix("head -").and_then(|n| n.parse().ok());
    let n: usize = n.ok_or_else(|| format!("'{filter}' is no filter that a page can use"))?;
    Ok(text.lines().take(n).map(|l| format!("{l}\n")).collect())
}

/// The page with the outputs of its commands as they are now, and how many commands ran.
fn executed(page: &str) -> Result<(String, usize), String> {
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    let (mut out, mut before, mut commands) = (String::new(), String::new(), 0);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        out += line;
        out.push('\n');
        let Some(language) = line.strip_prefix("```") else {
            before = if line.trim().is_empty() { before } else { line.to_string() };
            continue;
        };
        let body: Vec<&str> = lines.by_ref().take_while(|l| !l.starts_with("```")).collect();
        let file = before.strip_suffix("`:").and_then(|b| b.rsplit_once('`')).map(|(_, name)| name);
        if language == "console" {
            for command in joined(&body) {
                let shown = command.replace(" \\\n", " ");
                let printed = output(shown.trim(), dir.path()).map_err(|e| format!("$ {command}\n{e}"))?;
                out += &format!("$ {command}\n{}", printed.trim_end());
                out += if printed.trim().is_empty() { "" } else { "\n" };
                commands += 1;
            }
        } else {
            let text: String = body.iter().map(|l| format!("{l}\n")).collect();
            if let Some(file) = file {
                std::fs::write(dir.path().join(file), &text).map_err(|e| format!("{file}: {e}"))?;
            }
            out += &text;
        }
        out += "```\n";
        before.clear();
    }
    Ok((out, commands))
}

/// The commands of a block; one that ends with a backslash goes on on the next line.
fn joined(body: &[&str]) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in body {
        if let (true, Some(last)) = (goes_on, list.last_mut()) {
            last.push('\n');
            last.push_str(line);
        } else if let Some(command) = line.strip_prefix("$ ") {
            list.push(command.to_string());
        } else {
            continue;
        }
        goes_on = line.ends_with('\\');
    }
    list
}

#[test]
fn examples_of_pages_do_what_they_show() {
    let mut wrong = Vec::new();
    for name in ["README.md", "docs/your-own-dialect.md", "docs/schedules.md"] {
        let page = std::fs::read_to_string(root().join(name)).expect("the page is in the repository");
        match executed(&page) {
            Ok((text, commands)) => {
                assert!(commands >= 3, "{name}: only {commands} commands were found");
                wrong.extend(hold(Path::new(name), &text));
            }
            Err(why) => wrong.push(format!("{name}: {why}")),
        }
    }
    assert_none(wrong);
}

#[test]
fn a_page_that_shows_something_else_is_noticed() {
    let page = "`a.ir`:\n\n```mlir\nfunc.func @f() {\n  return\n}\n```\n\n```console\n$ cat \\\n  a.ir | head -1\nwrong\n```\n";
    let (text, commands) = executed(page).expect("it runs");
    assert_eq!((text.as_str(), commands), (page.replace("wrong", "func.func @f() {").as_str(), 1));
    assert!(executed("```console\n$ rm a\n```\n").is_err());
}
