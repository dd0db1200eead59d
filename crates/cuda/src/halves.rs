//! Products along both axes of fields that blocks have parts of, in two halves: see `device/fields.h`.
//!
//! Such a product is little work and much waiting. Two that do not depend on each other are done together.

use crate::calls::{Call, Slot};

/// What two products must have in common to be done together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halves {
    /// Of each half: numbers m, rows or columns of a block, and terms.
    pub sizes: [[usize; 3]; 2],
    /// Rows or columns of all blocks.
    pub all: [usize; 2],
    /// Distances in the field: of terms and of what is read, of numbers m and of what is written.
    pub strides: [[usize; 2]; 2],
    /// Warps of a block, and the numbers of its shared memory that there are for this.
    pub warps: usize,
    pub most: usize,
}

/// One of the products.
#[derive(Clone, Debug)]
pub struct Transform {
    /// The matrices of both halves, by number.
    pub matrices: [usize; 2],
    pub from: Slot,
    pub to: Slot,
    pub mode: &'static str,
}

impl Halves {
    /// Numbers of room for parts of sums in a half.
    fn room(&self, half: usize, count: usize) -> usize {
        let [m, n, k] = self.sizes[half];
        let (wide, all) = (n.next_multiple_of(8), k.div_ceil(8));
        let rounds = (all * m.div_ceil(16) * (wide / 8) * count).div_ceil(self.warps).min(all);
        count * all.div_ceil(rounds) * wide * (m.next_multiple_of(16) + 4)
    }

    /// Numbers of a box for so many products.
    fn sent(&self, count: usize) -> usize {
        count * self.all[0] * self.sizes[1][1].next_multiple_of(8)
    }

    /// Whether there is shared memory for so many products.
    pub fn fit(&self, count: usize) -> bool {
        self.room(0, count) + self.room(1, count) + 2 * self.sent(count) <= self.most
    }

    /// The call of one product or two. What it touches is left to the caller.
    pub fn call(&self, products: &[Transform]) -> Call {
        let Halves { sizes: [[m, n, k], [m2, n2, k2]], all: [all, all2], .. } = self;
        let [[bk, bn], [om, on]] = self.strides;
        let (count, one, other) = (products.len(), &products[0], &products[products.len() - 1]);
        let factors =
            |of: &Transform| format!("factors<{bk}>(m{}, {}, s, {})", of.matrices[0], of.from.name(), n * bn);
        let target = |of: &Transform| format!("target<{om}>({}, s, {})", of.to.name(), n2 * on);
        let ahead = self.room(0, count);
        let first = format!(
            "first_half<{m}, {n}, {k}, {bn}, {all}, {n2}, {count}>(one, s, turn, {}, {}, boxes, \
             room_of_parts);",
            factors(one),
            factors(other)
        );
        let second = format!(
            "second_half<{m2}, {n2}, {k2}, {all2}, {on}, {}, {}, {count}>(one, s, turn, m{}, m{}, boxes, \
             room_of_parts + {ahead}, {}, {});",
            one.mode,
            other.mode,
            one.matrices[1],
            other.matrices[1],
            target(one),
            target(other)
        );
        let text = format!("EACH_PART(s, one) {{ {first} }} EACH_PART(s, one) {{ {second} }} turn++;");
        let work = 2 * count * (m * k * all + m2 * k2 * all2);
        Call {
            local: ahead + self.room(1, count),
            sent: self.sent(count),
            matrices: products.iter().flat_map(|of| of.matrices).collect(),
            halves: Some((self.clone(), products.to_vec())),
            ..Call::new(text, work as f64)
        }
    }
}

/// Puts pairs of such products together. A second one may add to what the first has written.
pub fn pair(calls: &mut Vec<Call>) {
    let mut i = 0;
    while i < calls.len() {
        if let Some(j) = partner(calls, i) {
            let second = calls.remove(j);
            calls[i] = together(&calls[i], &second);
        }
        i += 1;
    }
}

/// A later call that can be done with call i.
fn partner(calls: &[Call], i: usize) -> Option<usize> {
    let Some((halves, [first])) = calls[i].halves.as_ref().map(|(halves, products)| (halves, &products[..]))
    else {
        return None;
    };
    if !halves.fit(2) {
        return None;
    }
    let alike = |call: &Call| {
        call.halves.as_ref().is_some_and(|(other, products)| {
            let second = &products[0];
            let apart = second.from != first.to && first.from != second.to;
            other == halves && products.len() == 1 && apart && (second.to != first.to || second.mode == "ADD")
        })
    };
    let free = |j: &usize| calls[i + 1..*j].iter().all(|between| !between.conflicts(&calls[*j]));
    (i + 1..calls.len()).filter(|&j| alike(&calls[j])).find(free)
}

fn together(one: &Call, other: &Call) -> Call {
    let parts = [one, other].map(|call| call.halves.as_ref().expect("a product along both axes"));
    let products: Vec<Transform> = parts.iter().flat_map(|(_, products)| products.clone()).collect();
    let mut call = parts[0].0.call(&products);
    (call.part, call.items) = (one.part, one.items);
    call.reads = [&one.reads[..], &other.reads].concat();
    call.writes = [&one.writes[..], &other.writes].concat();
    call.writes.dedup();
    call
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::Part;

    /// A product of the field in slot `from`, which goes to slot `to`.
    fn product(from: usize, to: usize, mode: &'static str) -> Call {
        let halves = Halves {
            sizes: [[64, 6, 43], [64, 8, 43]],
            all: [43, 64],
            strides: [[1, 43], [64, 1]],
            warps: 16,
            most: 20_000,
        };
        let (from, to) = (Slot::Value(from), Slot::Value(to));
        let call = halves.call(&[Transform { matrices: [0, 1], from, to, mode }]);
        call.reads_part(from, Part::Rows(258)).writes_part(to, Part::Columns(8, 64))
    }

    fn paired(mut calls: Vec<Call>) -> usize {
        let before = calls.len();
        pair(&mut calls);
        before - calls.len()
    }

    #[test]
    fn products_that_do_not_depend_on_each_other_go_together() {
        assert_eq!(paired(vec![product(0, 1, "WRITE"), product(0, 2, "WRITE")]), 1);
        assert_eq!(paired(vec![product(0, 1, "WRITE"), product(3, 1, "ADD")]), 1);
        // three of them: a pair and one alone
        assert_eq!(paired(vec![product(0, 1, "ADD"), product(0, 2, "ADD"), product(0, 3, "ADD")]), 1);
    }

    #[test]
    fn products_that_depend_on_each_other_do_not() {
        assert_eq!(paired(vec![product(0, 1, "WRITE"), product(1, 2, "WRITE")]), 0);
        assert_eq!(paired(vec![product(0, 1, "WRITE"), product(2, 0, "WRITE")]), 0);
        assert_eq!(paired(vec![product(0, 1, "WRITE"), product(2, 1, "WRITE")]), 0);
        // the second one reads what comes in between
        let between = Call::new(String::new(), 1.0).flat(Slot::Value(1)).writes(Slot::Value(2));
        assert_eq!(paired(vec![product(0, 1, "WRITE"), between, product(2, 3, "WRITE")]), 0);
    }

    #[test]
    fn a_pair_begins_what_its_first_product_writes() {
        let mut calls = vec![product(0, 1, "WRITE"), product(3, 1, "ADD"), product(0, 4, "ADD")];
        pair(&mut calls);
        assert!(calls[0].begins(Slot::Value(1)));
        assert!(!calls[1].begins(Slot::Value(4)));
    }
}
