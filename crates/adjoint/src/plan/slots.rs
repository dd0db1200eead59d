//! Sharing memory: two lifetimes that do not meet may have the same slot.

use std::collections::HashMap;

/// First and last time something is in use.
#[derive(Clone, Copy)]
pub(super) struct Lifetime {
    pub first: usize,
    pub last: usize,
}

/// Gives a slot to every lifetime; slots are reused by equally long values.
pub(super) fn assign(
    lifetimes: &[(usize, Lifetime, usize)],
    slots: &mut Vec<usize>,
) -> HashMap<usize, usize> {
    let mut order: Vec<_> = lifetimes.to_vec();
    order.sort_by_key(|(id, life, _)| (life.first, *id));
    let mut free: HashMap<usize, Vec<(usize, usize)>> = HashMap::new();
    let mut placed = HashMap::new();
    for (id, life, len) in order {
        let idle = free.entry(len).or_default();
        let slot = match idle.iter().position(|&(until, _)| until < life.first) {
            Some(i) => idle.swap_remove(i).1,
            None => {
                slots.push(len);
                slots.len() - 1
            }
        };
        idle.push((life.last, slot));
        placed.insert(id, slot);
    }
    placed
}
