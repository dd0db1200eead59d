//! Constant numbers of a program: matrices, grids, stencils. They are given to the device once.

use std::collections::HashMap;

/// A matrix that blocks want in their shared memory.
pub struct Matrix {
    /// Expression for its place.
    pub place: String,
    /// Its numbers.
    pub size: usize,
}

/// Numbers and whole numbers, each list at its place.
#[derive(Default)]
pub struct Tables {
    /// Numbers, to be rounded to the precision of the program.
    pub numbers: Vec<f64>,
    /// Whole numbers.
    pub indices: Vec<i32>,
    /// Matrices that blocks want to have near; in code number i is called `m` and i.
    pub matrices: Vec<Matrix>,
    known: HashMap<Vec<u64>, usize>,
    known_indices: HashMap<Vec<i32>, usize>,
}

/// Lists begin at multiples of this, so that several numbers can be read at once.
const ALIGNED: usize = 4;

impl Tables {
    /// An expression for the place of these numbers. Equal lists are kept once.
    pub fn numbers(&mut self, list: &[f64]) -> String {
        let key: Vec<u64> = list.iter().map(|x| x.to_bits()).collect();
        let at = *self.known.entry(key).or_insert_with(|| {
            let at = self.numbers.len();
            self.numbers.extend(list);
            self.numbers.resize(self.numbers.len().next_multiple_of(ALIGNED), 0.0);
            at
        });
        format!("(a.tables + {at})")
    }

    /// The number of a matrix that blocks want to have near.
    pub fn matrix(&mut self, list: &[f64]) -> usize {
        let (place, size) = (self.numbers(list), list.len());
        self.matrices.iter().position(|known| known.place == place).unwrap_or_else(|| {
            self.matrices.push(Matrix { place, size });
            self.matrices.len() - 1
        })
    }

    /// An expression for the place of whole numbers.
    pub fn indices(&mut self, list: Vec<i32>) -> String {
        let at = *self.known_indices.entry(list.clone()).or_insert_with(|| {
            let at = self.indices.len();
            self.indices.extend(&list);
            at
        });
        format!("(a.indices + {at})")
    }
}
