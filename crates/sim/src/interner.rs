//! Values that many links or entries have in common are held once: that copy stays in the cache.

use std::sync::Arc;

/// Gives one copy of values that are equal and follow each other.
#[derive(Debug)]
pub struct Interner<T>(Option<Arc<T>>);

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: PartialEq> Interner<T> {
    /// The copy of a value: the last one, if it is equal.
    pub fn of(&mut self, value: T) -> Arc<T> {
        if let Some(last) = self.0.as_ref().filter(|last| ***last == value) {
            return Arc::clone(last);
        }
        Arc::clone(self.0.insert(Arc::new(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_in_a_row_are_one() {
        let mut shared = Interner::default();
        let [a, b, c, d] = [1, 1, 2, 1].map(|value| shared.of(value));
        assert_eq!([*a, *b, *c, *d], [1, 1, 2, 1]);
        assert!(Arc::ptr_eq(&a, &b) && !Arc::ptr_eq(&b, &d));
    }
}
