//! What packets read of links and entries is shared where it is equal: that copy stays in the cache.

use std::collections::VecDeque;
use std::sync::Arc;

/// Values among which an equal one is sought: laws that run at a link, or flows of them, by turns.
const RECENT: usize = 8;

/// Gives one copy of values that are equal and near each other.
#[derive(Debug)]
pub struct Interner<T>(VecDeque<Arc<T>>);

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: PartialEq> Interner<T> {
    /// The copy of a value: a recent one, if it is equal.
    pub fn of(&mut self, value: T) -> Arc<T> {
        if let Some(equal) = self.0.iter().find(|held| ***held == value) {
            return Arc::clone(equal);
        }
        self.0.truncate(RECENT - 1);
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
        (3..3 + RECENT).for_each(|value| drop(interner.of(value)));
        assert_eq!(interner.0.len(), RECENT);
        assert!(!Arc::ptr_eq(&a, &interner.of(1)));
    }
}
