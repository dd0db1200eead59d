//! After the set-up nothing is allocated, on every task: decisions, faults, failing agents, moving targets.
//! (`scripts/test-c` makes a million decisions with the shared library.)

mod common;

use cinoc_c::CinocStatus::*;
use common::{Handle, TASKS, field, options};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Whether this thread counts what it asks of the allocator, and how much it was.
    static COUNTS: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The allocator of the system, with a count.
struct Counting;

fn count() {
    COUNTS.with(|counts| counts.set(counts.get().map(|count| count + 1)));
}

// SAFETY: every call goes to the system's allocator unchanged; a number is kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn nothing_is_allocated_after_the_set_up() {
    for task in TASKS {
        let handle = Handle::load(task, options(9)).unwrap();
        let (numbers, dims) = (handle.info().numbers, handle.info().dims as usize);
        let (z, xi) = (field(numbers, 0.0), handle.start(9));
        let (targets, alive) = ([field(numbers, 1.0), field(numbers, 2.0)], [1, 0, 1, 1, 1, 0, 1, 1, 1]);
        let (mut broken, mut outside) = (z.clone(), xi.clone());
        (broken[5], outside[3]) = (f32::NAN, 1e9);
        let (mut u, mut v) = (vec![0.0; 9], vec![0.0; 9 * dims]);

        COUNTS.set(Some(0));
        let mut told = [CINOC_OK; 5];
        for k in 0..20 {
            handle.aim(&targets[k % 2]);
            told = [
                handle.decide(&z, &xi, None, 9, &mut u, &mut v),
                handle.decide(&z, &xi, Some(&alive), 4, &mut u, &mut v),
                handle.decide(&broken, &xi, None, 9, &mut u, &mut v),
                handle.decide(&z, &outside, None, 9, &mut u, &mut v),
                handle.decide(&z, &xi, None, 10, &mut u, &mut v),
            ];
        }
        let counted = COUNTS.take();
        let expected = [CINOC_OK, CINOC_OK, CINOC_ERROR_NOT_FINITE, CINOC_ERROR_POSITION, CINOC_ERROR_LENGTH];
        assert_eq!((told, counted), (expected, Some(0)), "{task}");
    }
}
