//! Rectifiers in reverse that the call before them applies.
//!
//! No adjoint passes where a rectifier has cut. A pass of its own over all numbers would wait for the call
//! that wrote them, read and write them again. Calls that know how (`NOT_CUT` in their text stands for the
//! values that the rectifier saw) cut what they write.

use crate::calls::{Access, Call, Slot};

/// Numbers from which this pays. With fewer, the pass takes less time than the longer code of the call
/// before.
const MANY: usize = 200_000;

/// Lets calls cut what they write, where a cut follows.
pub fn cut_at_once(calls: &mut Vec<Call>) {
    let mut i = 0;
    while i < calls.len() {
        match cut_by(calls, i) {
            Some((j, seen)) => {
                calls[j].text = calls[j].text.replace("NOT_CUT", &seen.name());
                calls[j].reads.push((seen, Access::Free));
                calls.remove(i);
            }
            None => i += 1,
        }
    }
}

/// If call number `i` is a cut: the call that can do it, and the values that the rectifier saw.
fn cut_by(calls: &[Call], i: usize) -> Option<(usize, Slot)> {
    let call = &calls[i];
    let numbers: usize = call.text.strip_prefix("rectified<")?.split('>').next()?.parse().ok()?;
    let adjoint = call.writes.first().filter(|_| numbers >= MANY)?.0;
    let seen = call.reads.iter().find(|(slot, _)| *slot != adjoint)?.0;
    let touches = |call: &Call, slot: Slot| call.touched().any(|(other, ..)| other == slot);
    let j = calls[..i].iter().rposition(|call| touches(call, adjoint))?;
    let writes = |call: &Call, slot: Slot| call.writes.iter().any(|(other, _)| *other == slot);
    let can = calls[j].text.contains("NOT_CUT") && writes(&calls[j], adjoint);
    (can && !calls[j..i].iter().any(|call| writes(call, seen))).then_some((j, seen))
}

#[cfg(test)]
mod tests {
    use super::*;

    const Y: Slot = Slot::Value(1);
    const D: Slot = Slot::Adjoint(1);

    fn product() -> Call {
        Call::new("product_by_warps<8>(TEAM, a, b, nullptr, d1, NOT_CUT);".into(), 1.0).fills(D)
    }
    fn cut() -> Call {
        Call::new(format!("rectified<{MANY}>(TEAM, v1, d1);"), 1.0).reads(Y).reads(D).fills(D)
    }
    fn other(slot: Slot) -> Call {
        Call::new("other<8>(TEAM);".into(), 1.0).writes(slot)
    }

    #[test]
    fn the_call_before_cuts() {
        let mut calls = vec![product(), other(Slot::Value(2)), cut(), other(D)];
        cut_at_once(&mut calls);
        assert_eq!(calls.len(), 3);
        assert!(calls[0].text.ends_with("d1, v1);") && calls[0].reads.iter().any(|(slot, _)| *slot == Y));
    }

    #[test]
    fn not_if_it_cannot_or_something_comes_between() {
        for between in [other(D), other(Y), Call::new(String::new(), 1.0).reads(D)] {
            let mut calls = vec![product(), between, cut()];
            cut_at_once(&mut calls);
            assert_eq!(calls.len(), 3);
        }
        let mut calls = vec![other(D), cut()];
        cut_at_once(&mut calls);
        assert_eq!(calls.len(), 2);
    }
}
