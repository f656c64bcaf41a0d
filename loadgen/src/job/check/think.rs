//! What makes the order of a role's programs and the times between them valid.

use super::{Check, ensure};
use crate::job::{ChoiceRule, Pace, Role, ThinkTime};

/// The most cards of a deck: each connection has one of its own.
const DECK_MAX: u64 = 10_000;

/// The longest time between two operations, in microseconds: a day.
const THINK_US_MAX: u64 = 86_400_000_000;

/// Refuses decks that are too large, and times that are too long or beside a schedule; `weights`: of all programs.
pub(super) fn check(role: &Role, weights: u64, key: &str) -> Check {
    ensure(
        !matches!(role.choice, ChoiceRule::Deck | ChoiceRule::InOrder) || weights <= DECK_MAX,
        format!("{key}.choose"),
        format!(
            "weights of {weights} in all; at most {DECK_MAX}, as a connection keeps them in order"
        ),
    )?;
    for (index, choice) in role.choose.iter().enumerate() {
        for (name, time) in [("before", choice.before), ("after", choice.after)] {
            let Some(time) = time else { continue };
            let key = format!("{key}.choose[{index}].{name}");
            let (us, most_us) = match time {
                ThinkTime::Constant { us } => (us, us),
                ThinkTime::Exponential { mean_us, max_us } => (mean_us, max_us),
            };
            ensure(
                us > 0 && us <= most_us && most_us <= THINK_US_MAX,
                key,
                format!("give 1 to {THINK_US_MAX} µs, a day, and a mean that is at most `max_us`"),
            )?;
        }
    }
    ensure(
        !role.thinks() || (role.pace == Pace::Closed {} && role.marks.is_none()),
        format!("{key}.choose"),
        "has times before or after, which only a closed pace without `marks` leaves; leave them out",
    )
}
