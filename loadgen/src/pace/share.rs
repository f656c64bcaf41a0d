//! A process's share of a role's arrivals, where several processes make the load of one step.

/// Which of a role's arrivals are this process's: of each `cycle` those at `places`.
#[derive(Debug)]
pub struct Share {
    cycle: u64,
    places: Box<[u64]>,
}

impl Share {
    /// Those whose number modulo `cycle` is among `places` (ascending).
    ///
    /// # Panics
    /// Where `places` is empty or holds a number that is not below `cycle`.
    #[must_use]
    pub fn new(cycle: u64, places: Vec<u64>) -> Self {
        assert!(!places.is_empty() && places.iter().all(|place| *place < cycle));
        Self {
            cycle,
            places: places.into(),
        }
    }

    /// All of them.
    #[must_use]
    pub fn whole() -> Self {
        Self::new(1, vec![0])
    }

    /// The number within the role of this process's arrival `k`.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "below the number of places, which is a usize"
    )]
    pub(super) fn number(&self, k: u64) -> u64 {
        let places = self.places.len() as u64;
        k / places * self.cycle + self.places[(k % places) as usize]
    }

    /// How many of the role's arrivals up to number `last` are this process's.
    pub(super) fn up_to(&self, last: u64) -> u64 {
        let rest = last % self.cycle;
        let within = self.places.iter().filter(|place| **place <= rest).count();
        last / self.cycle * self.places.len() as u64 + within as u64
    }
}
