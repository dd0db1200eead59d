//! Numbers that are repeated, cut, put together or exchanged.

use super::*;

/// Operations that copying a number costs.
const COPIED: f64 = 8.0;

pub fn forward(lower: &Lower, node: &Node) -> Vec<Call> {
    let (from, to, x, y) = (node.input(0), node.output(), node.x(0), node.y());
    let n = to.size();
    let (xs, ys) = (x.name(), y.name());
    vec![match node.op.name() {
        "broadcast" => {
            let text = format!(
                "broadcast<{}, {}, {}, {}>(TEAM, {xs}, {ys});",
                from.rows, from.cols, to.rows, to.cols
            );
            Call::new(text, 6.0 * n as f64).items(n).reads(x).writes(y)
        }
        "slice" => {
            let skipped = node.count("start") * from.cols;
            let call = lower.fill(n, &To::write(y), COPIED, &format!("{xs}[i + {skipped}]"));
            if skipped == 0 { call.flat(x) } else { call.reads(x) }
        }
        "stack" => {
            let (above, b) = (from.size(), node.x(1));
            let value = format!("i < {above} ? {xs}[i] : {}[i - {above}]", b.name());
            lower.fill(n, &To::write(y), COPIED, &value).flat(x).reads(b)
        }
        _ => transposed(lower, [from.rows, from.cols], x, To::write(y)),
    }]
}

fn transposed(lower: &Lower, [rows, cols]: [usize; 2], x: Slot, to: To) -> Call {
    let (n, work) = (rows * cols, COPIED * (rows * cols) as f64);
    let (mode, batch, y) = (to.mode, lower.batch(n, work), to.slot.name());
    if rows % 32 == 0 && cols % 32 == 0 && lower.team(work) == lower.threads {
        let text = format!("transpose_near<{rows}, {cols}, {mode}>(TEAM, {}, {y});", x.name());
        return Call::new(text, work).items(n).reads(x).fills(to.slot);
    }
    let text = format!("transpose<{rows}, {cols}, {mode}, {batch}>(TEAM, {}, {y});", x.name());
    Call::new(text, work).items(n).reads(x).writes(to.slot)
}

/// The adjoint of something repeated: the sum over its copies.
pub fn sum_of_copies(lower: &Lower, from: [usize; 2], to: [usize; 2], dy: Slot, target: To) -> Call {
    let (sums, n) = (from[0] * from[1], to[0] * to[1]);
    let shares = lower.shares(n / sums, sums, 2.0 * n as f64);
    let text = format!(
        "broadcast_reverse<{}, {}, {}, {}, {shares}, {}>(TEAM, {}, {});",
        from[0],
        from[1],
        to[0],
        to[1],
        target.mode,
        dy.name(),
        target.slot.name()
    );
    Call::new(text, 2.0 * n as f64).sums(sums, shares).reads(dy).takes(target.slot)
}

pub fn reverse(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let (from, out, dy) = (r.node.input(0), r.node.output(), r.dy());
    let d = dy.name();
    let mut calls = Vec::new();
    for i in 0..r.rule.to.len() {
        let Some(to) = r.to(i) else { continue };
        let (t, mode) = (to.slot.name(), to.mode);
        calls.push(match r.node.op.name() {
            "broadcast" => sum_of_copies(lower, [from.rows, from.cols], [out.rows, out.cols], dy, to),
            "slice" => {
                let (skipped, n, all) = (r.node.count("start") * from.cols, out.size(), from.size());
                // the rows that were left out get 0
                let call = match mode {
                    "WRITE" => {
                        let value =
                            format!("const int k = i - {skipped}; return k >= 0 && k < {n} ? {d}[k] : T(0);");
                        lower.fill(all, &to, COPIED, &value)
                    }
                    _ => {
                        let text =
                            format!("each<{n}>(TEAM, [&](int i) {{ {t}[i + {skipped}] += {d}[i]; }});");
                        Call::new(text, COPIED * n as f64).items(n)
                    }
                };
                match (skipped, mode) {
                    (0, "WRITE") => call.flat(dy),
                    (0, _) => call.flat(dy).writes(to.slot),
                    (_, "WRITE") => call.reads(dy),
                    _ => call.flat(dy).fills(to.slot),
                }
            }
            "stack" => {
                let n = r.node.input(i).size();
                let skipped = if i == 0 { 0 } else { from.size() };
                let call = lower.fill(n, &to, COPIED, &format!("{d}[i + {skipped}]"));
                if i == 0 { call.flat(dy) } else { call.reads(dy) }
            }
            _ => transposed(lower, [out.rows, out.cols], dy, to),
        });
    }
    calls
}
