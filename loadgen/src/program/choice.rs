//! Which of a role's programs an operation runs: one drawn by the weights, or the one that is furthest behind its share.

use super::Program;
use crate::draw::Draw;
use crate::job::ChoiceRule;

/// The programs of a role and the rule by which one is taken.
#[derive(Debug)]
pub struct Choices {
    rule: ChoiceRule,
    /// Programs with the sum of the weights up to and with theirs.
    programs: Box<[(u64, Program)]>,
}

impl Choices {
    /// The choices of a role: programs with the sum of the weights up to and with theirs, in the order of the job.
    #[must_use]
    pub fn new(rule: ChoiceRule, programs: Box<[(u64, Program)]>) -> Self {
        Self { rule, programs }
    }

    /// Each program with the sum of the weights up to and with its own.
    #[must_use]
    pub fn programs(&self) -> &[(u64, Program)] {
        &self.programs
    }

    /// What a connection that has begun nothing keeps of its choices.
    #[must_use]
    pub fn begin(&self) -> Behind {
        Behind(match (self.rule, &*self.programs) {
            (ChoiceRule::Random, _) | (ChoiceRule::Deficit, [] | [_]) => Box::default(),
            (ChoiceRule::Deficit, all) => vec![0; all.len()].into(),
        })
    }

    /// Returns the program that the connection runs next; `draw` has begun the operation.
    #[inline]
    #[must_use]
    pub fn next(&self, draw: &Draw, behind: &Behind) -> Program {
        match *self.programs {
            [(_, only)] => only,
            [ref programs @ .., (weights, last)] => {
                if !behind.0.is_empty() {
                    return self.programs[self.furthest(behind)].1;
                }
                let number = draw.choose(weights);
                let chosen = programs.iter().find(|(below, _)| number < *below);
                chosen.map_or(last, |(_, program)| *program)
            }
            [] => Program::default(),
        }
    }

    /// Returns the program of the operation that a connection begins, and counts it.
    #[inline]
    #[must_use]
    pub fn take(&self, draw: &Draw, behind: &mut Behind) -> Program {
        if behind.0.is_empty() {
            return self.next(draw, behind);
        }
        let taken = self.furthest(behind);
        for (behind, weight) in behind.0.iter_mut().zip(self.weights()) {
            *behind += weight;
        }
        let all = self.programs.last().map_or(0, |(all, _)| *all);
        behind.0[taken] -= all.cast_signed();
        self.programs[taken].1
    }

    /// Returns the index of the program that is furthest behind its share; the first written of several.
    fn furthest(&self, behind: &Behind) -> usize {
        let mut furthest = (0, i64::MIN);
        for (index, (behind, weight)) in behind.0.iter().zip(self.weights()).enumerate() {
            if behind + weight > furthest.1 {
                furthest = (index, behind + weight);
            }
        }
        furthest.0
    }

    fn weights(&self) -> impl Iterator<Item = i64> {
        let mut before = 0;
        self.programs.iter().map(move |(below, _)| {
            let weight = below - before;
            before = *below;
            weight.cast_signed()
        })
    }
}

/// How far each program of a connection is behind its share: w · n − c · W after n operations, of which c were its own, for
/// its weight w of W in all. Empty where programs are drawn.
///
/// The program that is taken has the greatest w · (n + 1) − c · W. All of them add up to 0, and each stays within the
/// number of programs times W, so that no number of operations is too many.
#[derive(Debug, Default)]
pub struct Behind(Box<[i64]>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Job;
    use proptest::prelude::*;

    fn draw() -> Draw {
        let path = format!("{}/contract/job-qr100.json", env!("CARGO_MANIFEST_DIR"));
        let job = Job::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        Draw::new(&job, &job.roles[0], 0)
    }

    fn choices(weights: &[u64]) -> Choices {
        let mut below = 0;
        let programs = weights.iter().enumerate().map(|(operation, weight)| {
            below += weight;
            let program = Program {
                operation,
                ..Program::default()
            };
            (below, program)
        });
        Choices::new(ChoiceRule::Deficit, programs.collect())
    }

    /// The operations that a connection runs, by the programs' places.
    fn taken(choices: &Choices, operations: usize) -> Vec<usize> {
        let (draw, mut behind) = (draw(), choices.begin());
        let take = |_| choices.take(&draw, &mut behind).operation;
        (0..operations).map(take).collect()
    }

    #[test]
    fn what_is_furthest_behind_its_share_comes_next_and_of_several_the_first() {
        assert_eq!(taken(&choices(&[1, 1]), 4), [0, 1, 0, 1]);
        assert_eq!(taken(&choices(&[3, 1]), 8), [0, 0, 1, 0, 0, 0, 1, 0]);
        assert_eq!(taken(&choices(&[2, 1, 1]), 8), [0, 1, 2, 0, 0, 1, 2, 0]);
        assert_eq!(taken(&choices(&[5]), 3), [0, 0, 0]);
    }

    #[test]
    fn looking_at_the_next_one_counts_nothing() {
        let (draw, choices) = (draw(), choices(&[3, 1]));
        let mut behind = choices.begin();
        for expected in [0, 0, 1, 0] {
            assert_eq!(choices.next(&draw, &behind).operation, expected);
            assert_eq!(choices.next(&draw, &behind).operation, expected);
            assert_eq!(choices.take(&draw, &mut behind).operation, expected);
        }
    }

    /// YBIO's loop updates where 100 · (updated + 0.5) / (done + 1) < `update_percent`, which is here in integers.
    #[test]
    fn of_two_programs_the_choice_is_ybio_s() {
        for percent in 1..100_u64 {
            let choices = choices(&[100 - percent, percent]);
            let mut before = 0;
            for (done, program) in taken(&choices, 10_000).into_iter().enumerate() {
                let updates = 100 * (2 * before + 1) < 2 * percent * (done as u64 + 1);
                assert_eq!(program == 1, updates, "{percent} %, operation {done}");
                before += u64::from(updates);
            }
        }
    }

    /// For any weights, the choice by the formula of the contract, without what is kept from one to the next.
    fn by_the_formula(weights: &[u64], counts: &[u64], operations: u64) -> usize {
        let all: u64 = weights.iter().sum();
        let behind = |place: usize| {
            i128::from(weights[place]) * i128::from(operations + 1)
                - i128::from(counts[place]) * i128::from(all)
        };
        let places = (0..weights.len()).rev();
        places.max_by_key(|place| behind(*place)).unwrap()
    }

    proptest! {
        #[test]
        fn of_two_programs_each_has_its_share_within_one(
            first in 1..=u64::from(u32::MAX), second in 1..=u64::from(u32::MAX), operations in 1..3000_usize,
        ) {
            let all = i128::from(first + second);
            let mut counts = [0_i128; 2];
            for (done, program) in taken(&choices(&[first, second]), operations).into_iter().enumerate() {
                counts[program] += 1;
                for (count, weight) in counts.iter().zip([first, second]) {
                    let off = count * all - i128::from(weight) * (done as i128 + 1);
                    prop_assert!(off.abs() <= all, "{counts:?} of {}", done + 1);
                }
            }
        }

        #[test]
        fn of_any_programs_the_choice_is_the_formula_s(
            weights in prop::collection::vec(prop_oneof![1..9_u64, 1..=u64::from(u32::MAX)], 2..9),
        ) {
            let mut counts = vec![0; weights.len()];
            for (done, program) in taken(&choices(&weights), 500).into_iter().enumerate() {
                prop_assert_eq!(program, by_the_formula(&weights, &counts, done as u64));
                counts[program] += 1;
            }
        }
    }
}
