//! Eq 10 in integer arithmetic, with a table for the exponential function (section VI). A kernel cannot use floats.

use levelflow_units::Duration;

use super::header::{FRACTION_BITS, MAX_CODE};

/// Fraction bits of `xi` and its increments.
const XI_FRACTION_BITS: u32 = 48;
const ONE: i128 = 1 << XI_FRACTION_BITS;
/// Fraction bits of rates in bit/s.
const RATE_BITS: u32 = 32;
/// Base-2 logarithm of the number of table intervals.
const TABLE_BITS: u32 = 7;
/// Fraction bits of the values in the table.
const ENTRY_BITS: u32 = 63;
/// Fraction bits of a table value that are kept for its multiplication with a rate. With this number of bits, the
/// product does not overflow.
const KEPT_BITS: u32 = 40;
const PS_PER_S: i128 = 1_000_000_000_000;
const LOG2_E: i128 = (core::f64::consts::LOG2_E * ONE as f64) as i128;

/// Table of `2^(-k/128)` for `k` from 0 to 128. The values are powers of the 128th root of 1/2, which is computed by
/// seven square roots.
const TABLE: [u64; (1 << TABLE_BITS) + 1] = {
    let mut root: u128 = 1 << (ENTRY_BITS - 1);
    let mut i = 0;
    while i < TABLE_BITS {
        root = (root << ENTRY_BITS).isqrt();
        i += 1;
    }
    let mut table = [1 << ENTRY_BITS; (1 << TABLE_BITS) + 1];
    let mut k = 1;
    while k < table.len() {
        table[k] = ((table[k - 1] as u128 * root) >> ENTRY_BITS) as u64;
        k += 1;
    }
    table
};

/// Parameters in integer representation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Constants {
    /// `x_max`, bit/s, with [`RATE_BITS`] fraction bits.
    x_max: u128,
    /// `T`, in picoseconds.
    t: i128,
    /// `alpha`, with [`XI_FRACTION_BITS`] fraction bits.
    alpha: i128,
    /// `alpha eta T`, in picoseconds, with [`XI_FRACTION_BITS`] fraction bits.
    speed: i128,
}

impl Constants {
    pub(super) fn new(x_max: f64, t: f64, alpha: f64, eta: f64) -> Self {
        let (second, one) = (PS_PER_S as f64, ONE as f64);
        Self {
            x_max: (x_max as u128) << RATE_BITS,
            t: (t * second) as i128,
            alpha: (alpha * one) as i128,
            speed: (alpha * eta * t * second * one) as i128,
        }
    }
}

/// State `xi`, with [`XI_FRACTION_BITS`] fraction bits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fixed(i128);

impl Fixed {
    pub(super) fn new(constants: &Constants, field: u32, tau: Duration) -> Self {
        let (fast, slow) = exponents(constants, field, tau.as_ps().into());
        Self(fast - slow)
    }

    /// Implements [`Source::update`](super::source::Source::update).
    pub(super) fn update(&mut self, constants: &Constants, field: u32, tau: Duration, dt: Duration) -> f64 {
        let (tau, dt) = (i128::from(tau.as_ps()), i128::from(dt.as_ps()));
        let (fast, slow) = exponents(constants, field, tau);
        let gain = (constants.speed / tau).saturating_mul(dt) / tau;
        self.0 += ((fast - slow - self.0) * gain.min(ONE)) >> XI_FRACTION_BITS;
        let rate = times_exp(constants.x_max, (fast - self.0).max(0));
        rate as f64 / (1_u64 << RATE_BITS) as f64
    }
}

/// Returns `alpha q/tau` and `q/T`, with [`XI_FRACTION_BITS`] fraction bits.
fn exponents(constants: &Constants, field: u32, tau: i128) -> (i128, i128) {
    let q = i128::from(field & MAX_CODE) * PS_PER_S;
    let fast = ((constants.alpha * q) >> FRACTION_BITS) / tau;
    let slow = (q << (XI_FRACTION_BITS - FRACTION_BITS)) / constants.t;
    (fast, slow)
}

/// Returns `amount * exp(-x)`. `x` is at least 0 and has [`XI_FRACTION_BITS`] fraction bits. Interpolation in the table
/// makes the result too large, by a factor of at most `1 + (ln 2/128)^2/8` = 1 + 3.7e-6.
fn times_exp(amount: u128, x: i128) -> u128 {
    const STEP: u32 = XI_FRACTION_BITS - TABLE_BITS;
    let halvings = ((x * LOG2_E) >> XI_FRACTION_BITS) as u128;
    let k = (halvings >> STEP) as usize % (1 << TABLE_BITS);
    let between = halvings % (1 << STEP);
    let (high, low) = (u128::from(TABLE[k]), u128::from(TABLE[k + 1]));
    let mantissa = high - (((high - low) * between) >> STEP);
    let whole = (halvings >> XI_FRACTION_BITS).min(127) as u32;
    (amount * (mantissa >> (ENTRY_BITS - KEPT_BITS))) >> KEPT_BITS >> whole
}
