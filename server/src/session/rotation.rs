//! Values that are served in turn, each found by its key.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Invariant: `order` has each key of `values` once.
#[derive(Debug)]
pub struct Rotation<K, V> {
    order: VecDeque<K>,
    values: HashMap<K, V>,
}

impl<K, V> Default for Rotation<K, V> {
    fn default() -> Self {
        Rotation {
            order: VecDeque::new(),
            values: HashMap::new(),
        }
    }
}

impl<K: Copy + Eq + Hash, V: Default> Rotation<K, V> {
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.values.get_mut(&key)
    }

    /// Returns the key's value. A new one is served after all others.
    pub fn entry(&mut self, key: K) -> &mut V {
        let order = &mut self.order;
        self.values.entry(key).or_insert_with(|| {
            order.push_back(key);
            V::default()
        })
    }

    /// Returns the value whose turn it is. Its next turn comes after those of all others.
    pub fn next(&mut self) -> Option<(K, &mut V)> {
        self.order.rotate_left(1.min(self.order.len()));
        let key = *self.order.back()?;
        let value = self.values.get_mut(&key);
        value.map(|value| (key, value))
    }

    pub fn remove(&mut self, key: K) {
        if self.values.remove(&key).is_some() {
            self.order.retain(|other| *other != key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(rotation: &mut Rotation<u32, u32>, count: usize) -> Vec<u32> {
        let turn = |_| rotation.next().map(|(key, _)| key);
        (0..count).map_while(turn).collect()
    }

    #[test]
    fn whoever_comes_waits_for_one_turn_of_each_other() {
        let mut rotation = Rotation::default();
        assert!(rotation.next().is_none());
        for key in [7, 3, 5] {
            *rotation.entry(key) += key;
        }
        assert_eq!(turns(&mut rotation, 4), [7, 3, 5, 7]);
        *rotation.entry(3) += 1;
        *rotation.entry(1) += 1;
        assert_eq!(turns(&mut rotation, 5), [3, 5, 7, 1, 3]);
        assert_eq!(rotation.get_mut(3), Some(&mut 4));
    }

    #[test]
    fn whoever_goes_has_no_turn_any_more() {
        let mut rotation = Rotation::default();
        for key in [1, 2, 3] {
            rotation.entry(key);
        }
        turns(&mut rotation, 1);
        rotation.remove(3);
        rotation.remove(4);
        assert_eq!(turns(&mut rotation, 3), [2, 1, 2]);
        rotation.remove(1);
        rotation.remove(2);
        assert!(rotation.is_empty());
        assert!(rotation.next().is_none());
    }
}
