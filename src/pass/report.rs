//! What is known when a pipeline has run: how long each pass took, and what it counted; as a table and as JSON.

use super::AnyPass;
use serde::Serialize;
use std::fmt::Write;
use std::time::Duration;

/// Time of one step, over all its executions.
#[derive(Clone, Debug, Serialize)]
pub struct TimeRow {
    /// The pass with its options, or what the tool did (`parse`, `verify`, `print`).
    pub name: String,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// How often it ran.
    pub runs: u64,
    /// Ops in the module after it ran, where counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ops: Option<usize>,
}

/// Where the time went.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    rows: Vec<TimeRow>,
}

impl Timing {
    /// Adds time to the row of a name, which is made when it is new.
    pub fn add(&mut self, name: &str, time: Duration, ops: Option<usize>) {
        let seconds = time.as_secs_f64();
        match self.rows.iter_mut().find(|r| r.name == name) {
            Some(row) => {
                row.seconds += seconds;
                row.runs += 1;
                row.ops = ops.or(row.ops);
            }
            None => self.rows.push(TimeRow { name: name.to_string(), seconds, runs: 1, ops }),
        }
    }

    /// The rows, in the order in which each first ran.
    pub fn rows(&self) -> &[TimeRow] {
        &self.rows
    }

    /// A table for people.
    pub fn table(&self) -> String {
        let total: f64 = self.rows.iter().map(|r| r.seconds).sum();
        let mut out = banner("Execution time report");
        let _ = writeln!(
            out,
            "  Total Execution Time: {total:.4} seconds\n\n  ----Wall Time----      ops  runs  ----Name----"
        );
        for row in &self.rows {
            let percent = if total > 0.0 { 100.0 * row.seconds / total } else { 0.0 };
            let ops = row.ops.map_or_else(String::new, |n| n.to_string());
            let _ = writeln!(out, "  {:8.4} ({percent:5.1}%)  {ops:>7}  {:>4}  {}", row.seconds, row.runs, row.name);
        }
        let _ = writeln!(out, "  {total:8.4} (100.0%)                 Total");
        out
    }

    /// A JSON array of rows.
    pub fn json(&self) -> String {
        to_json(&self.rows)
    }
}

/// What one step counted, over all its executions.
#[derive(Clone, Debug, Serialize)]
pub struct StatisticsRow {
    /// The pass with its options.
    pub pass: String,
    /// Number of the step in the pipeline, from 1.
    pub step: usize,
    /// Counter and value.
    pub statistics: Vec<Counter>,
}

/// What a counter holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// So many.
    Sum(u64),
    /// So many of so many: shown in percent.
    Percent {
        /// Those that are meant.
        part: u64,
        /// All.
        whole: u64,
    },
}

impl Count {
    /// Adds what another execution counted.
    pub fn add(&mut self, more: Count) {
        *self = match (*self, more) {
            (Count::Sum(0), more) => more,
            (Count::Sum(a), Count::Sum(b)) => Count::Sum(a.saturating_add(b)),
            (Count::Percent { part, whole }, Count::Percent { part: p, whole: w }) => {
                Count::Percent { part: part.saturating_add(p), whole: whole.saturating_add(w) }
            }
            (kept, _) => kept, // a counter is of one sort
        }
    }

    /// What is shown.
    pub fn value(self) -> u64 {
        match self {
            Count::Sum(n) => n,
            Count::Percent { part, whole } => {
                u64::try_from((u128::from(part) * 100).checked_div(u128::from(whole)).unwrap_or(100))
                    .unwrap_or(u64::MAX)
            }
        }
    }
}

/// One counter.
#[derive(Clone, Debug, Serialize)]
pub struct Counter {
    /// Its name.
    pub name: &'static str,
    /// What it counts.
    pub meaning: &'static str,
    /// How many.
    #[serde(serialize_with = "shown")]
    pub value: Count,
}

/// What the passes counted.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    rows: Vec<StatisticsRow>,
}

impl Statistics {
    /// Adds the counters of one execution of a step.
    pub fn add(&mut self, step: usize, text: &str, pass: &dyn AnyPass, counts: &[Count]) {
        let i = self.rows.iter().position(|r| r.step == step).unwrap_or_else(|| {
            let counter = |&(name, meaning)| Counter { name, meaning, value: Count::Sum(0) };
            let statistics = pass.statistics().iter().map(counter).collect();
            self.rows.push(StatisticsRow { pass: text.to_string(), step, statistics });
            self.rows.len() - 1
        });
        for (counter, n) in self.rows[i].statistics.iter_mut().zip(counts) {
            counter.value.add(*n);
        }
    }

    /// The rows, in the order of the pipeline.
    pub fn rows(&self) -> &[StatisticsRow] {
        &self.rows
    }

    /// A table for people.
    pub fn table(&self) -> String {
        let mut out = banner("Pass statistics report");
        for row in &self.rows {
            let _ = writeln!(out, "{}", row.pass);
            for c in &row.statistics {
                let _ = writeln!(out, "  (S) {:>6} {} - {}", c.value.value(), c.name, c.meaning);
            }
        }
        out
    }

    /// A JSON array of rows.
    pub fn json(&self) -> String {
        to_json(&self.rows)
    }
}

fn shown<S: serde::Serializer>(count: &Count, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(count.value())
}

fn banner(title: &str) -> String {
    let line = format!("===-{}-===\n", "-".repeat(73));
    format!("{line}{:^80}\n{line}", format!("... {title} ...")).replace(" \n", "\n")
}

fn to_json<T: Serialize>(rows: &[T]) -> String {
    let lines: Vec<String> = rows.iter().filter_map(|r| serde_json::to_string(r).ok()).collect();
    format!("[{}]\n", lines.join(",\n "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_of_one_step_add_up() {
        let mut timing = Timing::default();
        timing.add("parse", Duration::from_millis(250), Some(7));
        timing.add("cse", Duration::from_millis(500), Some(6));
        timing.add("cse", Duration::from_millis(250), Some(5));
        assert!(timing.table().contains("    0.7500 ( 75.0%)        5     2  cse\n"), "{}", timing.table());
        let json: serde_json::Value = serde_json::from_str(&timing.json()).unwrap();
        assert_eq!((json[1]["runs"].as_u64(), json[1]["seconds"].as_f64()), (Some(2), Some(0.75)));
    }
}
