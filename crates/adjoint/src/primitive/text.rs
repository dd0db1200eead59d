//! Elementary functions as text, for backends that write source code.

use super::*;

/// An elementary function as expressions in C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula {
    /// The value as a function of the input `x`.
    pub value: String,
    /// The adjoint of the input, from the adjoint `d` of the output and `s`, the value that is seen.
    pub slope: String,
    /// Whether `s` is the output; else it is the input.
    pub by_output: bool,
}

/// A number that is spelled out instead of computed: it has the operations of a vector of numbers.
#[derive(Clone)]
struct V(String);

impl V {
    fn of(number: f64) -> V {
        V(format!("T({number:?})"))
    }
    fn zero() -> V {
        V::of(0.0)
    }
    fn select_lt(a: impl Into<V>, b: impl Into<V>, then: impl Into<V>, otherwise: impl Into<V>) -> V {
        let (a, b, then, otherwise) = (a.into(), b.into(), then.into(), otherwise.into());
        V(format!("({} < {} ? {} : {})", a.0, b.0, then.0, otherwise.0))
    }
    fn call(name: &str, x: &V) -> V {
        V(format!("{name}({})", x.0))
    }
    fn mul(&self, x: impl Into<V>) -> V {
        V(format!("({} * {})", self.0, x.into().0))
    }
    fn add(&self, x: impl Into<V>) -> V {
        V(format!("({} + {})", self.0, x.into().0))
    }
    fn div(&self, x: impl Into<V>) -> V {
        V(format!("({} / {})", self.0, x.into().0))
    }
    /// `c - self * b`.
    fn fnma(&self, b: impl Into<V>, c: impl Into<V>) -> V {
        V(format!("({} - {} * {})", c.into().0, self.0, b.into().0))
    }
    fn neg(&self) -> V {
        V(format!("(-{})", self.0))
    }
    fn abs(&self) -> V {
        V::call("magnitude", self)
    }
    fn sqrt(&self) -> V {
        V::call("root", self)
    }
    fn max(&self, x: impl Into<V>) -> V {
        V(format!("larger({}, {})", self.0, x.into().0))
    }
}

impl From<&V> for V {
    fn from(v: &V) -> V {
        v.clone()
    }
}

mod math {
    use super::V;
    pub fn tanh(x: &V) -> V {
        V::call("tanh_of", x)
    }
    pub fn sin(x: &V) -> V {
        V::call("sine", x)
    }
    pub fn cos(x: &V) -> V {
        V::call("cosine", x)
    }
    pub fn exp(x: &V) -> V {
        V::call("exponential", x)
    }
}

macro_rules! formulas {
    ($($variant:ident $name:literal $flops:literal $reads:ident
       |$x:ident| $value:expr, |$seen:ident, $d:ident| $slope:expr;)*) => {
        impl Map {
            /// Value and derivative as text.
            pub(super) fn text(&self) -> Formula {
                let (x, s, d) = (&V("x".into()), &V("s".into()), &V("d".into()));
                let (value, slope) = match *self {
                    Map::Affine { a, b } => (x.mul(V::of(a)).add(V::of(b)), d.mul(V::of(a))),
                    Map::Clamp { low, high } => {
                        let (low, high) = (V::of(low), V::of(high));
                        let inside = V::select_lt(s.clone(), high.clone(), d.clone(), V::zero());
                        let value = V(format!("smaller({}, {})", x.max(&low).0, high.0));
                        (value, V::select_lt(low, s.clone(), inside, V::zero()))
                    }
                    $(Map::$variant => {
                        let value = { let $x = x; $value };
                        let slope = { let ($seen, $d) = (s, d); $slope };
                        (value, slope)
                    })*
                };
                Formula { value: value.0, slope: slope.0, by_output: self.by_output() }
            }
        }
    };
}
elementary_functions!(formulas);
