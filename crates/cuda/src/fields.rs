//! Fields of which every block of a cluster keeps a part in its own shared memory.
//!
//! Between products along both axes a field is touched part by part only: what a block computes, it reads
//! itself. Such a field needs no global memory, and no block waits for another.

use crate::calls::{Call, Part, Slot};
use std::collections::HashMap;

/// A field in parts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub part: Part,
    /// Numbers of all parts.
    pub numbers: usize,
}

impl Field {
    /// Numbers of the part of a block.
    pub fn own(&self) -> usize {
        match self.part {
            Part::Rows(n) => n,
            Part::Columns(w, ny) => self.numbers / ny * w,
        }
    }
}

/// All fields in parts. One content after the other has each of them.
pub struct Fields {
    pub list: Vec<Field>,
    /// Numbers of shared memory of a block that are left for them.
    left: usize,
}

/// So many fields of a kind are there before one is used again: fewer threads then wait for those who still
/// read it.
const ENOUGH: usize = 8;

/// What becomes of stored values in a list of calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// Nothing but this list asks for them.
    OfNoUse,
    /// They go to the store too.
    Copied,
    /// They come from the store.
    Given,
}

/// What is in a slot from one write that begins anew to the next.
struct Content {
    slot: Slot,
    /// The field that it can be, as long as it is touched in its parts only.
    field: Option<Field>,
    /// The call that begins it, the last one that writes it, and the last one.
    first: usize,
    written: usize,
    last: usize,
}

impl Fields {
    /// Fields that take up to so many numbers of a block.
    pub fn new(left: usize) -> Fields {
        Fields { list: Vec::new(), left }
    }

    /// A field for each of these contents, in the order in which they begin, as long as there is room.
    fn deal(&mut self, contents: &[Content], may: impl Fn(&Content) -> bool) -> Vec<Option<Slot>> {
        let mut free: Vec<usize> = (0..self.list.len()).collect();
        let mut busy: Vec<(usize, usize)> = Vec::new();
        let mut one = |content: &Content| {
            let field = content.field.filter(|_| may(content))?;
            let ended = busy.extract_if(.., |(last, _)| *last < content.first);
            free.extend(ended.map(|(_, number)| number));
            let alike = self.list.iter().filter(|other| **other == field).count();
            let old = free.iter().position(|&number| self.list[number] == field);
            let own = field.own().next_multiple_of(4);
            let number = if (alike < ENOUGH || old.is_none()) && own <= self.left {
                self.left -= own;
                self.list.push(field);
                self.list.len() - 1
            } else {
                free.remove(old?)
            };
            busy.push((content.last, number));
            Some(Slot::Field(number))
        };
        contents.iter().map(&mut one).collect()
    }

    /// Moves what can be kept in parts. Slots of `fixed` are known elsewhere by their names.
    pub fn keep(&mut self, calls: &mut Vec<Call>, fixed: &[Slot], stored: &[Slot], fate: Stored) {
        let mut contents: Vec<Content> = Vec::new();
        // the content that each slot of a call has, if it began in this list
        let mut current: HashMap<Slot, usize> = HashMap::new();
        let mut touched: Vec<Vec<(Slot, usize)>> = Vec::new();
        for (i, call) in calls.iter().enumerate() {
            for &(slot, _) in &call.writes {
                if call.begins(slot) && matches!(slot, Slot::Value(_) | Slot::Adjoint(_)) {
                    let field = call.part.map(|part| Field { part, numbers: call.items });
                    current.insert(slot, contents.len());
                    let [first, written, last] = [i; 3];
                    contents.push(Content { slot, field, first, written, last });
                }
            }
            let mut here = Vec::new();
            for (slot, access, write) in call.touched() {
                let Some(&number) = current.get(&slot) else { continue };
                let content = &mut contents[number];
                content.field = content.field.filter(|field| call.part_of(access) == Some(field.part));
                content.written = if write { i } else { content.written };
                content.last = i;
                here.push((slot, number));
            }
            touched.push(here);
        }
        let moved = self.deal(&contents, |content| {
            let given = fate == Stored::Given && stored.contains(&content.slot);
            !given && !fixed.contains(&content.slot)
        });
        let mut all = Vec::new();
        for (i, (mut call, here)) in std::mem::take(calls).into_iter().zip(touched).enumerate() {
            let to = |slot: Slot| here.iter().find(|(other, _)| *other == slot).and_then(|(_, n)| moved[*n]);
            call.rename(|slot| to(slot).unwrap_or(slot));
            all.push(call);
            if fate != Stored::Copied {
                continue;
            }
            for (_, number) in here {
                let content = &contents[number];
                let last = content.written == i && stored.contains(&content.slot);
                if let (true, Some(slot), Some(field)) = (last, moved[number], content.field) {
                    all.push(copied(field, slot, content.slot));
                }
            }
        }
        *calls = all;
    }
}

