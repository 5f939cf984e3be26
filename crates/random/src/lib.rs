//! Random streams. Each flow, link or other entity has one stream for each purpose. A new flow therefore does not
//! change the random numbers of other flows.
//!
//! A stream returns the same numbers on every platform and in every version of this crate.

#![no_std]

use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

/// A named stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream(Pcg64Mcg);

impl Stream {
    /// Creates the stream of the entity `name` for `purpose`. `seed` is the seed of the run.
    #[must_use]
    pub fn new(seed: u64, purpose: &str, name: &str) -> Self {
        let hash = fold(BASIS ^ mix(seed), purpose.bytes().chain([0]).chain(name.bytes()));
        let (low, high) = (mix(hash), mix(hash ^ 0x9e37_79b9_7f4a_7c15));
        Self(Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low)))
    }

    /// Returns 64 random bits, for example to seed another generator.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a uniformly distributed number in [0, 1). The number is a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns an exponentially distributed number with mean 1, computed by inversion.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// Returns a normally distributed number with mean 0 and variance 1, computed by the method of Box and Muller. The
    /// second number of each pair is discarded.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(core::f64::consts::TAU * self.unit())
    }
}

/// Returns a hash of the name.
#[must_use]
pub fn identity(name: &str) -> u64 {
    mix(fold(BASIS, name.bytes()))
}

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// Updates an FNV-1a hash with the bytes.
fn fold(basis: u64, bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(basis, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns a hash of a number. Every input bit affects every output bit. This is the finaliser of SplitMix64.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(n: u32, mut draw: impl FnMut() -> f64) -> f64 {
        (0..n).map(|_| draw()).sum::<f64>() / f64::from(n)
    }

    // **Invariant** (The engine): streams differ by seed, purpose and name. Parts of a network that share no resource
    // do not affect each other. See `parts_that_share_nothing_do_not_affect_each_other`,
    // `another_seed_is_another_run`, `flows_that_are_added_change_no_draws_of_others`.
    #[test]
    fn streams_differ_by_seed_purpose_and_name() {
        let first = |seed, purpose, name| Stream::new(seed, purpose, name).unit();
        let base = first(1, "size", "x1");
        assert_eq!(base, first(1, "size", "x1"));
        for other in [
            first(2, "size", "x1"),
            first(1, "start", "x1"),
            first(1, "size", "x2"),
            first(1, "sizex", "1"),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn moments_match_the_laws_they_are_named_after() {
        let mut s = Stream::new(7, "test", "moments");
        let n = 200_000;
        assert!((mean(n, || s.unit()) - 0.5).abs() < 0.005);
        assert!((mean(n, || s.exponential()) - 1.0).abs() < 0.01);
        assert!(mean(n, || s.normal()).abs() < 0.01);
        assert!((mean(n, || s.normal().powi(2)) - 1.0).abs() < 0.02);
    }
}
