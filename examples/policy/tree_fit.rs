// SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
//
// tree-fit: best fit, in Rust. All decisions are here; tree_fit_table.c has the table of functions that replay asks for,
// so that only two small structs have to be told twice. The smallest free piece that is large enough serves a request;
// of equal ones that of the oldest segment, whichever way addresses run.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;

/// struct block of base/event.h.
#[repr(C)]
pub struct Block {
    addr: u64,
    bytes: u64,
    segment: u32,
    cookie: u32,
}

/// struct segment of sim/device.h.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Segment {
    addr: u64,
    bytes: u64,
    id: u32,
}

/// A part of a segment: free, or one request's.
struct Piece {
    bytes: u64,
    requested: u64, // 0: free
    age: u64,       // of its segment
}

#[derive(Default)]
pub struct TreeFit {
    segments: BTreeMap<u64, Segment>, // by age
    pieces: BTreeMap<u64, Piece>,     // by address: all of all segments
    free: BTreeSet<(u64, u64, u64)>,  // bytes, age and address of the free ones
    made: u64,
}

impl TreeFit {
    fn put_free(&mut self, addr: u64, bytes: u64, age: u64) {
        self.pieces.insert(addr, Piece { bytes, requested: 0, age });
        self.free.insert((bytes, age, addr));
    }

    fn take_free(&mut self, addr: u64) -> Piece {
        let piece = self.pieces.remove(&addr).expect("a piece");
        self.free.remove(&(piece.bytes, piece.age, addr));
        piece
    }

    fn add(&mut self, segment: Segment) {
        self.made += 1;
        self.segments.insert(self.made, segment);
        self.put_free(segment.addr, segment.bytes, self.made);
    }

    fn place(&mut self, requested: u64, bytes: u64) -> Option<Block> {
        let &(_, _, addr) = self.free.range((bytes, 0, 0)..).next()?;
        let Piece { bytes: all, age, .. } = self.take_free(addr);
        if all > bytes {
            self.put_free(addr + bytes, all - bytes, age);
        }
        self.pieces.insert(addr, Piece { bytes, requested, age });
        Some(Block { addr, bytes, segment: self.segments[&age].id, cookie: 0 })
    }

    /// The address of a free piece of a segment, if that is what begins or ends there.
    fn free_neighbours(&self, addr: u64, end: u64, age: u64) -> [Option<u64>; 2] {
        let is_free = |(_, p): &(&u64, &Piece)| p.requested == 0 && p.age == age;
        let before = self.pieces.range(..addr).next_back().filter(is_free);
        let after = self.pieces.range(end..).next().filter(is_free);
        [before.map(|(&at, _)| at), after.map(|(&at, _)| at)]
    }

    fn release(&mut self, mut addr: u64) {
        let Piece { mut bytes, age, .. } = self.pieces.remove(&addr).expect("a live piece");
        for neighbour in self.free_neighbours(addr, addr + bytes, age).into_iter().flatten() {
            bytes += self.take_free(neighbour).bytes;
            addr = addr.min(neighbour);
        }
        self.put_free(addr, bytes, age);
    }

    /// Forgets the oldest segment of which nothing is in use.
    fn drop_idle(&mut self) -> Option<Segment> {
        let is_idle = |s: &Segment| self.pieces.get(&s.addr).map_or(false, |p| p.requested == 0 && p.bytes == s.bytes);
        let (&age, &segment) = self.segments.iter().find(|(_, s)| is_idle(s))?;
        self.take_free(segment.addr);
        self.segments.remove(&age)
    }
}

/// Writes what there is to *out, and says whether there is something.
fn answer<T>(found: Option<T>, out: &mut T) -> bool {
    found.map(|value| *out = value).is_some()
}

#[no_mangle]
pub extern "C" fn tree_fit_new() -> *mut TreeFit {
    Box::into_raw(Box::default())
}

/// # Safety
/// `tree` is of tree_fit_new, and is not used again.
#[no_mangle]
pub unsafe extern "C" fn tree_fit_delete(tree: *mut TreeFit) {
    drop(Box::from_raw(tree));
}

#[no_mangle]
pub extern "C" fn tree_fit_add(tree: &mut TreeFit, segment: &Segment) {
    tree.add(*segment);
}

#[no_mangle]
pub extern "C" fn tree_fit_place(tree: &mut TreeFit, requested: u64, bytes: u64, out: &mut Block) -> bool {
    answer(tree.place(requested, bytes), out)
}

#[no_mangle]
pub extern "C" fn tree_fit_release(tree: &mut TreeFit, block: &Block) {
    tree.release(block.addr);
}

#[no_mangle]
pub extern "C" fn tree_fit_drop_idle(tree: &mut TreeFit, out: &mut Segment) -> bool {
    answer(tree.drop_idle(), out)
}

/// Shows all pieces by address: where, how long, the request's bytes (0: free), the segment.
#[no_mangle]
pub extern "C" fn tree_fit_walk(
    tree: &TreeFit,
    show: extern "C" fn(*mut c_void, u64, u64, u64, &Segment),
    arg: *mut c_void,
) {
    for (&addr, piece) in &tree.pieces {
        show(arg, addr, piece.bytes, piece.requested, &tree.segments[&piece.age]);
    }
}
