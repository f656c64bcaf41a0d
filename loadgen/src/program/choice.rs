//! Which of a role's programs an operation runs: one drawn by the weights, the one that is furthest behind its share, or
//! the next card of a deck.

mod deck;

use super::Program;
use crate::draw::Draw;
use crate::job::ChoiceRule;
use deck::Deck;

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

    /// What a connection that has begun nothing keeps of its choices; `draw` is its own.
    #[must_use]
    pub fn begin(&self, draw: &Draw) -> Choosing {
        match (self.rule, &*self.programs) {
            (ChoiceRule::Random, _) | (_, [] | [_]) => Choosing::Drawn,
            (ChoiceRule::Deficit, all) => Choosing::Behind(vec![0; all.len()].into()),
            (ChoiceRule::Deck, _) => Choosing::Deck(Box::new(Deck::shuffled(self.weights(), draw))),
            (ChoiceRule::InOrder, _) => Choosing::Deck(Box::new(Deck::in_order(self.weights()))),
        }
    }

    /// Returns the program that the connection runs next; `draw` has begun the operation.
    #[inline]
    #[must_use]
    pub fn next(&self, draw: &Draw, choosing: &Choosing) -> Program {
        match choosing {
            Choosing::Drawn => self.drawn(draw),
            Choosing::Behind(behind) => self.programs[self.furthest(behind)].1,
            Choosing::Deck(deck) => self.programs[deck.next()].1,
        }
    }

    /// Returns the program of the operation that a connection begins, and counts it.
    #[inline]
    #[must_use]
    pub fn take(&self, draw: &Draw, choosing: &mut Choosing) -> Program {
        match choosing {
            Choosing::Drawn => self.drawn(draw),
            kept => self.take_kept(draw, kept),
        }
    }

    #[inline]
    fn drawn(&self, draw: &Draw) -> Program {
        match *self.programs {
            [(_, only)] => only,
            [ref programs @ .., (weights, last)] => {
                let number = draw.choose(weights);
                let chosen = programs.iter().find(|(below, _)| number < *below);
                chosen.map_or(last, |(_, program)| *program)
            }
            [] => Program::default(),
        }
    }

    /// A function of its own, so that what is drawn has no more to carry.
    #[inline(never)]
    fn take_kept(&self, draw: &Draw, choosing: &mut Choosing) -> Program {
        let taken = match choosing {
            Choosing::Drawn => return self.drawn(draw),
            Choosing::Deck(deck) => deck.take(draw),
            Choosing::Behind(behind) => {
                let taken = self.furthest(behind);
                for (behind, weight) in behind.iter_mut().zip(self.weights()) {
                    *behind += weight;
                }
                let all = self.programs.last().map_or(0, |(all, _)| *all);
                behind[taken] -= all.cast_signed();
                taken
            }
        };
        self.programs[taken].1
    }

    /// Returns the index of the program that is furthest behind its share; the first written of several.
    fn furthest(&self, behind: &[i64]) -> usize {
        let mut furthest = (0, i64::MIN);
        for (index, (behind, weight)) in behind.iter().zip(self.weights()).enumerate() {
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

/// What a connection keeps of its choices.
#[derive(Debug, Default)]
pub enum Choosing {
    /// Nothing: each is drawn, or there is one program.
    #[default]
    Drawn,
    /// How far each program is behind its share: w · n − c · W after n operations, of which c were its own, for its weight w
    /// of W in all.
    ///
    /// The program that is taken has the greatest w · (n + 1) − c · W. All of them add up to 0, and each stays within the
    /// number of programs times W, so that no number of operations is too many.
    Behind(Box<[i64]>),
    /// A deck of them.
    Deck(Box<Deck>),
}

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
        by(ChoiceRule::Deficit, weights)
    }

    fn by(rule: ChoiceRule, weights: &[u64]) -> Choices {
        let mut below = 0;
        let programs = weights.iter().enumerate().map(|(operation, weight)| {
            below += weight;
            let program = Program {
                operation,
                ..Program::default()
            };
            (below, program)
        });
        Choices::new(rule, programs.collect())
    }

    /// The operations that a connection runs, by the programs' places.
    fn taken(choices: &Choices, operations: usize) -> Vec<usize> {
        let draw = draw();
        let mut choosing = choices.begin(&draw);
        let take = |_| choices.take(&draw, &mut choosing).operation;
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
        let mut choosing = choices.begin(&draw);
        for expected in [0, 0, 1, 0] {
            assert_eq!(choices.next(&draw, &choosing).operation, expected);
            assert_eq!(choices.next(&draw, &choosing).operation, expected);
            assert_eq!(choices.take(&draw, &mut choosing).operation, expected);
        }
    }

    #[test]
    fn a_deck_has_each_program_by_its_weight_and_no_order_of_its_own() {
        let deck = by(ChoiceRule::Deck, &[10, 10, 1, 1, 1]);
        let dealt = taken(&deck, 23 * 50);
        for cards in dealt.chunks(23) {
            let counts = [0, 1, 2, 3, 4].map(|own| cards.iter().filter(|one| **one == own).count());
            assert_eq!(counts, [10, 10, 1, 1, 1]);
        }
        let orders: std::collections::BTreeSet<_> = dealt.chunks(23).collect();
        assert_eq!(orders.len(), 50, "each deck is shuffled anew");
        assert_eq!(dealt, taken(&deck, 23 * 50), "and the same for a seed");
        // Where the one delivery stands is uniform: chi-squared of 22 degrees exceeds 48.3 once in a thousand.
        let long = taken(&deck, 23 * 4600);
        let mut counts = [0_u32; 23];
        for cards in long.chunks(23) {
            counts[cards.iter().position(|one| *one == 3).unwrap()] += 1;
        }
        let chi: f64 = counts
            .iter()
            .map(|count| (f64::from(*count) - 200.0).powi(2) / 200.0)
            .sum();
        assert!(chi < 48.3, "{counts:?}");
    }

    #[test]
    fn in_order_each_follows_the_one_before_as_often_as_it_has_weight() {
        let ordered = by(ChoiceRule::InOrder, &[2, 1, 1]);
        assert_eq!(taken(&ordered, 9), [0, 0, 1, 2, 0, 0, 1, 2, 0]);
    }

    #[test]
    fn looking_at_the_next_card_deals_none_across_the_end_of_a_deck() {
        let (draw, deck) = (draw(), by(ChoiceRule::Deck, &[2, 3]));
        let mut choosing = deck.begin(&draw);
        for _ in 0..100 {
            let seen = deck.next(&draw, &choosing).operation;
            assert_eq!(deck.take(&draw, &mut choosing).operation, seen);
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
