//! Who of a fixed number of players has the earliest time, found without a branch that depends on the times: tree selection
//! (D. E. Knuth, *The Art of Computer Programming* 3, 5.2.3).

use levelflow_units::Time;

/// The key of a player without a time.
const NONE: u64 = u64::MAX;

/// At least so many keys, those of 4,096 players: where their number is known, no place has to be checked, which takes 0.96 to
/// 0.98 of the time.
const FEW: usize = 1 << 13;

/// The times of players, and of each pair the earlier one, up to the winner's.
///
/// Time and player make one number, so that the earlier of two is a minimum, for which processors need not guess. So there is
/// room only for times up to a limit after an epoch: five hours with a thousand players, 17 s with a million. The epoch follows
/// once half of that has passed.
#[derive(Debug)]
pub struct Tournament {
    /// The winner.
    first: u64,
    /// Below the winner the pair at 2 and 3, below the one at `i` that at `2 i` and `2 i + 1`, the players last; 0 at 1, not
    /// above any key.
    keys: Vec<u64>,
    /// Room for so many, a power of two.
    players: usize,
    /// No time is before it, ps.
    epoch: u64,
    /// There is room for times up to so long after it, ps.
    limit: u64,
    /// Bits of a key that say whose it is.
    bits: u32,
}

impl Tournament {
    pub fn new(players: usize) -> Self {
        let players = players.next_power_of_two();
        let mut keys = vec![NONE; (2 * players).max(FEW)];
        keys[1] = 0;
        Self {
            first: NONE,
            keys,
            players,
            epoch: 0,
            limit: NONE >> players.ilog2(),
            bits: players.ilog2(),
        }
    }

    /// The earliest time and whose it is; of equal times, that of the first player.
    #[inline]
    pub fn first(&self) -> Option<(Time, u32)> {
        let key = self.first;
        let after = key >> self.bits;
        let player = (key ^ after << self.bits) as u32;
        (key != NONE).then(|| (Time::from_ps(self.epoch + after), player))
    }

    /// Gives a player this time, if there is room for it.
    #[inline]
    #[must_use]
    pub fn set(&mut self, player: u32, at: Time) -> bool {
        let key = self.key(player, at);
        if let Some(key) = key {
            self.put(player, key);
        }
        key.is_some()
    }

    /// Gives a player this time, if there is room for it, unless the player has an earlier one.
    #[inline]
    #[must_use]
    pub fn add(&mut self, player: u32, at: Time) -> bool {
        let Some(key) = self.key(player, at) else {
            return false;
        };
        let mut place = self.place(player);
        while key < self.keys[place] {
            self.keys[place] = key;
            place /= 2;
        }
        self.first = self.first.min(key);
        true
    }

    /// Takes a player's time away.
    #[inline]
    pub fn clear(&mut self, player: u32) {
        self.put(player, NONE);
    }

    /// No time is before `now`: makes room for later ones once half of the room is used.
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
    fn place(&self, player: u32) -> usize {
        self.players + player as usize
    }

    #[inline]
    fn key(&self, player: u32, at: Time) -> Option<u64> {
        let after = at.as_ps().wrapping_sub(self.epoch);
        (after < self.limit).then(|| after << self.bits | u64::from(player))
    }

    #[inline]
    fn put(&mut self, player: u32, key: u64) {
        let place = self.place(player);
        self.first = match <&mut [u64; FEW]>::try_from(&mut self.keys[..]) {
            Ok(keys) => win(keys, place % FEW, key), // the remainder is the place, and tells that it is below
            Err(_) => win(&mut self.keys, place, key),
        };
    }
}

/// Puts a key at a place, and above it the earlier one of each pair; gives the winner.
#[inline(always)] // with the number of keys
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

    const PLAYERS: u32 = 5;

    proptest! {
        /// Beside a plain list of times, while time goes on.
        #[test]
        fn the_winner_has_the_earliest_time_and_of_equal_ones_the_smallest_number(
            room in prop::sample::select(vec![1, PLAYERS as usize, FEW / 2, FEW]),
            steps in prop::collection::vec((0..4, 0..PLAYERS, 0..5_usize), 1..100),
        ) {
            let limit = u64::MAX >> room.next_power_of_two().ilog2();
            let mut tournament = Tournament::new(room);
            let mut times = [None; PLAYERS as usize];
            let mut epoch = 0;
            for (what, player, later) in steps {
                let player = player % room as u32;
                let earliest = (0..PLAYERS).filter_map(|i| times[i as usize].map(|at| (at, i))).min();
                prop_assert_eq!(tournament.first(), earliest);
                let now = earliest.map_or(Time::from_ps(epoch), |(at, _)| at);
                let at = now.as_ps().saturating_add([0, 1, 2, limit / 4, limit][later]);
                let (fits, at) = (at - epoch < limit, Time::from_ps(at));
                let time = &mut times[player as usize];
                match what {
                    0 => {
                        prop_assert_eq!(tournament.set(player, at), fits);
                        *time = if fits { Some(at) } else { *time };
                    }
                    1 => {
                        prop_assert_eq!(tournament.add(player, at), fits);
                        let earlier = time.map_or(at, |before: Time| before.min(at));
                        *time = if fits { Some(earlier) } else { *time };
                    }
                    2 => {
                        tournament.clear(player);
                        *time = None;
                    }
                    _ => {
                        tournament.move_epoch(now);
                        epoch = if now.as_ps() - epoch < limit / 2 { epoch } else { now.as_ps() };
                    }
                }
            }
        }
    }
}
