//! Functions of one number and of several, element by element.

use super::*;

/// The elementary functions, each in one row: variant, name, operations per number, what the derivative is
/// taken from, the value, and the adjoint of the input from the adjoint `d` of the output.
///
/// `output` means that the derivative is a function of the output y. This is preferred: an output may be
/// there already, as a next state is. The formulas are written with the operations of a vector of numbers `V`
/// and the functions in `math`; a backend that writes text can use the same rows with a type that spells the
/// operations out.
///
/// The macro hands the rows to the macro it is given.
macro_rules! elementary_functions {
    ($rows:ident) => {
        $rows! {
            Tanh "tanh" 20.0 output |x| math::tanh(x), |y, d| y.mul(y).fnma(d, d);
            Sin "sin" 20.0 input |x| math::sin(x), |x, d| math::cos(x).mul(d);
            Cos "cos" 20.0 input |x| math::cos(x), |x, d| math::sin(x).neg().mul(d);
            Exp "exp" 20.0 output |x| math::exp(x), |y, d| y.mul(d);
            Abs "abs" 1.0 input |x| x.abs(),
                |x, d| V::select_lt(x, V::zero(), d.neg(), V::select_lt(V::zero(), x, d, V::zero()));
            Relu "relu" 1.0 output |x| x.max(V::zero()), |y, d| V::select_lt(V::zero(), y, d, V::zero());
            Square "square" 1.0 input |x| x.mul(x), |x, d| x.add(x).mul(d);
            Sqrt "sqrt" 1.0 output |x| x.sqrt(),
                |y, d| V::select_lt(V::zero(), y, d.div(y.add(y)), V::zero());
            Recip "reciprocal" 1.0 output |x| V::of(1.0).div(x), |y, d| y.mul(y).mul(d).neg();
        }
    };
}
pub(crate) use elementary_functions;

macro_rules! map {
    ($($variant:ident $name:literal $flops:literal $reads:ident
       |$x:ident| $value:expr, |$seen:ident, $d:ident| $slope:expr;)*) => {
        /// A function of one number.
        #[derive(Clone, Copy)]
        pub(crate) enum Map {
            /// `a x + b`.
            Affine { a: f64, b: f64 },
            /// Limited to `[low, high]`; no gradient passes where the limit acts.
            Clamp { low: f64, high: f64 },
            $(#[doc = $name] $variant,)*
        }

        impl Map {
            /// Whether the reverse rule reads the output instead of the input.
            pub fn by_output(&self) -> bool {
                match self {
                    Map::Affine { .. } => false,
                    Map::Clamp { .. } => true,
                    $(Map::$variant => stringify!($reads) == "output",)*
                }
            }
            /// Operations per number: those of the polynomials, for functions that are polynomials.
            fn operations(&self) -> f64 {
                match self {
                    Map::Affine { .. } => 2.0,
                    Map::Clamp { .. } => 1.0,
                    $(Map::$variant => $flops,)*
                }
            }
        }

        impl Primitive for Map {
            fn name(&self) -> &'static str {
                match self {
                    Map::Affine { .. } => "affine",
                    Map::Clamp { .. } => "clamp",
                    $(Map::$variant => $name,)*
                }
            }
            fn parameters(&self) -> Parameters {
                match *self {
                    Map::Affine { a, b } => vec![("a", Value::Number(a)), ("b", Value::Number(b))],
                    Map::Clamp { low, high } => {
                        vec![("low", Value::Number(low)), ("high", Value::Number(high))]
                    }
                    _ => Vec::new(),
                }
            }
            fn formula(&self) -> Option<Formula> {
                Some(self.text())
            }
            fn output(&self, inputs: &[Shape]) -> Shape {
                inputs[0]
            }
            fn reverse_reads(&self, _: usize) -> Reads {
                match self {
                    Map::Affine { .. } => Reads::default(),
                    _ if self.by_output() => Reads { inputs: 0, output: true },
                    _ => Reads { inputs: 1, output: false },
                }
            }
            fn flops(&self, io: &Io) -> f64 {
                self.operations() * io.output_len()
            }
        }
    };
}
elementary_functions!(map);

/// `a + b`, `a - b`, `a b`, `a / b`.
#[derive(Clone, Copy)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
}

impl Primitive for Binary {
    fn name(&self) -> &'static str {
        match self {
            Binary::Add => "add",
            Binary::Sub => "subtract",
            Binary::Mul => "multiply",
            Binary::Div => "divide",
        }
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        assert_eq!(inputs[0], inputs[1], "operands of one shape");
        inputs[0]
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        match self {
            Binary::Add | Binary::Sub => Reads::default(),
            Binary::Mul => Reads { inputs: 0b11, output: false },
            Binary::Div => Reads { inputs: 0b10, output: true },
        }
    }
    fn reads_for(&self, wanted: &[bool]) -> Reads {
        match self {
            // a factor is read for the adjoint of the other one
            Binary::Mul => Reads { inputs: u8::from(wanted[1]) | u8::from(wanted[0]) << 1, output: false },
            _ => self.reverse_reads(2),
        }
    }
    fn reverse_in_place(&self) -> Option<usize> {
        matches!(self, Binary::Add | Binary::Sub).then_some(0)
    }
}

/// `a p² + b p q + c q²`: the products of a pseudo-spectral method in one pass.
#[derive(Clone, Copy)]
pub(crate) struct Quadratic {
    pub a: f64,
    pub b: f64,
    pub c: f64,
}

impl Primitive for Quadratic {
    fn name(&self) -> &'static str {
        "quadratic"
    }
    fn parameters(&self) -> Parameters {
        vec![("a", Value::Number(self.a)), ("b", Value::Number(self.b)), ("c", Value::Number(self.c))]
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        assert_eq!(inputs[0], inputs[1], "operands of one shape");
        inputs[0]
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 0b11, output: false }
    }
    fn flops(&self, io: &Io) -> f64 {
        5.0 * io.output_len()
    }
}

/// `sum over i of t_i x_i` with constant tables of a number per row, or one number for all rows.
#[derive(PartialEq)]
pub(crate) struct Combination {
    pub tables: Vec<Vec<f64>>,
}

impl Primitive for Combination {
    fn name(&self) -> &'static str {
        "combination"
    }
    fn parameters(&self) -> Parameters {
        self.tables.iter().map(|table| ("table", Value::Table(table.clone()))).collect()
    }
    fn same(&self, other: &dyn Primitive) -> bool {
        equal(self, other)
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        assert!(inputs.len() <= MAX_INPUTS, "at most {MAX_INPUTS} values");
        for (shape, table) in inputs.iter().zip(&self.tables) {
            assert_eq!(*shape, inputs[0], "values of one shape");
            assert!(table.len() == shape.rows || table.len() == 1, "a number per row, or one for all");
        }
        inputs[0]
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads::default()
    }
    fn flops(&self, io: &Io) -> f64 {
        2.0 * self.tables.len() as f64 * io.output_len()
    }
}
