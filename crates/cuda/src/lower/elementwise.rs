//! Functions of one number and of several, element by element.

use super::*;

/// Operations that a number costs, memory included: more than its arithmetic.
const EACH: f64 = 12.0;

pub fn map(lower: &Lower, node: &Node) -> Vec<Call> {
    let formula = node.op.formula().expect("an elementary function");
    let (n, x) = (node.output().size(), node.x(0));
    let body = format!("const T x = {}[i]; return {};", x.name(), formula.value);
    vec![lower.fill(n, &To::write(node.y()), EACH, &body).flat(x)]
}

pub fn map_reverse(lower: &Lower, r: &Reverse) -> Vec<Call> {
    let Some(to) = r.to(0) else { return Vec::new() };
    let formula = r.node.op.formula().expect("an elementary function");
    let (n, dy) = (r.node.output().size(), r.dy());
    let seen = if formula.by_output { r.rule.seen_output } else { r.rule.seen_inputs[0] }.map(Slot::Value);
    let see = seen.map_or(String::new(), |s| format!("const T s = {}[i]; ", s.name()));
    let body = format!("{see}const T d = {}[i]; return {};", dy.name(), formula.slope);
    let call = lower.fill(n, &to, EACH, &body).flat(dy);
    vec![match seen {
        Some(s) => call.flat(s),
        None => call,
    }]
}

pub fn binary(lower: &Lower, node: &Node) -> Vec<Call> {
    let sign = match node.op.name() {
        "add" => '+',
        "subtract" => '-',
        "multiply" => '*',
        _ => '/',
    };
    let (n, a, b) = (node.output().size(), node.x(0), node.x(1));
    let body = format!("{}[i] {sign} {}[i]", a.name(), b.name());
    vec![lower.fill(n, &To::write(node.y()), EACH, &body).flat(a).flat(b)]
}

/// One adjoint, `to (+)= expression`, with the values it reads.
fn adjoint(lower: &Lower, n: usize, to: To, expression: String, reads: &[Slot]) -> Call {
    let call = lower.fill(n, &to, EACH, &expression);
    reads.iter().fold(call, |call, &slot| call.flat(slot))
}

pub fn binary_reverse(lower: &Lower, r: &Reverse) -> Vec<Call> {
    let (n, dy) = (r.node.output().size(), r.dy());
    let d = format!("{}[i]", dy.name());
    let mut calls = Vec::new();
    for i in 0..2 {
        let Some(to) = r.to(i) else { continue };
        let at = |slot: Slot| format!("{}[i]", slot.name());
        let (expression, reads) = match (r.node.op.name(), i) {
            ("add", _) | ("subtract", 0) => (d.clone(), vec![dy]),
            ("subtract", _) => (format!("-{d}"), vec![dy]),
            ("multiply", _) => (format!("{d} * {}", at(r.x(1 - i))), vec![dy, r.x(1 - i)]),
            (_, 0) => (format!("{d} / {}", at(r.x(1))), vec![dy, r.x(1)]),
            _ => (format!("-({d} * {} / {})", at(r.y()), at(r.x(1))), vec![dy, r.x(1), r.y()]),
        };
        calls.push(adjoint(lower, n, to, expression, &reads));
    }
    calls
}

pub fn quadratic(lower: &Lower, node: &Node) -> Vec<Call> {
    let [a, b, c] = ["a", "b", "c"].map(|name| literal(node.number(name)));
    let (n, p, q) = (node.output().size(), node.x(0), node.x(1));
    let body = format!(
        "const T p = {}[i], q = {}[i]; return {a} * p * p + {b} * p * q + {c} * q * q;",
        p.name(),
        q.name()
    );
    vec![lower.fill(n, &To::write(node.y()), EACH, &body).flat(p).flat(q)]
}

