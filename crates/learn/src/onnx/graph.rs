//! A graph of ONNX operators while it is built.
//!
//! Every function that adds an operator returns its result. An operator or a small constant that is already
//! there is used again, so that code asks for what it needs where it needs it. Results have short names,
//! because names take most of the room in a file of a small network.
//!
//! Field numbers are those of
//! [onnx.proto](https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).

use super::proto::Message;

/// The version of the operators: [the list](https://onnx.ai/onnx/operators/).
pub const OPSET: i64 = 17;
/// The version of the file format that belongs to it.
const IR_VERSION: i64 = 8;
/// Constants up to this many bytes are looked for among those that are there.
const SMALL: usize = 64;

/// A value of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value(usize);

/// A type of number, with its code in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Single precision.
    F32 = 1,
    /// Integers of 32 bits: indices.
    I32 = 6,
    /// Integers of 64 bits: shapes.
    I64 = 7,
    /// True or false.
    Bool = 9,
    /// Double precision.
    F64 = 11,
}

/// The extent of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A number.
    Fixed(usize),
    /// Any number, by its name.
    Free(&'static str),
}

/// The axis of the fields that are decided about together.
pub const BATCH: Extent = Extent::Free("batch");
/// The axis of the agents.
pub const AGENTS: Extent = Extent::Free("agents");

/// An input or output of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Its axes.
    pub shape: Vec<Extent>,
}

#[derive(Debug, PartialEq, Eq)]
enum Attribute {
    Int(i64),
    Ints(Vec<i64>),
}

#[derive(Debug)]
struct Node {
    operator: &'static str,
    inputs: Vec<Value>,
    attributes: Vec<(&'static str, Attribute)>,
    output: Value,
}

#[derive(Debug)]
struct Constant {
    value: Value,
    kind: Kind,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// A graph while it is built.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// Names of all values.
    names: Vec<String>,
    nodes: Vec<Node>,
    constants: Vec<Constant>,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
}

impl Graph {
    fn value(&mut self, name: impl Into<String>) -> Value {
        self.names.push(name.into());
        Value(self.names.len() - 1)
    }

    /// A value with a short name: a capital letter, which names of inputs, outputs and parameters do not
    /// begin with, and nearly always one more character.
    fn unnamed(&mut self) -> Value {
        let (letters, digits) = ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789abcdefghijklmnopqrstuvwxyz");
        let number = self.names.len();
        let mut name = letters[number % 26..][..1].to_string();
        let mut rest = number / 26;
        while rest > 0 {
            name.push_str(&digits[rest % 36..][..1]);
            rest /= 36;
        }
        self.value(name)
    }

    /// A value that a caller gives.
    pub fn input(&mut self, name: &'static str, kind: Kind, shape: &[Extent]) -> Value {
        self.inputs.push(Port { name, kind, shape: shape.to_vec() });
        self.value(name)
    }

    /// Makes a result of an operator one of the graph.
    pub fn output(&mut self, name: &'static str, value: Value, shape: &[Extent]) {
        self.outputs.push(Port { name, kind: Kind::F32, shape: shape.to_vec() });
        self.names[value.0] = name.to_string();
    }

    /// Numbers under a name of their own.
    pub fn parameter(&mut self, name: &str, shape: &[usize], numbers: &[f32]) -> Value {
        let value = self.value(name);
        let bytes = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.constants.push(Constant { value, kind: Kind::F32, shape: shape.to_vec(), bytes });
        value
    }

    fn constant(&mut self, kind: Kind, shape: &[usize], bytes: Vec<u8>) -> Value {
        let same = |known: &&Constant| known.kind == kind && known.shape == shape && known.bytes == bytes;
        if let Some(known) = self.constants.iter().filter(|_| bytes.len() <= SMALL).find(same) {
            return known.value;
        }
        let value = self.unnamed();
        self.constants.push(Constant { value, kind, shape: shape.to_vec(), bytes });
        value
    }

    /// A number in single precision.
    pub fn f32(&mut self, x: f64) -> Value {
        self.constant(Kind::F32, &[], (x as f32).to_le_bytes().to_vec())
    }

