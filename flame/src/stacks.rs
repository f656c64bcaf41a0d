//! Folded call stacks with what each costs in the base and in the arm.

use std::collections::BTreeMap;

/// The frames of a call stack, the root first.
type Frames = Vec<String>;

/// Costs of call stacks, as whole numbers of one unit.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Stacks {
    /// (base, arm) by call stack. In this order callers precede what they call, and all that a
    /// caller calls stands together; an order of the lines' texts has neither for names that begin
    /// alike.
    costs: BTreeMap<Frames, (u64, u64)>,
}

impl Stacks {
    /// Parses lines of `caller;callee BASE ARM`; costs of the same stack are added.
    ///
    /// # Errors
    /// One line that names the line and what it lacks, or that nothing has a cost in the arm.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut costs = BTreeMap::new();
        for (place, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let refuse = || {
                format!(
                    "line {}: `{line}`: a stack and two whole numbers are needed, as in \
                     `caller;callee 120 250`",
                    place + 1
                )
            };
            let (frames, base, arm) = columns(line).ok_or_else(refuse)?;
            let cost: &mut (u64, u64) = costs.entry(frames).or_default();
            cost.0 = cost.0.saturating_add(base);
            cost.1 = cost.1.saturating_add(arm);
        }
        if costs.values().all(|&(_, arm)| arm == 0) {
            return Err("no stack costs anything in the arm: nothing to draw".to_owned());
        }
        Ok(Self { costs })
    }

    /// The lines again, merged and in the order of their frames.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.costs
            .iter()
            .map(|(frames, (base, arm))| format!("{} {base} {arm}", frames.join(";")))
            .collect()
    }
}

/// The frames, the base's cost and the arm's.
fn columns(line: &str) -> Option<(Frames, u64, u64)> {
    let mut columns = line.trim().rsplitn(3, ' ');
    let arm = columns.next()?.parse().ok()?;
    let base = columns.next()?.parse().ok()?;
    let stack = columns.next()?.trim();
    let frames = || stack.split(';').map(printable).collect();
    (!stack.is_empty()).then(|| (frames(), base, arm))
}

/// A frame's name without characters that no XML may hold.
fn printable(name: &str) -> String {
    name.chars()
        .map(|sign| if sign.is_control() { '?' } else { sign })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_of_one_stack_are_added() {
        let stacks = Stacks::parse("a;b 1 2\na;c 3 4\na;b 10 20\n").unwrap();
        assert_eq!(stacks.lines(), ["a;b 11 22", "a;c 3 4"]);
    }

    #[test]
    fn what_a_caller_calls_stands_together_though_names_begin_alike() {
        let stacks = Stacks::parse("a;f.so.6;g 1 1\na;f.so;g 1 1\na;f.so !x 1 1\na;f.so 1 1\n");
        let lines = stacks.unwrap().lines();
        assert_eq!(
            lines,
            [
                "a;f.so 1 1",
                "a;f.so;g 1 1",
                "a;f.so !x 1 1",
                "a;f.so.6;g 1 1"
            ]
        );
    }

    #[test]
    fn names_may_end_in_numbers_and_hold_spaces() {
        let stacks = Stacks::parse("a;operator new 5 1 2\n").unwrap();
        assert_eq!(stacks.lines(), ["a;operator new 5 1 2"]);
    }

    #[test]
    fn a_character_that_no_xml_may_hold_is_replaced() {
        let stacks = Stacks::parse("a;b\u{1}c 1 2\n").unwrap();
        assert_eq!(stacks.lines(), ["a;b?c 1 2"]);
    }

    #[test]
    fn a_line_without_two_numbers_is_named() {
        let said = Stacks::parse("a;b 1 2\na;c 3\n").unwrap_err();
        assert!(said.starts_with("line 2: `a;c 3`: a stack and two whole numbers"));
    }

    #[test]
    fn stacks_that_cost_the_arm_nothing_are_refused() {
        let said = Stacks::parse("a;b 5 0\n").unwrap_err();
        assert_eq!(said, "no stack costs anything in the arm: nothing to draw");
    }
}