pub fn quadratic_reverse(lower: &Lower, r: &Reverse) -> Vec<Call> {
    let [a, b, c] = ["a", "b", "c"].map(|name| r.node.number(name));
    let (n, dy) = (r.node.output().size(), r.dy());
    let mut calls = Vec::new();
    for (i, own, other) in [(0, 2.0 * a, b), (1, 2.0 * c, b)] {
        let Some(to) = r.to(i) else { continue };
        let (mine, theirs) = (r.x(i), r.x(1 - i));
        let slope =
            format!("{} * {}[i] + {} * {}[i]", literal(own), mine.name(), literal(other), theirs.name());
        calls.push(adjoint(lower, n, to, format!("{}[i] * ({slope})", dy.name()), &[dy, mine, theirs]));
    }
    calls
}

/// The factor of number i: one per row, or one for all.
fn factor(lower: &mut Lower, table: &[f64], cols: usize) -> String {
    if let [number] = table {
        return literal(*number);
    }
    let at = lower.tables.numbers(table);
    if cols == 1 { format!("constant({at} + i)") } else { format!("constant({at} + i / {cols})") }
}

fn tables(node: &Node) -> Vec<Vec<f64>> {
    let table = |(_, value): &(&str, Value)| match value {
        Value::Table(table) => table.clone(),
        other => unreachable!("not a table: {other:?}"),
    };
    node.parameters.iter().map(table).collect()
}

pub fn combination(lower: &mut Lower, node: &Node) -> Vec<Call> {
    let Shape { cols, .. } = node.output();
    let n = node.output().size();
    let parts: Vec<String> = tables(node)
        .iter()
        .enumerate()
        .map(|(k, table)| format!("{} * {}[i]", factor(lower, table, cols), node.x(k).name()))
        .collect();
    let call = lower.fill(n, &To::write(node.y()), EACH + parts.len() as f64, &parts.join(" + "));
    vec![(0..parts.len()).fold(call, |call, k| call.flat(node.x(k)))]
}

pub fn combination_reverse(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let (n, cols) = (r.node.output().size(), r.node.output().cols);
    let mut calls = Vec::new();
    for (k, table) in tables(&r.node).iter().enumerate() {
        let Some(to) = r.to(k) else { continue };
        let expression = format!("{} * {}[i]", factor(lower, table, cols), r.dy().name());
        calls.push(adjoint(lower, n, to, expression, &[r.dy()]));
    }
    calls
}

/// A complex number per mode: rows 2 k and 2 k + 1 are the real and the imaginary part of mode k.
fn times(lower: &mut Lower, symbol: &[f64], cols: usize, x: Slot, sign: f64) -> String {
    let symbol: Vec<f64> = symbol.chunks(2).flat_map(|pair| [pair[0], sign * pair[1]]).collect();
    let (at, x) = (lower.tables.numbers(&symbol), x.name());
    format!(
        "(i / {cols} % 2 == 0 ? {at}[k] * {x}[i] - {at}[k + 1] * {x}[i + {cols}] : {at}[k] * {x}[i] + \
         {at}[k + 1] * {x}[i - {cols}])"
    )
}

pub fn symbol(lower: &mut Lower, node: &Node) -> Vec<Call> {
    let (n, cols) = (node.output().size(), node.output().cols);
    let parts: Vec<String> = tables(node)
        .iter()
        .enumerate()
        .map(|(k, symbol)| times(lower, symbol, cols, node.x(k), 1.0))
        .collect();
    let body = format!("const int k = i / {cols} / 2 * 2; return {};", parts.join(" + "));
    let call = lower.fill(n, &To::write(node.y()), EACH + 4.0 * parts.len() as f64, &body);
    vec![(0..parts.len()).fold(call, |call, k| call.reads(node.x(k)))]
}

pub fn symbol_reverse(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let (n, cols) = (r.node.output().size(), r.node.output().cols);
    let mut calls = Vec::new();
    for (k, symbol) in tables(&r.node).iter().enumerate() {
        let Some(to) = r.to(k) else { continue };
        let product = times(lower, symbol, cols, r.dy(), -1.0);
        let body = format!("const int k = i / {cols} / 2 * 2; return {product};");
        calls.push(lower.fill(n, &to, EACH + 4.0, &body).reads(r.dy()));
    }
    calls
}
