//! Numbers that are repeated, cut, put together or exchanged.

use super::*;

pub fn forward(node: &Node) -> Vec<Call> {
    let (from, to, x, y) = (node.input(0), node.output(), node.x(0), node.y());
    let n = to.size();
    let (xs, ys) = (x.name(), y.name());
    vec![match node.op.name() {
        "broadcast" => {
            let text = format!(
                "broadcast<{}, {}, {}, {}>(TEAM, {xs}, {ys});",
                from.rows, from.cols, to.rows, to.cols
            );
            Call::new(text, n as f64).reads(x).writes(y)
        }
        "slice" => {
            let skipped = node.count("start") * from.cols;
            let text = format!("each<{n}>(TEAM, [&](int i) {{ {ys}[i] = {xs}[i + {skipped}]; }});");
            let call = Call::new(text, n as f64).writes(y);
            if skipped == 0 { call.flat(x) } else { call.reads(x) }
        }
        "stack" => {
            let (above, b) = (from.size(), node.x(1));
            let text = format!(
                "each<{n}>(TEAM, [&](int i) {{ {ys}[i] = i < {above} ? {xs}[i] : {}[i - {above}]; }});",
                b.name()
            );
            Call::new(text, n as f64).flat(x).reads(b).writes(y)
        }
        _ => {
            let text = format!("transpose<{}, {}, WRITE>(TEAM, {xs}, {ys});", from.rows, from.cols);
            Call::new(text, n as f64).reads(x).writes(y)
        }
    }]
}

/// The adjoint of something repeated: the sum over its copies.
pub fn sum_of_copies(lower: &Lower, from: [usize; 2], to: [usize; 2], dy: Slot, target: To) -> Call {
    let (sums, n) = (from[0] * from[1], to[0] * to[1]);
    let shares = lower.shares(n / sums, sums, n as f64);
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
    Call::new(text, n as f64).room(sums * shares).reads(dy).writes(target.slot)
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
                let text = match mode {
                    // the rows that were left out get 0
                    "WRITE" => format!(
                        "each<{all}>(TEAM, [&](int i) {{ const int k = i - {skipped}; \
                         {t}[i] = k >= 0 && k < {n} ? {d}[k] : T(0); }});"
                    ),
                    _ => format!("each<{n}>(TEAM, [&](int i) {{ {t}[i + {skipped}] += {d}[i]; }});"),
                };
                let call = Call::new(text, all as f64);
                match (skipped, mode) {
                    (0, _) => call.flat(dy).writes(to.slot),
                    (_, "WRITE") => call.reads(dy).writes(to.slot),
                    _ => call.flat(dy).fills(to.slot),
                }
            }
            "stack" => {
                let n = r.node.input(i).size();
                let skipped = if i == 0 { 0 } else { from.size() };
                let text =
                    format!("each<{n}>(TEAM, [&](int i) {{ put<{mode}>({t} + i, {d}[i + {skipped}]); }});");
                let call = Call::new(text, n as f64).writes(to.slot);
                if i == 0 { call.flat(dy) } else { call.reads(dy) }
            }
            _ => {
                let text = format!("transpose<{}, {}, {mode}>(TEAM, {d}, {t});", out.rows, out.cols);
                Call::new(text, out.size() as f64).reads(dy).writes(to.slot)
            }
        });
    }
    calls
}
