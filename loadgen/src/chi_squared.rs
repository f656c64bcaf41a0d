//! Whether counts of draws may come from probabilities, by the chi-squared statistic; for tests.

/// Refuses counts whose statistic exceeds what chance gives once in a thousand. `exact` has each
/// number's probability, and `of` says in words what was drawn.
///
/// # Panics
/// Where the counts are that unlikely, or the probabilities are none.
pub(crate) fn refuse_unlikely(counts: &[u64], exact: &[f64], of: &str) {
    assert!((exact.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{of}");
    let draws = counts.iter().sum::<u64>() as f64;
    // Neighbours are taken together until five are expected, as the statistic needs.
    let (mut chi, mut freedom) = (0.0, -1.0);
    let (mut expected, mut counted) = (0.0, 0);
    let mut left = draws;
    for (count, probability) in counts.iter().zip(exact) {
        let share = probability * draws;
        (expected, counted, left) = (expected + share, counted + count, left - share);
        if expected >= 5.0 && left >= 5.0 {
            chi += (counted as f64 - expected).powi(2) / expected;
            freedom += 1.0;
            (expected, counted) = (0.0, 0);
        }
    }
    let rest = expected + left;
    chi += (counted as f64 - rest).powi(2) / rest.max(f64::MIN_POSITIVE);
    freedom += 1.0;
    let most = at_a_thousandth(freedom);
    assert!(
        chi <= most,
        "{of}: {chi} with {freedom} degrees of freedom, at most {most}"
    );
}

/// What chi-squared exceeds once in a thousand (Wilson and Hilferty 1931).
fn at_a_thousandth(freedom: f64) -> f64 {
    if freedom < 1.0 {
        return 1e-6;
    }
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + 3.0902 * spread.sqrt()).powi(3)
}
