//! Random number generator of a sender. A law that uses this generator remains a pure function of its inputs and its
//! seed. The generator takes 8 bytes.

/// Pseudo-random numbers (SplitMix64: G. Steele, D. Lea, C. Flood, OOPSLA 2014).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Draws(u64);

impl Draws {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Returns a uniform number in [0, 1), in steps of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Returns a uniform number from 0 to `count - 1`.
    pub fn below(&mut self, count: u32) -> u32 {
        ((u64::from(count) * (self.bits() >> 32)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the numbers with Vigna's reference implementation, seed 1234567.
    #[test]
    fn bits_are_those_of_splitmix64() {
        let mut draws = Draws::new(1_234_567);
        let bits = [(); 3].map(|()| draws.bits());
        assert_eq!(
            bits,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn numbers_are_uniform() {
        let mut draws = Draws::new(1);
        let mut counts = [0; 7];
        let mut sum = 0.0;
        for _ in 0..70_000 {
            counts[draws.below(7) as usize] += 1;
            sum += draws.unit();
        }
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
        assert!((sum / 70_000.0 - 0.5).abs() < 0.005, "{sum}");
    }
}
