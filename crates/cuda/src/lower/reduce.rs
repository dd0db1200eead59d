//! Sums over rows, columns or all numbers of a sample, and values scaled by them.

use super::*;

pub fn forward(lower: &mut Lower, node: &Node) -> Vec<Call> {
    let Shape { rows, cols, .. } = node.input(0);
    let n = rows * cols;
    let (x, y) = (node.x(0), node.y());
    let (xs, ys) = (x.name(), y.name());
    vec![match node.op.name() {
        name @ ("sum" | "sum_of_squares") => {
            let shares = lower.shares(n, 1, 2.0 * n as f64);
            let text = format!("{name}<{n}, {shares}>(TEAM, {xs}, {ys});");
            Call::new(text, 2.0 * n as f64).sums(1, shares).reads(x).takes(y)
        }
        "length" => {
            let shares = lower.shares(rows, cols, 2.0 * n as f64);
            let text = format!("length<{rows}, {cols}, {shares}>(TEAM, {xs}, {ys});");
            Call::new(text, 2.0 * n as f64).sums(cols, shares).reads(x).takes(y)
        }
        "limit_length" => {
            let limit = literal(node.number("limit"));
            let text = format!("limit_length<{rows}, {cols}>(TEAM, {limit}, {xs}, {ys});");
            Call::new(text, 3.0 * n as f64).reads(x).fills(y)
        }
        "peak_one" => Call::new(format!("peak_one<{rows}, {cols}>(TEAM, {xs}, {ys});"), 2.0 * n as f64)
            .reads(x)
            .fills(y),
        "softnorm_tanh" => {
            let shares = lower.shares_of_own(rows, cols, 20.0 * n as f64);
            let text = format!("softnorm_tanh<{rows}, {cols}, {shares}>(TEAM, {xs}, {ys});");
            Call::new(text, 20.0 * n as f64).sums(cols, shares).reads(x).fills(y)
        }
        _ => {
            let (w, shares) = (node.x(1), lower.shares(cols, rows, 2.0 * n as f64));
            let text = format!("contract<{rows}, {cols}, {shares}>(TEAM, {xs}, {}, {ys});", w.name());
            Call::new(text, 2.0 * n as f64).sums(rows, shares).reads(x).reads(w).takes(y)
        }
    }]
}

pub fn reverse(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let Shape { rows, cols, .. } = r.node.input(0);
    let (n, dy) = (rows * cols, r.dy());
    let d = dy.name();
    if r.node.op.name() == "contract" {
        return contract(lower, r);
    }
    let Some(to) = r.to(0) else { return Vec::new() };
    let (t, mode) = (to.slot.name(), to.mode);
    let seen = |i: usize| r.x(i).name();
    vec![match r.node.op.name() {
        "sum" => {
            let value = format!("{d}[0]");
            lower.fill(n, &to, 8.0, &value).reads(dy)
        }
        "sum_of_squares" => {
            let value = format!("T(2) * {}[i] * {d}[0]", seen(0));
            lower.fill(n, &to, 10.0, &value).flat(r.x(0)).reads(dy)
        }
        "length" => {
            let y = r.y();
            let (work, x) = (12.0 * n as f64, seen(0));
            let sizes = format!("{rows}, {cols}, {mode}, {}", lower.batch(n, work));
            let text = format!("length_reverse<{sizes}>(TEAM, {x}, {}, {d}, {t});", y.name());
            Call::new(text, work).items(n).reads(r.x(0)).reads(y).reads(dy).fills(to.slot)
        }
        "limit_length" => {
            let limit = literal(r.node.number("limit"));
            let text = format!(
                "limit_length_reverse<{rows}, {cols}, {mode}>(TEAM, {limit}, {}, {d}, {t});",
                seen(0)
            );
            Call::new(text, 6.0 * n as f64).reads(r.x(0)).reads(dy).fills(to.slot)
        }
        "peak_one" => {
            let text = format!("peak_one_reverse<{rows}, {cols}, {mode}>(TEAM, {}, {d}, {t});", seen(0));
            Call::new(text, 6.0 * n as f64).reads(r.x(0)).reads(dy).fills(to.slot)
        }
        _ => {
            let (shares, y) = (lower.shares_of_own(rows, cols, 20.0 * n as f64), r.y());
            let text = format!(
                "softnorm_tanh_reverse<{rows}, {cols}, {shares}, {mode}>(TEAM, {}, {}, {d}, {t});",
                seen(0),
                y.name()
            );
            let call = Call::new(text, 20.0 * n as f64).sums(cols, shares);
            call.reads(r.x(0)).reads(y).reads(dy).fills(to.slot)
        }
    }]
}

/// `y[r] = sum over i of k[r][i] w[i]`.
fn contract(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let Shape { rows, cols, .. } = r.node.input(0);
    let (work, dy) = (2.0 * (rows * cols) as f64, r.dy());
    let mut calls = Vec::new();
    if let Some(to) = r.to(0) {
        let text = format!(
            "contract_reverse_k<{rows}, {cols}, {}>(TEAM, {}, {}, {});",
            to.mode,
            r.x(1).name(),
            dy.name(),
            to.slot.name()
        );
        calls.push(Call::new(text, work).items(rows * cols).reads(r.x(1)).reads(dy).writes(to.slot));
    }
    if let Some(to) = r.to(1) {
        let shares = lower.shares(rows, cols, work);
        let text = format!(
            "contract_reverse_w<{rows}, {cols}, {shares}, {}>(TEAM, {}, {}, {});",
            to.mode,
            r.x(0).name(),
            dy.name(),
            to.slot.name()
        );
        calls.push(Call::new(text, work).sums(cols, shares).reads(r.x(0)).reads(dy).takes(to.slot));
    }
    calls
}
