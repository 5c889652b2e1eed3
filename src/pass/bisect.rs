//! `--bisect-limit=N`: only the first N executions of passes happen, and each is listed; so that the one that breaks something is found.

/// Counts executions against a limit.
#[derive(Clone, Debug, Default)]
pub struct Bisect {
    /// How many executions happen; None for all, without a list; negative for all, with a list.
    pub limit: Option<i64>,
    executions: i64,
}

impl Bisect {
    /// With this limit.
    pub fn new(limit: Option<i64>) -> Self {
        Self { limit, executions: 0 }
    }

    /// Asks for one execution of a pass: whether it happens, and the line to print.
    pub fn ask(&mut self, what: &str) -> (bool, Option<String>) {
        self.executions += 1;
        let Some(limit) = self.limit else { return (true, None) };
        let runs = limit < 0 || self.executions <= limit;
        let word = if runs { "running" } else { "NOT running" };
        (runs, Some(format!("BISECT: {word} pass ({}) {what}\n", self.executions)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_beyond_the_limit_do_not_happen() {
        let mut b = Bisect::new(Some(1));
        assert_eq!(b.ask("a"), (true, Some("BISECT: running pass (1) a\n".into())));
        assert_eq!(b.ask("b"), (false, Some("BISECT: NOT running pass (2) b\n".into())));
        assert!(Bisect::new(Some(-1)).ask("a").0);
        assert_eq!(Bisect::default().ask("a"), (true, None));
    }
}
