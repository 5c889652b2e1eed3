//! What is shown while tests run: a line for each result, logs of failures, and a progress bar.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::options::{Color, Level, Options};
use crate::result::{Code, TestResult};

/// The display of a run.
pub struct Display {
    lines: Level,
    logs: Level,
    color: bool,
    bar: Bar,
    total: usize,
    done: usize,
    failed: usize,
    drawn: Option<Instant>,
}

#[derive(PartialEq)]
enum Bar {
    None,
    /// One line, drawn again and again.
    Terminal,
    /// Numbers one after the other, with the next one to print.
    Plain(usize),
}

/// Whether output on standard output is coloured.
pub fn use_color(options: &Options) -> bool {
    match options.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}

impl Display {
    /// The display for `total` selected of `discovered` tests; shows the header.
    pub fn new(options: &Options, total: usize, discovered: usize, threads: usize) -> Display {
        let terminal = io::stdout().is_terminal();
        let bar = if options.no_progress_bar {
            Bar::None
        } else if terminal && (options.progress_bar || options.succinct || options.line_level() < Level::All) {
            Bar::Terminal
        } else if options.progress_bar || options.succinct {
            Bar::Plain(0)
        } else {
            Bar::None
        };
        let display = Display {
            lines: options.line_level(),
            logs: options.log_level(),
            color: use_color(options),
            bar,
            total,
            done: 0,
            failed: 0,
            drawn: None,
        };
        if display.lines != Level::Off || display.bar != Bar::None {
            let of = if total == discovered { String::new() } else { format!(" of {discovered}") };
            show(&format!("-- Testing: {total}{of} tests, {threads} workers --\n"));
        }
        display
    }

    /// Shows a result.
    pub fn result(&mut self, name: &str, result: &TestResult) {
        self.done += 1;
        self.failed += usize::from(result.code.is_failure());
        if is_shown(self.lines, result) || !result.notes.is_empty() {
            let mut text = if self.bar == Bar::Terminal { "\r\x1b[K".to_string() } else { String::new() };
            text.push_str(&self.result_text(name, result));
            show(&text);
        }
        self.progress(name);
    }

    fn result_text(&self, name: &str, result: &TestResult) -> String {
        let attempts = if result.attempts > 1 {
            format!(", {} of {} attempts", result.attempts, result.max_attempts)
        } else {
            String::new()
        };
        let code = self.painted(result.code);
        let mut text = format!("{code}: {name} ({} of {}{attempts})\n", self.done, self.total);
        let stars = "*".repeat(20);
        if is_shown(self.logs, result) {
            if result.code.is_failure() {
                text.push_str(&format!("{stars} TEST '{name}' FAILED {stars}\n"));
            }
            text.push_str(&format!("{}\n", result.output));
            text.push_str(&format!("{stars}\n"));
        }
        for note in &result.notes {
            text.push_str(&format!("  {note}\n"));
        }
        text
    }

    fn painted(&self, code: Code) -> String {
        if !self.color {
            return code.name().to_string();
        }
        let color = if code.is_failure() { "1;31" } else { "32" };
        format!("\x1b[{color}m{}\x1b[0m", code.name())
    }

    fn progress(&mut self, name: &str) {
        let percent = self.done * 100 / self.total.max(1);
        match &mut self.bar {
            Bar::None => {}
            Bar::Plain(next) => {
                let mut text = if self.done == 1 { "Testing: ".to_string() } else { String::new() };
                while *next <= percent && *next < 100 {
                    text.push_str(&if *next % 10 == 0 { format!("{next:>2}.. ") } else { String::new() });
                    *next += 1;
                }
                show(&text);
            }
            Bar::Terminal => {
                // Drawing for each of thousands of tests would take longer than they do.
                let now = Instant::now();
                if self.done < self.total && self.drawn.is_some_and(|d| now - d < Duration::from_millis(50)) {
                    return;
                }
                self.drawn = Some(now);
                let width = 30;
                let filled = width * self.done / self.total.max(1);
                let color = if self.failed > 0 { "31" } else { "32" };
                let bar = format!("{}{}", "=".repeat(filled), " ".repeat(width - filled));
                let failed = if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
                let name: String = name.chars().take(60).collect();
                let (done, total) = (self.done, self.total);
                show(&format!("\r\x1b[K{percent:3}% [\x1b[{color}m{bar}\x1b[0m] {done}/{total}{failed}  {name}"));
            }
        }
    }

    /// Takes the progress bar away.
    pub fn end(&mut self) {
        match self.bar {
            Bar::None => {}
            Bar::Terminal => show("\r\x1b[K"),
            Bar::Plain(_) => show("\n"),
        }
        self.bar = Bar::None;
    }
}

fn is_shown(level: Level, result: &TestResult) -> bool {
    match level {
        Level::Off => false,
        Level::Failed => result.code.is_failure(),
        Level::FailedOrFlaky => result.code.is_failure() || result.attempts > 1,
        Level::All => true,
    }
}

/// Writes to standard output. That nobody reads it any more is no reason to stop.
pub fn show(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}
