//! What agents see of fields, and fields carried by a flow.

use super::product::{Product, none};
use super::*;

pub fn advect(node: &Node) -> Vec<Call> {
    let Shape { rows, cols, .. } = node.output();
    let (rho, shift, y) = (node.x(0), node.x(1), node.y());
    let text = format!("advect<{rows}, {cols}>(TEAM, {}, {}, {});", rho.name(), shift.name(), y.name());
    vec![Call::new(text, 12.0 * (rows * cols) as f64).reads(rho).reads(shift).writes(y)]
}

pub fn advect_reverse(r: &Reverse) -> Vec<Call> {
    let Shape { rows, cols, .. } = r.node.output();
    let (dy, n) = (r.dy(), (rows * cols) as f64);
    let mut calls = Vec::new();
    if let Some(to) = r.to(0) {
        let text = format!(
            "advect_reverse_rho<{rows}, {cols}, {}>(TEAM, {}, {}, {});",
            to.mode,
            r.x(1).name(),
            dy.name(),
            to.slot.name()
        );
        calls.push(Call::new(text, 60.0 * n).reads(r.x(1)).reads(dy).writes(to.slot));
    }
    if let Some(to) = r.to(1) {
        let text = format!(
            "advect_reverse_shift<{rows}, {cols}, {}>(TEAM, {}, {}, {}, {});",
            to.mode,
            r.x(0).name(),
            r.x(1).name(),
            dy.name(),
            to.slot.name()
        );
        calls.push(Call::new(text, 20.0 * n).reads(r.x(0)).reads(r.x(1)).reads(dy).fills(to.slot));
    }
    calls
}

/// What is known of a window.
struct Window {
    n: usize,
    width: usize,
    fields: usize,
    agents: usize,
    density: f64,
    periodic: bool,
    linear: bool,
}

impl Window {
    fn new(node: &Node) -> Window {
        Window {
            n: node.count("n"),
            width: node.count("width"),
            fields: node.op.io.inputs.len() - 1,
            agents: node.input(0).cols,
            density: node.number("density"),
            periodic: node.flag("periodic"),
            linear: node.word("sampling") == "linear",
        }
    }
}

/// Code that lists the fields as `fields`.
fn listed(fields: &[Slot]) -> String {
    let names: Vec<String> = fields.iter().map(|slot| slot.name()).collect();
    format!("const T *const fields[] = {{{}}};", names.join(", "))
}

pub fn window(node: &Node) -> Vec<Call> {
    let Window { n, width, fields, agents, density, periodic, linear } = Window::new(node);
    let seen: Vec<Slot> = (1..=fields).map(|i| node.x(i)).collect();
    let text = format!(
        "{{ {} window<{n}, {width}, {fields}, {agents}, {periodic}, {linear}>\
         (TEAM, {density:?}, {}, fields, {}); }}",
        listed(&seen),
        node.x(0).name(),
        node.y().name()
    );
    let call = Call::new(text, 20.0 * (width * agents * fields) as f64).items(width * agents);
    let call = call.reads(node.x(0)).fills(node.y());
    vec![seen.into_iter().fold(call, Call::reads)]
}

