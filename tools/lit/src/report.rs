//! Results as files (JSON, xUnit XML, a trace of times) and as the summary at the end.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde_json::json;

use crate::result::{Code, TestResult};
use crate::run::log::without_colors;

/// A test with its result.
pub struct Reported<'a> {
    /// The name of its suite.
    pub suite: &'a str,
    /// The path in the suite.
    pub path: &'a [String],
    /// The file.
    pub file: &'a Path,
    /// What became of it.
    pub result: &'a TestResult,
}

impl Reported<'_> {
    /// `suite :: path`.
    pub fn name(&self) -> String {
        format!("{} :: {}", self.suite, self.path.join("/"))
    }
}

/// The results as lit writes them with `--output`, and how many processes (`processes`) and tools in the process of the runner (`calls`)
/// each test took.
pub fn json(tests: &[Reported<'_>], elapsed: f64) -> String {
    let tests: Vec<_> = tests
        .iter()
        .filter(|t| !matches!(t.result.code, Code::Excluded | Code::Skipped))
        .map(|t| {
            json!({
                "name": t.name(),
                "code": t.result.code.name(),
                "output": without_colors(&t.result.output),
                "elapsed": t.result.elapsed,
                "processes": t.result.processes,
                "calls": t.result.calls,
            })
        })
        .collect();
    let version: Vec<u32> = env!("CARGO_PKG_VERSION").split('.').filter_map(|n| n.parse().ok()).collect();
    let all = json!({ "__version__": version, "elapsed": elapsed, "tests": tests });
    format!("{all:#}\n")
}

/// The results as xUnit XML.
pub fn xunit(tests: &[Reported<'_>], elapsed: f64) -> String {
    let mut suites: BTreeMap<&str, Vec<&Reported<'_>>> = BTreeMap::new();
    for test in tests {
        suites.entry(test.suite).or_default().push(test);
    }
    let mut out = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites time=\"{elapsed:.2}\">\n");
    for (suite, mut tests) in suites {
        tests.sort_by_key(|t| t.path);
        let skipped = tests.iter().filter(|t| is_skipped(t.result.code)).count();
        let failures = tests.iter().filter(|t| t.result.code.is_failure()).count();
        let time: f64 = tests.iter().filter_map(|t| t.result.elapsed).sum();
        let name = suite.replace('.', "-");
        let count = tests.len();
        let _ = writeln!(
            out,
            "<testsuite name={} tests=\"{count}\" failures=\"{failures}\" skipped=\"{skipped}\" time=\"{time:.2}\">",
            attribute(&name)
        );
        for test in tests {
            xunit_test(&mut out, test, &name);
        }
        out.push_str("</testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn is_skipped(code: Code) -> bool {
    matches!(code, Code::Excluded | Code::Skipped | Code::Unsupported)
}

fn xunit_test(out: &mut String, test: &Reported<'_>, suite: &str) {
    let (name, directories) = test.path.split_last().map_or(("", &[] as &[String]), |(n, d)| (n.as_str(), d));
    let class = directories.join("/").replace('.', "_");
    let class = format!("{suite}.{}", if class.is_empty() { suite } else { &class });
    let time = test.result.elapsed.unwrap_or(0.0);
    let _ = write!(out, "<testcase classname={} name={} time=\"{time:.2}\"", attribute(&class), attribute(name));
    if test.result.code.is_failure() {
        // XML 1.0 has no control characters, and the end of the section may not stand inside of it.
        let log: String = without_colors(&test.result.output)
            .chars()
            .filter(|&c| c >= ' ' || matches!(c, '\t' | '\n' | '\r'))
            .collect();
        let log = log.replace("]]>", "]]]]><![CDATA[>");
        let _ = write!(out, ">\n  <failure><![CDATA[{log}]]></failure>\n</testcase>\n");
    } else if is_skipped(test.result.code) {
        let reason = match test.result.code {
            Code::Excluded => "Test not selected (--filter, --max-tests)".to_string(),
            Code::Skipped => "The run ended before".to_string(),
            _ if test.result.missing_features.is_empty() => "Unsupported configuration".to_string(),
            _ => format!("Missing required feature(s): {}", test.result.missing_features.join(", ")),
        };
        let _ = write!(out, ">\n  <skipped message={}/>\n</testcase>\n", attribute(&reason));
    } else {
        out.push_str("/>\n");
    }
}

fn attribute(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    format!("\"{escaped}\"")
}

/// The times of tests for chrome://tracing.
pub fn time_trace(tests: &[Reported<'_>]) -> String {
    let ran = || tests.iter().filter(|t| !is_skipped(t.result.code));
    let first = ran().map(|t| t.result.start).fold(f64::INFINITY, f64::min);
    let events: Vec<_> = ran()
        .map(|t| {
            let micros = |seconds: f64| (seconds * 1e6) as u64;
            let (start, time) = (micros(t.result.start - first), micros(t.result.elapsed.unwrap_or(0.0)));
            json!({ "pid": 0, "tid": 1, "ph": "X", "ts": start, "dur": time, "name": t.name() })
        })
        .collect();
    format!("{:#}\n", json!({ "traceEvents": events }))
}

/// How tools were run, for `-v`: `31 of 34 tests ran without a process, 120 tools in process, 5 processes`.
pub fn processes(tests: &[Reported<'_>]) -> String {
    let ran: Vec<_> = tests.iter().filter(|t| t.result.elapsed.is_some() && !is_skipped(t.result.code)).collect();
    let without = ran.iter().filter(|t| t.result.processes == 0).count();
    let sum = |of: fn(&TestResult) -> u32| ran.iter().map(|t| u64::from(of(t.result))).sum::<u64>();
    let (calls, processes, all) = (sum(|r| r.calls), sum(|r| r.processes), ran.len());
    format!("{without} of {all} tests ran without a process, {calls} tools in process, {processes} processes\n")
}

/// The numbers of tests by result, and the closing line. With `terse`, only failures are listed.
pub fn summary(codes: &[Code], elapsed: f64, terse: bool) -> String {
    let mut out = String::new();
    if !terse {
        let _ = write!(out, "\nTesting Time: {elapsed:.2}s\n");
    }
    let total = codes.len();
    let _ = write!(out, "\nTotal Discovered Tests: {total}\n");
    let count = |code: Code| codes.iter().filter(|&&c| c == code).count();
    let groups: Vec<(&str, usize)> = Code::ALL
        .iter()
        .filter(|code| !terse || code.is_failure())
        .map(|&code| (code.label(), count(code)))
        .filter(|&(_, count)| count > 0)
        .collect();
    let label_width = groups.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    let count_width = groups.iter().map(|(_, count)| count.to_string().len()).max().unwrap_or(0);
    for (label, count) in groups {
        let percent = count as f64 / total as f64 * 100.0;
        let _ = writeln!(out, "  {label:<label_width$}: {count:>count_width$} ({percent:.2}%)");
    }
    let passed = codes.iter().filter(|c| c.is_pass()).count();
    let failed = codes.iter().filter(|c| c.is_failure()).count();
    let _ = writeln!(out, "{passed} passed, {failed} failed");
    out
}

/// The slowest tests and a histogram of all times.
pub fn histogram(times: &mut [(String, f64)], slowest: usize) -> String {
    if times.is_empty() {
        return String::new();
    }
    times.sort_by(|a, b| b.1.total_cmp(&a.1));
    let line = "-".repeat(74);
    // Bars of a round width, at most 20 of them, and as many digits as tell them apart.
    let longest = times[0].1.max(1e-3);
    let power = 10f64.powf((longest / 20.0).log10().floor());
    let width = [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|m| m * power).find(|w| longest / w <= 20.0).unwrap_or(longest);
    let digits = (1.0 - power.log10().round()).max(2.0) as usize;
    let mut out = format!("Slowest Tests:\n{line}\n");
    for (name, time) in times.iter().take(slowest) {
        let _ = writeln!(out, "{time:.digits$}s: {name}");
    }
    let bars = (longest / width).floor() as usize + 1;
    let mut counts = vec![0usize; bars];
    for (_, time) in times.iter() {
        counts[((time / width) as usize).min(bars - 1)] += 1;
    }
    let _ = write!(out, "\nTests Times:\n{line}\n[    Range    ] :: [{:^42}] :: [Count]\n{line}\n", "Percentage");
    for (index, count) in counts.iter().enumerate().rev() {
        let stars = "*".repeat(count * 40 / times.len());
        let (low, high) = (index as f64 * width, (index + 1) as f64 * width);
        let _ = writeln!(out, "[{low:7.digits$}s,{high:7.digits$}s) :: [{stars:<40}] :: [{count}/{}]", times.len());
    }
    out.push_str(&line);
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_line() {
        let codes = [Code::Pass, Code::Pass, Code::XFail, Code::Fail, Code::Timeout, Code::Unsupported];
        let text = summary(&codes, 1.234, false);
        let expected = "\nTesting Time: 1.23s\n\nTotal Discovered Tests: 6\n  Unsupported      : 1 (16.67%)\n  \
                        Passed           : 2 (33.33%)\n  Expectedly Failed: 1 (16.67%)\n  Timed Out        : 1 (16.67%)\n  \
                        Failed           : 1 (16.67%)\n3 passed, 2 failed\n";
        assert_eq!(text, expected);
        assert!(summary(&codes[..2], 0.0, true).ends_with("Total Discovered Tests: 2\n2 passed, 0 failed\n"));
    }

    #[test]
    fn xml_is_well_formed() {
        let mut failed = TestResult::new(Code::Fail, "a ]]> \x1b[31mb\x1b[0m \x07");
        failed.elapsed = Some(1.0);
        let path = ["d.e".to_string(), "a<b>.ir".to_string()];
        let tests = [Reported { suite: "s.t", path: &path, file: Path::new("/x"), result: &failed }];
        let text = xunit(&tests, 2.0);
        assert!(
            text.contains("<testsuite name=\"s-t\" tests=\"1\" failures=\"1\" skipped=\"0\" time=\"1.00\">"),
            "{text}"
        );
        assert!(text.contains("<testcase classname=\"s-t.d_e\" name=\"a&lt;b&gt;.ir\" time=\"1.00\">"), "{text}");
        assert!(text.contains("<![CDATA[a ]]]]><![CDATA[> b ]]></failure>"), "{text}");
    }

    #[test]
    fn histogram_counts_all() {
        let mut times: Vec<(String, f64)> = (0..30).map(|i| (format!("t{i}"), f64::from(i) * 0.1)).collect();
        let text = histogram(&mut times, 2);
        assert!(text.contains("2.90s: t29\n2.80s: t28\n\n") && text.contains("/30]"), "{text}");
        let mut short = vec![("a".to_string(), 0.00051), ("b".to_string(), 0.00049)];
        let text = histogram(&mut short, 1);
        assert!(text.contains("0.000510s: a\n\n") && text.contains("[0.000500s,0.000550s)"), "{text}");
        assert!(text.contains("[1/2]"), "{text}");
    }
}
