//! Functions of one number and of several, element by element.

use super::*;

fn each(n: usize, body: &str) -> String {
    format!("each<{n}>(TEAM, [&](int i) {{ {body} }});")
}

pub fn map(node: &Node) -> Vec<Call> {
    let formula = node.op.formula().expect("an elementary function");
    let (n, x, y) = (node.output().size(), node.x(0), node.y());
    let body = format!("const T x = {}[i]; {}[i] = {};", x.name(), y.name(), formula.value);
    vec![Call::new(each(n, &body), n as f64).flat(x).writes(y)]
}

pub fn map_reverse(r: &Reverse) -> Vec<Call> {
    let Some(to) = r.to(0) else { return Vec::new() };
    let formula = r.node.op.formula().expect("an elementary function");
    let (n, dy) = (r.node.output().size(), r.dy());
    let seen = if formula.by_output { r.rule.seen_output } else { r.rule.seen_inputs[0] }.map(Slot::Value);
    let see = seen.map_or(String::new(), |s| format!("const T s = {}[i]; ", s.name()));
    let body = format!(
        "{see}const T d = {}[i]; put<{}>({} + i, {});",
        dy.name(),
        to.mode,
        to.slot.name(),
        formula.slope
    );
    let call = Call::new(each(n, &body), n as f64).flat(dy).writes(to.slot);
    vec![match seen {
        Some(s) => call.flat(s),
        None => call,
    }]
}

pub fn binary(node: &Node) -> Vec<Call> {
    let sign = match node.op.name() {
        "add" => '+',
        "subtract" => '-',
        "multiply" => '*',
        _ => '/',
    };
    let (n, a, b, y) = (node.output().size(), node.x(0), node.x(1), node.y());
    let body = format!("{}[i] = {}[i] {sign} {}[i];", y.name(), a.name(), b.name());
    vec![Call::new(each(n, &body), n as f64).flat(a).flat(b).writes(y)]
}

/// One adjoint, `to (+)= expression`, with the values it reads.
fn adjoint(n: usize, to: To, expression: String, reads: &[Slot]) -> Call {
    let body = format!("put<{}>({} + i, {expression});", to.mode, to.slot.name());
    let call = Call::new(each(n, &body), n as f64).writes(to.slot);
    reads.iter().fold(call, |call, &slot| call.flat(slot))
}

pub fn binary_reverse(r: &Reverse) -> Vec<Call> {
    let (n, dy) = (r.node.output().size(), r.dy());
    let d = format!("{}[i]", dy.name());
    let mut calls = Vec::new();
    for i in 0..2 {
        let Some(to) = r.to(i) else { continue };
        let at = |slot: Slot| format!("{}[i]", slot.name());
        calls.push(match (r.node.op.name(), i) {
            ("add", _) | ("subtract", 0) => adjoint(n, to, d.clone(), &[dy]),
            ("subtract", _) => adjoint(n, to, format!("-{d}"), &[dy]),
            ("multiply", _) => adjoint(n, to, format!("{d} * {}", at(r.x(1 - i))), &[dy, r.x(1 - i)]),
            (_, 0) => adjoint(n, to, format!("{d} / {}", at(r.x(1))), &[dy, r.x(1)]),
            _ => {
                let expression = format!("-({d} * {} / {})", at(r.y()), at(r.x(1)));
                adjoint(n, to, expression, &[dy, r.x(1), r.y()])
            }
        });
    }
    calls
}

pub fn quadratic(node: &Node) -> Vec<Call> {
    let [a, b, c] = ["a", "b", "c"].map(|name| literal(node.number(name)));
    let (n, p, q, y) = (node.output().size(), node.x(0), node.x(1), node.y());
    let body = format!(
        "const T p = {}[i], q = {}[i]; {}[i] = {a} * p * p + {b} * p * q + {c} * q * q;",
        p.name(),
        q.name(),
        y.name()
    );
    vec![Call::new(each(n, &body), 5.0 * n as f64).flat(p).flat(q).writes(y)]
}