pub fn window_reverse(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let Window { n, width, fields, agents, density, periodic, linear } = Window::new(&r.node);
    let (xi, dy) = (r.x(0), r.dy());
    let mut calls = Vec::new();
    for f in 0..fields {
        let Some(to) = r.to(1 + f) else { continue };
        let work = 20.0 * (n * agents) as f64;
        let shares = lower.shares(agents, n, work);
        let text = format!(
            "window_reverse_field<{n}, {width}, {agents}, {periodic}, {linear}, {shares}, {}>\
             (TEAM, {density:?}, {}, {} + {}, {});",
            to.mode,
            xi.name(),
            dy.name(),
            f * width * agents,
            to.slot.name()
        );
        calls.push(Call::new(text, work).sums(n, shares).reads(xi).reads(dy).takes(to.slot));
    }
    // a window of cells is constant in the position
    if let Some(to) = r.to(0) {
        if !linear {
            calls.extend(zero(to, agents));
            return calls;
        }
        let seen: Vec<Slot> = (1..=fields).map(|i| r.x(i)).collect();
        let shares = lower.shares(fields * width, agents, (20 * width * agents * fields) as f64);
        let text = format!(
            "{{ {} window_reverse_xi<{n}, {width}, {fields}, {agents}, {periodic}, {shares}, {}>\
             (TEAM, {density:?}, {}, fields, {}, {}); }}",
            listed(&seen),
            to.mode,
            xi.name(),
            dy.name(),
            to.slot.name()
        );
        let call = Call::new(text, (20 * width * agents * fields) as f64).sums(agents, shares);
        let call = call.reads(xi).reads(dy).takes(to.slot);
        calls.push(seen.into_iter().fold(call, Call::reads));
    }
    calls
}

/// An adjoint that nothing arrives at.
fn zero(to: To, n: usize) -> Option<Call> {
    let text = format!("each<{n}>(TEAM, [&](int i) {{ {}[i] = 0; }});", to.slot.name());
    (to.mode == "WRITE").then(|| Call::new(text, n as f64).items(n).writes(to.slot))
}

/// What is known of patches.
struct Patches {
    /// `NX, NY, P, CH, AGENTS`.
    sizes: String,
    points: usize,
    patch: usize,
    channels: usize,
    agents: usize,
    densities: String,
    periodic: bool,
    linear: bool,
}

impl Patches {
    fn new(node: &Node) -> Patches {
        let (n, density) = (node.counts("n"), node.table("density"));
        let (patch, agents) = (node.count("patch"), node.input(0).cols);
        let channels = node.input(1).rows / n[0];
        Patches {
            sizes: format!("{}, {}, {patch}, {channels}, {agents}", n[0], n[1]),
            points: n[0] * n[1],
            patch,
            channels,
            agents,
            densities: format!("{:?}, {:?}", density[0], density[1]),
            periodic: node.flag("periodic"),
            linear: node.word("sampling") == "linear",
        }
    }
    /// Code that cuts the patches of all agents out of maps (`XI, MAPS`), to the room: agent by agent, the
    /// channels of a point together.
    fn cut(&self, names: &str) -> String {
        let (Patches { sizes, densities, periodic, .. }, group) = (self, self.group());
        format!("channels<{sizes}, {periodic}, {group}>(TEAM, {densities}, {names}, TEAM.room);")
    }
    /// Channels that a thread takes together.
    fn group(&self) -> usize {
        divisor(self.channels, &[32, 16, 8, 4, 3, 2, 1])
    }
    /// Numbers that one agent sees.
    fn seen(&self) -> usize {
        self.patch * self.patch * self.channels
    }
}

pub fn patches(lower: &mut Lower, node: &Node) -> Vec<Call> {
    let p = Patches::new(node);
    let Patches { sizes, densities, periodic, linear, agents, .. } = &p;
    let (xi, maps, y) = (node.x(0), node.x(1), node.y());
    let names = format!("{}, {}", xi.name(), maps.name());
    let all = p.seen() * agents;
    let call = match node.op.name() {
        "patches" => Call::new(
            format!("patches<{sizes}, {periodic}, {linear}>(TEAM, {densities}, {names}, {});", y.name()),
            10.0 * all as f64,
        )
        .writes(y),
        "patch_squares" => {
            let shares = lower.shares(p.seen(), *agents, 10.0 * all as f64);
            Call::new(
                format!(
                    "patch_squares<{sizes}, {periodic}, {shares}>(TEAM, {densities}, {names}, {});",
                    y.name()
                ),
                10.0 * all as f64,
            )
            .sums(*agents, shares)
            .takes(y)
        }
        _ => {
            let outputs = node.output().rows;
            let product = Product {
                extents: [outputs, *agents, p.seen()],
                a: [1, outputs],
                b: [1, p.seen()],
                factors: [node.x(2).name(), "TEAM.room".into()],
                result: y.name(),
                start: none(),
                mode: "WRITE",
            };
            let (work, (product, room)) = (product.work(), product.within(lower, all));
            let cut = p.cut(&names);
            let call = Call::new(format!("{{ {cut} meet(TEAM); {product} }}"), work).room(room);
            call.reads(node.x(2)).fills(y)
        }
    };
    vec![call.reads(xi).reads(maps)]
}