/// A copy of a field to the slot that it stands for.
fn copied(field: Field, from: Slot, to: Slot) -> Call {
    let body = format!("put<WRITE>({} + i, {}[i]);", to.name(), from.name());
    let call = Call::new(body.clone(), 8.0 * field.numbers as f64).items(field.numbers);
    Call { body: Some(body), ..call.parts(Some(field.part)).flat(from).writes(to) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: Part = Part::Rows(8);

    /// An elementwise call on parts of a field of 64 numbers.
    fn call(from: usize, to: usize) -> Call {
        let body = format!("put<WRITE>(v{to} + i, v{from}[i]);");
        let call = Call::new(body.clone(), 1.0).items(64).parts(Some(PART));
        Call { body: Some(body), ..call.flat(Slot::Value(from)).writes(Slot::Value(to)) }
    }

    /// The bodies of calls after fields were kept in parts.
    fn kept(mut calls: Vec<Call>, fixed: &[usize], fate: Stored) -> Vec<String> {
        let fixed: Vec<Slot> = fixed.iter().map(|&slot| Slot::Value(slot)).collect();
        Fields::new(100).keep(&mut calls, &fixed, &[Slot::Value(7)], fate);
        calls.into_iter().map(|call| call.body.unwrap_or(call.text)).collect()
    }

    #[test]
    fn what_is_touched_in_parts_moves_to_shared_memory() {
        let calls = kept(vec![call(0, 1), call(1, 2), call(2, 3)], &[3], Stored::Given);
        assert_eq!(calls[0], "put<WRITE>(f0 + i, v0[i]);"); // comes from elsewhere
        assert_eq!(calls[1], "put<WRITE>(f1 + i, f0[i]);");
        assert_eq!(calls[2], "put<WRITE>(v3 + i, f1[i]);"); // is known elsewhere
    }

    #[test]
    fn what_others_read_stays() {
        let other = Call::new("sum(v1);".into(), 1.0).reads(Slot::Value(1));
        let calls = kept(vec![call(0, 1), other.clone(), call(0, 1), call(1, 2)], &[2], Stored::Given);
        assert_eq!(calls[0], "put<WRITE>(v1 + i, v0[i]);");
        // what comes after it in the same slot moves
        assert_eq!(calls[2], "put<WRITE>(f0 + i, v0[i]);");
    }

    #[test]
    fn stored_values_go_to_the_store() {
        let calls = || vec![call(0, 7), call(7, 2)];
        assert_eq!(kept(calls(), &[2], Stored::OfNoUse).len(), 2);
        let copied = kept(calls(), &[2], Stored::Copied);
        assert_eq!(copied[1], "put<WRITE>(v7 + i, f0[i]);");
        assert_eq!(copied[2], "put<WRITE>(v2 + i, f0[i]);");
        assert_eq!(kept(calls(), &[2], Stored::Given)[0], "put<WRITE>(v7 + i, v0[i]);");
    }

    #[test]
    fn without_room_nothing_moves() {
        let mut calls = vec![call(0, 1), call(1, 2)];
        Fields::new(4).keep(&mut calls, &[], &[], Stored::Given);
        assert_eq!(calls[0].body.as_deref(), Some("put<WRITE>(v1 + i, v0[i]);"));
    }
}
