//! A connection's deck: as many cards of each program as it has weight, dealt one after the other, shuffled or not.

use crate::draw::Draw;
use crate::value::mix_in;

/// Programs by their places in the role, in the order in which a connection takes them.
#[derive(Debug)]
pub struct Deck {
    cards: Box<[u32]>,
    at: usize,
    /// Which deck comes next of those that are shuffled; none: all are alike.
    following: Option<u64>,
}

impl Deck {
    /// The first of decks that are shuffled, each from the order of the job by a seed of its own.
    pub(super) fn shuffled(weights: impl Iterator<Item = i64>, draw: &Draw) -> Self {
        let mut deck = Self {
            following: Some(0),
            ..Self::in_order(weights)
        };
        deck.shuffle(draw);
        deck
    }

    /// A deck in the order of the job.
    pub(super) fn in_order(weights: impl Iterator<Item = i64>) -> Self {
        let each = (0_u32..).zip(weights);
        let cards = each.flat_map(|(program, weight)| (0..weight).map(move |_| program));
        Self {
            cards: cards.collect(),
            at: 0,
            following: None,
        }
    }

    /// Returns the place of the program that comes next.
    #[inline]
    pub(super) fn next(&self) -> usize {
        self.cards[self.at] as usize
    }

    /// Returns the same, and deals it.
    #[inline]
    pub(super) fn take(&mut self, draw: &Draw) -> usize {
        let taken = self.next();
        self.at += 1;
        if self.at == self.cards.len() {
            self.at = 0;
            self.shuffle(draw);
        }
        taken
    }

    /// Puts the cards in the order of the job, and then in that of the next deck (Fisher and Yates, as Knuth 3.4.2 P has it).
    fn shuffle(&mut self, draw: &Draw) {
        let Some(number) = self.following else { return };
        self.following = Some(number + 1);
        self.cards.sort_unstable();
        let seed = draw.deck(number);
        for last in (1..self.cards.len()).rev() {
            let span = last as u128 + 1;
            let other = (u128::from(mix_in(seed, last as u64)) * span) >> 64;
            self.cards
                .swap(last, usize::try_from(other).unwrap_or(last));
        }
    }
}
