//! Eq 10 in integers, with a table for the exponential, as section VI has it for lack of floating point in a kernel.

use levelflow_units::Duration;

use super::header::{FRACTION_BITS, LARGEST};

/// Fraction bits of `xi` and of all that is added to it.
const BITS: u32 = 48;
const ONE: i128 = 1 << BITS;
/// Fraction bits of rates in bit/s.
const RATE_BITS: u32 = 32;
/// Logarithm of the length of the table.
const TABLE_BITS: u32 = 7;
/// Fraction bits of its entries.
const ENTRY_BITS: u32 = 63;
/// Of these, what a product with a rate has room for.
const KEPT_BITS: u32 = 40;
const PS_PER_S: i128 = 1_000_000_000_000;
const LOG2_E: i128 = (core::f64::consts::LOG2_E * ONE as f64) as i128;

/// `2^(-k/128)` for `k` from 0 to 128: powers of the root of 1/2 that seven square roots give.
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

/// Parameters as integers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Constants {
    /// Bit/s, with [`RATE_BITS`].
    x_max: u128,
    /// `T`, ps.
    t: i128,
    /// With [`BITS`].
    alpha: i128,
    /// `alpha eta T`, ps with [`BITS`].
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

/// `xi`, with [`BITS`].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fixed(i128);

impl Fixed {
    pub(super) fn new(constants: &Constants, field: u32, tau: Duration) -> Self {
        let (fast, slow) = exponents(constants, field, tau.as_ps().into());
        Self(fast - slow)
    }

    /// See [`Source::update`](super::source::Source::update).
    pub(super) fn update(&mut self, constants: &Constants, field: u32, tau: Duration, dt: Duration) -> f64 {
        let (tau, dt) = (i128::from(tau.as_ps()), i128::from(dt.as_ps()));
        let (fast, slow) = exponents(constants, field, tau);
        let gain = (constants.speed / tau).saturating_mul(dt) / tau;
        self.0 += ((fast - slow - self.0) * gain.min(ONE)) >> BITS;
        let rate = times_exp(constants.x_max, (fast - self.0).max(0));
        rate as f64 / (1_u64 << RATE_BITS) as f64
    }
}

/// `alpha q/tau` and `q/T`, with [`BITS`].
fn exponents(constants: &Constants, field: u32, tau: i128) -> (i128, i128) {
    let q = i128::from(field & LARGEST) * PS_PER_S;
    let fast = ((constants.alpha * q) >> FRACTION_BITS) / tau;
    let slow = (q << (BITS - FRACTION_BITS)) / constants.t;
    (fast, slow)
}

/// `amount * exp(-x)`, for `x` with [`BITS`] and at least 0. Interpolation in the table is too large by at most
/// `(ln 2/128)^2/8`, which is 3.7e-6.
fn times_exp(amount: u128, x: i128) -> u128 {
    const STEP: u32 = BITS - TABLE_BITS;
    let halvings = ((x * LOG2_E) >> BITS) as u128;
    let k = (halvings >> STEP) as usize % (1 << TABLE_BITS);
    let between = halvings % (1 << STEP);
    let (high, low) = (u128::from(TABLE[k]), u128::from(TABLE[k + 1]));
    let mantissa = high - (((high - low) * between) >> STEP);
    let whole = (halvings >> BITS).min(127) as u32;
    (amount * (mantissa >> (ENTRY_BITS - KEPT_BITS))) >> KEPT_BITS >> whole
}