pub fn quadratic_reverse(r: &Reverse) -> Vec<Call> {
    let [a, b, c] = ["a", "b", "c"].map(|name| r.node.number(name));
    let (n, dy) = (r.node.output().size(), r.dy());
    let mut calls = Vec::new();
    for (i, own, other) in [(0, 2.0 * a, b), (1, 2.0 * c, b)] {
        let Some(to) = r.to(i) else { continue };
        let (mine, theirs) = (r.x(i), r.x(1 - i));
        let slope =
            format!("{} * {}[i] + {} * {}[i]", literal(own), mine.name(), literal(other), theirs.name());
        calls.push(adjoint(n, to, format!("{}[i] * ({slope})", dy.name()), &[dy, mine, theirs]));
    }
    calls
}

/// The factor of number i: one per row, or one for all.
fn factor(lower: &mut Lower, table: &[f64], cols: usize) -> String {
    if let [number] = table {
        return literal(*number);
    }
    let at = lower.tables.numbers(table);
    if cols == 1 { format!("{at}[i]") } else { format!("{at}[i / {cols}]") }
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
    let body = format!("{}[i] = {};", node.y().name(), parts.join(" + "));
    let call = Call::new(each(n, &body), (2 * parts.len() * n) as f64).writes(node.y());
    vec![(0..parts.len()).fold(call, |call, k| call.flat(node.x(k)))]
}

pub fn combination_reverse(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let (n, cols) = (r.node.output().size(), r.node.output().cols);
    let mut calls = Vec::new();
    for (k, table) in tables(&r.node).iter().enumerate() {
        let Some(to) = r.to(k) else { continue };
        let expression = format!("{} * {}[i]", factor(lower, table, cols), r.dy().name());
        calls.push(adjoint(n, to, expression, &[r.dy()]));
    }
    calls
}

/// A complex number per mode: rows 2 k and 2 k + 1 are the real and the imaginary part of mode k.
fn times(lower: &mut Lower, symbol: &[f64], cols: usize, x: Slot, sign: f64) -> String {
    let symbol: Vec<f64> = symbol.chunks(2).flat_map(|pair| [pair[0], sign * pair[1]]).collect();
    let (at, x) = (lower.tables.numbers(&symbol), x.name());
    format!(
        "(i / {cols} % 2 == 0 ? {at}[k] * {x}[i] - {at}[k + 1] * {x}[i + {cols}] : {at}[k] * {x}[i] + {at}[k + 1] * {x}[i - {cols}])"
    )
}

pub fn symbol(lower: &mut Lower, node: &Node) -> Vec<Call> {
    let (n, cols) = (node.output().size(), node.output().cols);
    let parts: Vec<String> = tables(node)
        .iter()
        .enumerate()
        .map(|(k, symbol)| times(lower, symbol, cols, node.x(k), 1.0))
        .collect();
    let body = format!("const int k = i / {cols} / 2 * 2; {}[i] = {};", node.y().name(), parts.join(" + "));
    let call = Call::new(each(n, &body), (4 * parts.len() * n) as f64).writes(node.y());
    vec![(0..parts.len()).fold(call, |call, k| call.reads(node.x(k)))]
}

pub fn symbol_reverse(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let (n, cols) = (r.node.output().size(), r.node.output().cols);
    let mut calls = Vec::new();
    for (k, symbol) in tables(&r.node).iter().enumerate() {
        let Some(to) = r.to(k) else { continue };
        let product = times(lower, symbol, cols, r.dy(), -1.0);
        let body =
            format!("const int k = i / {cols} / 2 * 2; put<{}>({} + i, {product});", to.mode, to.slot.name());
        calls.push(Call::new(each(n, &body), 4.0 * n as f64).reads(r.dy()).writes(to.slot));
    }
    calls
}