    /// A number in double precision.
    pub fn f64(&mut self, x: f64) -> Value {
        self.constant(Kind::F64, &[], x.to_le_bytes().to_vec())
    }

    /// Some numbers in single precision.
    pub fn f32s(&mut self, numbers: &[f64]) -> Value {
        let bytes = numbers.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect();
        self.constant(Kind::F32, &[numbers.len()], bytes)
    }

    /// An index.
    pub fn i32(&mut self, x: i32) -> Value {
        self.constant(Kind::I32, &[], x.to_le_bytes().to_vec())
    }

    /// A part of a shape.
    pub fn i64s(&mut self, extents: &[i64]) -> Value {
        let bytes = extents.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.constant(Kind::I64, &[extents.len()], bytes)
    }

    /// A whole number where ONNX wants one of 64 bits.
    fn i64(&mut self, x: i64) -> Value {
        self.constant(Kind::I64, &[], x.to_le_bytes().to_vec())
    }

    /// An operator without attributes.
    pub fn op(&mut self, operator: &'static str, inputs: &[Value]) -> Value {
        self.node(operator, inputs, Vec::new())
    }

    fn node(
        &mut self,
        operator: &'static str,
        inputs: &[Value],
        attributes: Vec<(&'static str, Attribute)>,
    ) -> Value {
        let same = |node: &&Node| {
            node.operator == operator && node.inputs == inputs && node.attributes == attributes
        };
        if let Some(known) = self.nodes.iter().find(same) {
            return known.output;
        }
        let output = self.unnamed();
        self.nodes.push(Node { operator, inputs: inputs.to_vec(), attributes, output });
        output
    }

    /// Another type of number; from a fraction to an integer the fraction is cut off.
    pub fn cast(&mut self, x: Value, to: Kind) -> Value {
        self.node("Cast", &[x], vec![("to", Attribute::Int(to as i64))])
    }

    /// Multiplied by a number.
    pub fn scaled(&mut self, x: Value, factor: f64) -> Value {
        let factor = self.f32(factor);
        self.op("Mul", &[x, factor])
    }

    /// The integers `first, first + 1, ...`, `count` of them.
    pub fn range(&mut self, first: i32, count: usize) -> Value {
        let (first, end, step) = (self.i32(first), self.i32(first + count as i32), self.i32(1));
        self.op("Range", &[first, end, step])
    }

    /// Parts of a value along an axis, by their indices; a single index removes the axis.
    pub fn gather(&mut self, data: Value, indices: Value, axis: i64) -> Value {
        self.node("Gather", &[data, indices], vec![("axis", Attribute::Int(axis))])
    }

    /// `first, first + step, ...` along an axis, before `end`.
    pub fn slice(&mut self, x: Value, axis: i64, [first, end, step]: [usize; 3]) -> Value {
        let mut inputs = vec![x];
        inputs.extend([first as i64, end as i64, axis].map(|x| self.i64s(&[x])));
        if step != 1 {
            inputs.push(self.i64s(&[step as i64]));
        }
        self.op("Slice", &inputs)
    }

    /// With other axes: 0 for one that stays, -1 for one that follows from the others.
    pub fn reshape(&mut self, x: Value, shape: &[i64]) -> Value {
        let shape = self.i64s(shape);
        self.op("Reshape", &[x, shape])
    }

    /// With the axes of rows of a dense layer, `[batch * agents, width]`, apart: `[batch, agents, width]`,
    /// where `like` has both.
    pub fn by_agent(&mut self, rows: Value, width: usize, like: Value) -> Value {
        let first = self.node("Shape", &[like], vec![("end", Attribute::Int(2))]);
        let width = self.i64s(&[width as i64]);
        let shape = self.concat(&[first, width], 0);
        self.op("Reshape", &[rows, shape])
    }

    /// `0, 1, ...`, a number for every field of the batch.
    pub fn batch_numbers(&mut self, like: Value) -> Value {
        let extent = self.node("Shape", &[like], vec![("end", Attribute::Int(1))]);
        let count = self.squeeze(extent, 0);
        let (first, step) = (self.i64(0), self.i64(1));
        let numbers = self.op("Range", &[first, count, step]);
        self.cast(numbers, Kind::I32)
    }

    /// With its axes in another order.
    pub fn transpose(&mut self, x: Value, order: &[i64]) -> Value {
        self.node("Transpose", &[x], vec![("perm", Attribute::Ints(order.to_vec()))])
    }

    /// Values one behind the other along an axis.
    pub fn concat(&mut self, parts: &[Value], axis: i64) -> Value {
        match parts {
            [one] => *one,
            _ => self.node("Concat", parts, vec![("axis", Attribute::Int(axis))]),
        }
    }

    /// With new axes of extent 1 at these places.
    pub fn unsqueeze(&mut self, x: Value, axes: &[i64]) -> Value {
        let axes = self.i64s(axes);
        self.op("Unsqueeze", &[x, axes])
    }

    /// Without an axis of extent 1.
    pub fn squeeze(&mut self, x: Value, axis: i64) -> Value {
        let axis = self.i64s(&[axis]);
        self.op("Squeeze", &[x, axis])
    }

    /// Sums along an axis, which stays.
    pub fn sum(&mut self, x: Value, axis: i64) -> Value {
        let axis = self.i64s(&[axis]);
        self.op("ReduceSum", &[x, axis])
    }

    /// Euclidean norms along the last axis, which stays.
    pub fn norm(&mut self, x: Value) -> Value {
        self.node("ReduceL2", &[x], vec![("axes", Attribute::Ints(vec![-1]))])
    }

    /// 3 x 3 convolution of `[fields, channels, n_x, n_y]` with a frame of `pad` zeros.
    pub fn convolution(&mut self, x: Value, weight: Value, bias: Value, pad: i64) -> Value {
        let attributes =
            vec![("kernel_shape", Attribute::Ints(vec![3; 2])), ("pads", Attribute::Ints(vec![pad; 4]))];
        self.node("Conv", &[x, weight, bias], attributes)
    }

    /// The file of the graph, with texts about it.
    pub fn into_file(self, name: &str, description: &str, metadata: &[(&str, String)]) -> Vec<u8> {
        let opset = Message::default().text(1, "").number(2, OPSET);
        let entry = |(key, value): &(&str, String)| Message::default().text(1, key).text(2, value);
        Message::default()
            .number(1, IR_VERSION)
            .text(2, "cinoc")
            .text(3, env!("CARGO_PKG_VERSION"))
            .text(6, description)
            .message(7, self.into_message(name))
            .message(8, opset)
            .messages(14, metadata.iter().map(entry))
            .into_bytes()
    }

    fn into_message(self, name: &str) -> Message {
        let text = |value: &Value| self.names[value.0].as_str();
        let node = |node: &Node| {
            let inputs = node.inputs.iter().fold(Message::default(), |m, input| m.text(1, text(input)));
            let attributes = node.attributes.iter().map(|(name, attribute)| attribute.message(name));
            inputs.text(2, text(&node.output)).text(4, node.operator).messages(5, attributes)
        };
        let constant = |constant: &Constant| {
            Message::default()
                .numbers(1, constant.shape.iter().map(|&extent| extent as i64))
                .number(2, constant.kind as i64)
                .text(8, text(&constant.value))
                .bytes(9, &constant.bytes)
        };
        Message::default()
            .messages(1, self.nodes.iter().map(node))
            .text(2, name)
            .messages(5, self.constants.iter().map(constant))
            .messages(11, self.inputs.iter().map(Port::message))
            .messages(12, self.outputs.iter().map(Port::message))
    }
}

impl Attribute {
    fn message(&self, name: &str) -> Message {
        let message = Message::default().text(1, name);
        match self {
            Attribute::Int(x) => message.number(3, *x).number(20, 2),
            Attribute::Ints(all) => message.numbers(8, all.iter().copied()).number(20, 7),
        }
    }
}

impl Port {
    fn message(&self) -> Message {
        let dimension = |extent: &Extent| match extent {
            Extent::Fixed(extent) => Message::default().number(1, *extent as i64),
            Extent::Free(name) => Message::default().text(2, name),
        };
        let shape = Message::default().messages(1, self.shape.iter().map(dimension));
        let tensor = Message::default().number(1, self.kind as i64).message(2, shape);
        Message::default().text(1, self.name).message(2, Message::default().message(1, tensor))
    }
}
