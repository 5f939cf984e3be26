//! Sharing of equal parameters of links and entries. All packets then read the same copy, which stays in the cache.

use std::collections::VecDeque;
use std::sync::Arc;

/// Number of recent values to compare. It suffices if a few different values alternate.
const RECENT_VALUES: usize = 8;

/// Stores one copy of equal values. Only recent values are compared.
#[derive(Debug)]
pub struct Interner<T>(VecDeque<Arc<T>>);

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: PartialEq> Interner<T> {
    /// Returns a shared copy of a value: an equal recent copy, or else a new copy.
    pub fn of(&mut self, value: T) -> Arc<T> {
        if let Some(equal) = self.0.iter().find(|held| ***held == value) {
            return Arc::clone(equal);
        }
        self.0.truncate(RECENT_VALUES - 1);
        self.0.push_front(Arc::new(value));
        Arc::clone(&self.0[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_by_turns_are_one() {
        let mut interner = Interner::default();
        let [a, b, c, d] = [1, 2, 1, 2].map(|value| interner.of(value));
        assert_eq!([*a, *b, *c, *d], [1, 2, 1, 2]);
        assert!(Arc::ptr_eq(&a, &c) && Arc::ptr_eq(&b, &d));
        (3..3 + RECENT_VALUES).for_each(|value| drop(interner.of(value)));
        assert_eq!(interner.0.len(), RECENT_VALUES);
        assert!(!Arc::ptr_eq(&a, &interner.of(1)));
    }
}
