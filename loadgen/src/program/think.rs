//! How long connections are idle between operations, as users are who read, think and type: before and after each of a
//! role's programs.

use super::Program;
use crate::draw::Draw;
use crate::job::{Role, ThinkTime};
use crate::value::{exponential, name_part};

/// The times of a role, by its programs.
#[derive(Debug)]
pub struct Thinks {
    programs: Box<[Think]>,
    /// What the times are drawn with, apart from all other draws: before and after.
    parts: [u64; 2],
}

/// The times of one program, which is known by its first step.
#[derive(Debug)]
struct Think {
    first: usize,
    times: [Option<ThinkTime>; 2],
}

impl Thinks {
    /// The times of a role whose chosen programs have these first steps; none where it has no times.
    pub(super) fn of(role: &Role, firsts: impl Iterator<Item = usize>) -> Option<Box<Self>> {
        let chosen = role.choose.iter().filter(|choice| choice.weight > 0);
        let think = |(choice, first): (&crate::job::Choice, usize)| Think {
            first,
            times: [choice.before, choice.after],
        };
        role.thinks().then(|| {
            Box::new(Self {
                programs: chosen.zip(firsts).map(think).collect(),
                parts: ["before", "after"].map(name_part),
            })
        })
    }

    /// Returns how long a connection is idle before a program, whose operation `draw` has begun, in nanoseconds.
    #[must_use]
    pub fn before_ns(&self, program: Program, draw: &Draw) -> u64 {
        self.time_ns(program, 0, draw)
    }

    /// Returns the same of the time after it.
    #[must_use]
    pub fn after_ns(&self, program: Program, draw: &Draw) -> u64 {
        self.time_ns(program, 1, draw)
    }

    fn time_ns(&self, program: Program, side: usize, draw: &Draw) -> u64 {
        let mut own = self.programs.iter();
        let own = own.find(|think| think.first == program.first);
        own.and_then(|think| think.times[side])
            .map_or(0, |time| length_ns(time, draw.beside(self.parts[side])))
    }
}

/// Returns how long a time is, by a random number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive time in ns, at most a day, fits"
)]
fn length_ns(time: ThinkTime, random: u64) -> u64 {
    match time {
        ThinkTime::Constant { us } => us * 1000,
        ThinkTime::Exponential { mean_us, max_us } => {
            let drawn_ns = exponential(random) * mean_us as f64 * 1e3;
            drawn_ns.min(max_us as f64 * 1e3).round() as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::mix;

    /// The mean of so many times, and the longest, in seconds.
    fn drawn(mean_us: u64, max_us: u64) -> (f64, f64) {
        let time = ThinkTime::Exponential { mean_us, max_us };
        let lengths = (0..1_000_000).map(|k| length_ns(time, mix(9, &[k])) as f64 / 1e9);
        let (sum, longest) = lengths.fold((0.0, 0.0_f64), |(sum, longest), length| {
            (sum + length, longest.max(length))
        });
        (sum / 1e6, longest)
    }

    #[test]
    fn exponential_times_have_their_mean_and_their_cap() {
        // Cut at m, a mean of 1 becomes 1 − e^−m; a million have a standard error of a thousandth.
        let (mean, longest) = drawn(12_000_000, 120_000_000);
        assert!((mean / 12.0 - 1.0).abs() < 0.004, "{mean}");
        assert!((119.9..=120.0).contains(&longest), "{longest}");
        let (mean, longest) = drawn(1_000_000, 1_000_000);
        assert!((mean - (1.0 - (-1.0_f64).exp())).abs() < 0.004, "{mean}");
        assert!((longest - 1.0).abs() < 1e-9, "{longest}");
    }
}