pub fn patches_reverse(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let p = Patches::new(&r.node);
    let Patches { sizes, densities, periodic, linear, agents, points, channels, .. } = &p;
    let (xi, dy) = (r.x(0), r.dy());
    let mut calls = Vec::new();
    let looking = (points * channels * agents) as f64;
    if let Some(to) = r.to(0) {
        if *linear && r.node.op.name() == "patches" {
            let work = 30.0 * (p.seen() * agents) as f64;
            let shares = lower.shares(p.seen(), 2 * agents, work);
            let text = format!(
                "patches_reverse_xi<{sizes}, {periodic}, {shares}, {}>(TEAM, {densities}, {}, {}, {}, {});",
                to.mode,
                xi.name(),
                r.x(1).name(),
                dy.name(),
                to.slot.name()
            );
            let call = Call::new(text, work).sums(2 * agents, shares);
            calls.push(call.reads(xi).reads(r.x(1)).reads(dy).takes(to.slot));
        } else {
            calls.extend(zero(to, 2 * agents));
        }
    }
    let outputs = r.node.output().rows;
    if let Some(to) = r.to(1) {
        let d = dy.name();
        let (t, mode) = (to.slot.name(), to.mode);
        let mut room = 4 * agents;
        let call = match r.node.op.name() {
            "patches" => Call::new(
                format!(
                    "patches_reverse_fields<{sizes}, {periodic}, {linear}, {mode}>\
                     (TEAM, {densities}, {}, {d}, {t});",
                    xi.name()
                ),
                10.0 * looking,
            ),
            "patch_squares" => Call::new(
                format!(
                    "patch_squares_reverse<{sizes}, {periodic}, {mode}>\
                     (TEAM, {densities}, {}, {}, {d}, {t});",
                    xi.name(),
                    r.x(1).name()
                ),
                10.0 * looking,
            )
            .reads(r.x(1)),
            _ => {
                let product = Product {
                    extents: [*agents, p.seen(), outputs],
                    a: [1, *agents],
                    b: [1, outputs],
                    factors: [d.clone(), r.x(2).name()],
                    result: "TEAM.room".into(),
                    start: none(),
                    mode: "WRITE",
                };
                let all = p.seen() * agents;
                let (work, (product, more)) = (product.work(), product.within(lower, all));
                let group = p.group();
                let text = format!(
                    "{{ {product} meet(TEAM); channels_reverse<{sizes}, {periodic}, {group}, {mode}>\
                     (with_room(TEAM, TEAM.room + {all}), {densities}, {}, TEAM.room, {t}); }}",
                    xi.name()
                );
                room = more.max(all + room);
                Call::new(text, work + 10.0 * looking).reads(r.x(2))
            }
        };
        calls.push(call.room(room).reads(xi).reads(dy).fills(to.slot));
    }
    if r.node.op.name() == "patch_dense"
        && let Some(to) = r.to(2)
    {
        let product = Product {
            extents: [p.seen(), outputs, *agents],
            a: [1, p.seen()],
            b: [1, *agents],
            factors: ["TEAM.room".into(), dy.name()],
            result: to.slot.name(),
            start: none(),
            mode: to.mode,
        };
        let (work, (product, room)) = (product.work(), product.within(lower, p.seen() * agents));
        let cut = p.cut(&format!("{}, {}", xi.name(), r.x(1).name()));
        let call = Call::new(format!("{{ {cut} meet(TEAM); {product} }}"), work).room(room);
        calls.push(call.reads(xi).reads(r.x(1)).reads(dy).fills(to.slot));
    }
    calls
}
