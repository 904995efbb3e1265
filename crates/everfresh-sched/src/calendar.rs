//! When pages are due: a sorted run, made whenever all times are set anew, and a heap of what came since.
//!
//! Taking the next of a run touches memory in order, where a heap of ten million entries misses the cache at most of its levels.
//! Few pages are visited again before times are set anew, so that the heap stays small.

use crate::tick::Tick;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A page is found by its slot; an entry counts while the page is due just then.
type Entry = (Tick, u32);

#[derive(Clone, Debug, Default)]
pub(crate) struct Calendar {
    /// The last first: the next is taken off the end.
    run: Vec<Entry>,
    since: BinaryHeap<Reverse<Entry>>,
}

impl Calendar {
    pub(crate) fn of(mut entries: Vec<Entry>) -> Calendar {
        entries.par_sort_unstable_by(|a, b| b.cmp(a));
        Calendar { run: entries, since: BinaryHeap::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.run.len() + self.since.len()
    }

    /// The first to be due.
    pub(crate) fn first(&self) -> Option<Entry> {
        let since = self.since.peek().map(|Reverse(entry)| *entry);
        self.run.last().copied().into_iter().chain(since).min()
    }

    /// Takes the first.
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        match (self.run.last(), self.since.peek()) {
            (Some(run), Some(Reverse(since))) if since < run => self.since.pop().map(|Reverse(entry)| entry),
            (Some(_), _) => self.run.pop(),
            (None, _) => self.since.pop().map(|Reverse(entry)| entry),
        }
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        // What was taken off the run is given back for it; grown by doubling, it would take up to eight bytes a page too much.
        if self.since.len() == self.since.capacity() {
            self.run.shrink_to_fit();
            self.since.reserve_exact(self.len() / 32 + 256);
        }
        self.since.push(Reverse(entry));
    }

    /// Drops what no longer counts.
    pub(crate) fn retain(&mut self, counts: impl Fn(Entry) -> bool) {
        self.run.retain(|entry| counts(*entry));
        self.since.retain(|Reverse(entry)| counts(*entry));
    }

    /// Makes room for so many more.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.since.reserve_exact(more);
    }

    pub(crate) fn resident_bytes(&self) -> usize {
        (self.run.capacity() + self.since.capacity()) * size_of::<Entry>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::lot;

    #[test]
    fn entries_come_in_order_whenever_they_went_in() {
        let tick = |number: u64| Tick::floor(1000.0 * lot(1, number, 0));
        let mut calendar = Calendar::of((0..500u32).map(|slot| (tick(slot.into()), slot)).collect());
        let mut last = (Tick::default(), 0);
        for slot in 500..2000u32 {
            calendar.push((tick(slot.into()).max(last.0), slot));
            if slot % 2 == 0 {
                let first = calendar.first();
                let popped = calendar.pop().unwrap();
                assert!(first == Some(popped) && popped.0 >= last.0, "{popped:?} after {last:?}");
                last = popped;
            }
        }
        calendar.retain(|(_, slot)| slot % 3 == 0);
        let left: Vec<(Tick, u32)> = std::iter::from_fn(|| calendar.pop()).collect();
        assert!(left.len() > 300 && left.is_sorted() && left.iter().all(|(_, slot)| slot % 3 == 0), "{}", left.len());
    }
}
