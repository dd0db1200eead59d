//! Gaussian bumps around positions.

use super::*;

/// The bump as code, and whether it is periodic.
fn bump(lower: &mut Lower, node: &Node) -> (String, bool) {
    let points = lower.tables.numbers(node.table("points"));
    let sigma = node.number("sigma");
    let period = node.find("period").map(|_| node.number("period"));
    let [variance, height, length] =
        [1.0 / (sigma * sigma), node.number("height"), period.unwrap_or(1.0)].map(literal);
    (format!("Bump{{{points}, {variance}, {height}, {length}}}"), period.is_some())
}

pub fn forward(lower: &mut Lower, node: &Node) -> Vec<Call> {
    let (bump, periodic) = bump(lower, node);
    let (rows, cols) = (node.output().rows, node.input(0).cols);
    let work = 20.0 * (rows * cols) as f64;
    let (xi, y) = (node.x(0), node.y());
    vec![if node.op.name() == "gaussian" {
        let text =
            format!("gaussian<{rows}, {cols}, {periodic}>(TEAM, {bump}, {}, {});", xi.name(), y.name());
        Call::new(text, work).items(rows * cols).reads(xi).writes(y)
    } else {
        let (w, shares) = (node.x(1), lower.shares(cols, rows, work));
        let text = format!(
            "gaussian_sum<{rows}, {cols}, {periodic}, {shares}>(TEAM, {bump}, {}, {}, {});",
            xi.name(),
            w.name(),
            y.name()
        );
        Call::new(text, work).sums(rows, shares).reads(xi).reads(w).takes(y)
    }]
}

pub fn reverse(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let (bump, periodic) = bump(lower, &r.node);
    let (rows, cols, dy) = (r.node.output().rows, r.node.input(0).cols, r.dy());
    let work = 20.0 * (rows * cols) as f64;
    let shares = lower.shares(rows, cols, work);
    let mut calls = Vec::new();
    let sizes = format!("{rows}, {cols}, {periodic}, {shares}");
    if r.node.op.name() == "gaussian" {
        let Some(to) = r.to(0) else { return calls };
        let text = format!(
            "gaussian_reverse<{sizes}, {}>(TEAM, {bump}, {}, {}, {}, {});",
            to.mode,
            r.x(0).name(),
            r.y().name(),
            dy.name(),
            to.slot.name()
        );
        let call = Call::new(text, work).sums(cols, shares);
        calls.push(call.reads(r.x(0)).reads(r.y()).reads(dy).takes(to.slot));
        return calls;
    }
    if let Some(to) = r.to(0) {
        let text = format!(
            "gaussian_sum_reverse_xi<{sizes}, {}>(TEAM, {bump}, {}, {}, {}, {});",
            to.mode,
            r.x(0).name(),
            r.x(1).name(),
            dy.name(),
            to.slot.name()
        );
        let call = Call::new(text, work).sums(cols, shares);
        calls.push(call.reads(r.x(0)).reads(r.x(1)).reads(dy).takes(to.slot));
    }
    if let Some(to) = r.to(1) {
        let text = format!(
            "gaussian_sum_reverse_w<{sizes}, {}>(TEAM, {bump}, {}, {}, {});",
            to.mode,
            r.x(0).name(),
            dy.name(),
            to.slot.name()
        );
        calls.push(Call::new(text, work).sums(cols, shares).reads(r.x(0)).reads(dy).takes(to.slot));
    }
    calls
}
