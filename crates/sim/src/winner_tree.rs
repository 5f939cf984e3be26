//! Winner tree: finds the earliest time of a fixed number of leaves. No branch depends on the times. Source: tree
//! selection in D. E. Knuth, *The Art of Computer Programming* 3, 5.2.3.

use levelflow_units::Time;

/// Key of a leaf without a time.
const NONE: u64 = u64::MAX;

/// Minimum number of keys, enough for 4,096 leaves. With this constant, the compiler omits bounds checks. This reduces
/// the run time by 2 to 4 %.
const FEW: usize = 1 << 13;

/// Winner tree. A leaf may have a time. Each inner node has the earlier time of its two children.
///
/// A key combines a time and a leaf number. The earlier of two keys is their minimum, which needs no branch. A key can
/// represent times in a limited range after an epoch. The range is five hours with a thousand leaves, and 17 s with a
/// million leaves. The epoch advances after half of the range.
#[derive(Debug)]
pub struct WinnerTree {
    /// Smallest key of the tree.
    first: u64,
    /// Keys of the nodes. The children of node `i` are `2 i` and `2 i + 1`. The leaves come last. The key of the root
    /// (node 1) is stored in `first`. `keys[1]` is 0 instead, which is below any key and ends the loop of `add`.
    keys: Vec<u64>,
    /// Number of leaves, a power of two.
    leaves: usize,
    /// Lower bound of all times, ps.
    epoch: u64,
    /// Length of the range of times after `epoch`, ps.
    limit: u64,
    /// Number of bits of a key that contain the leaf number.
    bits: u32,
}

impl WinnerTree {
    pub fn new(leaves: usize) -> Self {
        let leaves = leaves.next_power_of_two();
        let mut keys = vec![NONE; (2 * leaves).max(FEW)];
        keys[1] = 0;
        Self {
            first: NONE,
            keys,
            leaves,
            epoch: 0,
            limit: NONE >> leaves.ilog2(),
            bits: leaves.ilog2(),
        }
    }

    /// Returns the earliest time and its leaf. If several leaves have this time, returns the leaf with the lowest
    /// number.
    #[inline]
    pub fn first(&self) -> Option<(Time, u32)> {
        let key = self.first;
        let after = key >> self.bits;
        let leaf = (key ^ after << self.bits) as u32;
        (key != NONE).then(|| (Time::from_ps(self.epoch + after), leaf))
    }

    /// Sets the time of a leaf. Returns false if the time is out of range.
    #[inline]
    #[must_use]
    pub fn set(&mut self, leaf: u32, at: Time) -> bool {
        let key = self.key(leaf, at);
        if let Some(key) = key {
            self.put(leaf, key);
        }
        key.is_some()
    }

    /// Sets the time of a leaf unless the leaf has an earlier time. Returns false if the time is out of range.
    #[inline]
    #[must_use]
    pub fn add(&mut self, leaf: u32, at: Time) -> bool {
        let Some(key) = self.key(leaf, at) else {
            return false;
        };
        let mut place = self.place(leaf);
        while key < self.keys[place] {
            self.keys[place] = key;
            place /= 2;
        }
        self.first = self.first.min(key);
        true
    }

    /// Removes the time of a leaf.
    #[inline]
    pub fn clear(&mut self, leaf: u32) {
        self.put(leaf, NONE);
    }

    /// Moves the epoch to `now` after half of the range. No time in the tree may be before `now`.
    pub fn move_epoch(&mut self, now: Time) {
        let passed = now.as_ps() - self.epoch;
        if passed < self.limit / 2 {
            return;
        }
        let keys = self.keys[2..].iter_mut().chain([&mut self.first]);
        for key in keys.filter(|key| **key != NONE) {
            *key -= passed << self.bits;
        }
        self.epoch = now.as_ps();
    }

    #[inline]
    fn place(&self, leaf: u32) -> usize {
        self.leaves + leaf as usize
    }

    #[inline]
    fn key(&self, leaf: u32, at: Time) -> Option<u64> {
        let after = at.as_ps().wrapping_sub(self.epoch);
        (after < self.limit).then(|| after << self.bits | u64::from(leaf))
    }

    #[inline]
    fn put(&mut self, leaf: u32, key: u64) {
        let place = self.place(leaf);
        self.first = match <&mut [u64; FEW]>::try_from(&mut self.keys[..]) {
            Ok(keys) => win(keys, place % FEW, key), // `% FEW` only proves that `place` is in range
            Err(_) => win(&mut self.keys, place, key),
        };
    }
}

/// Sets the key of a leaf and updates the nodes above it. Returns the smallest key of the tree.
#[inline(always)] // so that the number of keys is a constant for the compiler
fn win(keys: &mut [u64], mut place: usize, mut key: u64) -> u64 {
    while place > 1 {
        keys[place] = key;
        key = key.min(keys[place ^ 1]);
        place /= 2;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEAVES: u32 = 5;

    proptest! {
        /// Compares the tree with a plain list of times while time advances.
        #[test]
        fn the_winner_has_the_earliest_time_and_of_equal_ones_the_smallest_number(
            room in prop::sample::select(vec![1, LEAVES as usize, FEW / 2, FEW]),
            steps in prop::collection::vec((0..4, 0..LEAVES, 0..5_usize), 1..100),
        ) {
            let limit = u64::MAX >> room.next_power_of_two().ilog2();
            let mut winner_tree = WinnerTree::new(room);
            let mut times = [None; LEAVES as usize];
            let mut epoch = 0;
            for (what, leaf, later) in steps {
                let leaf = leaf % room as u32;
                let earliest = (0..LEAVES).filter_map(|i| times[i as usize].map(|at| (at, i))).min();
                prop_assert_eq!(winner_tree.first(), earliest);
                let now = earliest.map_or(Time::from_ps(epoch), |(at, _)| at);
                let at = now.as_ps().saturating_add([0, 1, 2, limit / 4, limit][later]);
                let (fits, at) = (at - epoch < limit, Time::from_ps(at));
                let time = &mut times[leaf as usize];
                match what {
                    0 => {
                        prop_assert_eq!(winner_tree.set(leaf, at), fits);
                        *time = if fits { Some(at) } else { *time };
                    }
                    1 => {
                        prop_assert_eq!(winner_tree.add(leaf, at), fits);
                        let earlier = time.map_or(at, |before: Time| before.min(at));
                        *time = if fits { Some(earlier) } else { *time };
                    }
                    2 => {
                        winner_tree.clear(leaf);
                        *time = None;
                    }
                    _ => {
                        winner_tree.move_epoch(now);
                        epoch = if now.as_ps() - epoch < limit / 2 { epoch } else { now.as_ps() };
                    }
                }
            }
        }
    }
}
