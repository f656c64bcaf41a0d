//! Which operations are logged, where a job logs a share of them.

use crate::job::Job;
use crate::value::{mix, name_part};

/// A sample of operations, the same in each run of a job.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    seed: u64,
    /// Random numbers up to this are of the sample.
    highest: u64,
}

impl Sample {
    /// The sample of a job: this share of its operations.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share from 0 to 1 of 2^64, which saturates"
    )]
    pub(super) fn new(job: &Job, share: f64) -> Self {
        Self {
            seed: mix(job.seed, &[name_part(&job.step), name_part("log")]),
            highest: (share * 2.0_f64.powi(64)) as u64,
        }
    }

    /// Tells whether operation `number` of a role's connection is of the sample.
    #[must_use]
    pub fn has(&self, role: usize, connection: u32, number: u64) -> bool {
        mix(self.seed, &[role as u64, u64::from(connection), number]) <= self.highest
    }
}
