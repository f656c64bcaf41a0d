//! Which of a role's arrivals belong to this process.

/// The part of a role's arrivals that belongs to this process, where several processes make the load of one step.
#[derive(Debug)]
pub struct Share {
    cycle: u64,
    /// Which arrivals of each cycle belong to this process, ascending.
    own: Box<[u64]>,
}

impl Share {
    /// Takes the arrivals whose number modulo `cycle` is among `own` (ascending).
    ///
    /// # Panics
    /// Where `own` is empty or holds a number that is not below `cycle`.
    #[must_use]
    pub fn new(cycle: u64, own: Vec<u64>) -> Self {
        assert!(!own.is_empty() && own.iter().all(|number| *number < cycle));
        let own = own.into();
        Self { cycle, own }
    }

    /// Takes all arrivals.
    #[must_use]
    pub fn whole() -> Self {
        Self::new(1, vec![0])
    }

    /// Returns the number within the role of this process's arrival `k`.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "below the length of `own`, which is a usize"
    )]
    pub(super) fn number(&self, k: u64) -> u64 {
        let own = self.own.len() as u64;
        k / own * self.cycle + self.own[(k % own) as usize]
    }

    /// Returns how many of the role's arrivals up to number `last` belong to this process.
    pub(super) fn up_to(&self, last: u64) -> u64 {
        let rest = last % self.cycle;
        let within = self.own.iter().filter(|number| **number <= rest).count();
        last / self.cycle * self.own.len() as u64 + within as u64
    }
}
