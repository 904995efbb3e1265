//! When pages are due: sorted runs, made whenever all times are set anew, and a heap of what came since.
//!
//! Taking the next of a run touches memory in order, where a heap of ten million entries misses the cache at most of its levels.
//! Few pages are visited again before times are set anew, so that the heap stays small. Times that are set in slices make a run
//! each; of ten million pages planned 65,536 at a time there are 153, whose heads lie in the cache.

use crate::tick::Tick;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// A page is found by its slot; an entry counts while the page is due just then.
type Entry = (Tick, u32);

#[derive(Clone, Debug, Default)]
pub(crate) struct Calendar {
    /// The last first: the next is taken off the end.
    runs: Vec<Vec<Entry>>,
    /// The next of each run, which is no longer in it.
    heads: BinaryHeap<Reverse<(Entry, usize)>>,
    since: BinaryHeap<Reverse<Entry>>,
    /// So many of the runs, the first ones, are being replaced.
    old: usize,
    /// Entries in all others.
    len: usize,
}

impl Calendar {
    pub(crate) fn of(entries: Vec<Entry>) -> Calendar {
        let mut calendar = Calendar::default();
        calendar.push_run(entries);
        calendar
    }

    /// Takes in many entries at once.
    pub(crate) fn push_run(&mut self, mut entries: Vec<Entry>) {
        entries.par_sort_unstable_by(|a, b| b.cmp(a));
        self.len += entries.len();
        if let Some(head) = entries.pop() {
            self.heads.push(Reverse((head, self.runs.len())));
            self.runs.push(entries);
        }
    }

    /// From now on runs come that take the place of all that there is; it still counts meanwhile.
    pub(crate) fn begin_replacing(&mut self) {
        let since = std::mem::take(&mut self.since);
        self.push_run(since.into_iter().map(|Reverse(entry)| entry).collect());
        (self.old, self.len) = (self.runs.len(), 0);
    }

    /// Drops what was replaced.
    pub(crate) fn end_replacing(&mut self) {
        let old = std::mem::take(&mut self.old);
        self.runs.drain(..old);
        let heads = std::mem::take(&mut self.heads).into_iter().filter(|Reverse((_, run))| *run >= old);
        self.heads = heads.map(|Reverse((head, run))| Reverse((head, run - old))).collect();
    }

    /// How many entries there are, those that are being replaced left aside.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The first to be due.
    pub(crate) fn first(&self) -> Option<Entry> {
        let since = self.since.peek().map(|Reverse(entry)| *entry);
        self.heads.peek().map(|Reverse((head, _))| *head).into_iter().chain(since).min()
    }

    /// Takes the first.
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        let (first, is_old) = match (self.heads.peek_mut(), self.since.peek()) {
            (Some(mut head), since) if since.is_none_or(|Reverse(since)| head.0.0 <= *since) => {
                let Reverse((first, run)) = *head;
                match self.runs[run].pop() {
                    Some(next) => head.0.0 = next,
                    None => _ = PeekMut::pop(head),
                }
                (first, run < self.old)
            }
            _ => (self.since.pop()?.0, false),
        };
        self.len -= usize::from(!is_old);
        Some(first)
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        // What was taken off the runs is given back for it; grown by doubling, it would take up to eight bytes a page too much.
        if self.since.len() == self.since.capacity() {
            self.runs.iter_mut().for_each(Vec::shrink_to_fit);
            self.since.reserve_exact(self.len / 32 + 256);
        }
        self.len += 1;
        self.since.push(Reverse(entry));
    }

    /// Drops what no longer counts.
    pub(crate) fn retain(&mut self, counts: impl Fn(Entry) -> bool) {
        self.runs.iter_mut().for_each(|run| run.retain(|entry| counts(*entry)));
        self.since.retain(|Reverse(entry)| counts(*entry));
        let heads = self.heads.iter().filter(|Reverse((_, run))| *run >= self.old).count();
        self.len = self.runs[self.old..].iter().map(Vec::len).sum::<usize>() + heads + self.since.len();
    }

    /// Makes room for so many more.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.since.reserve_exact(more);
    }

    pub(crate) fn resident_bytes(&self) -> usize {
        let runs: usize = self.runs.iter().map(Vec::capacity).sum();
        (runs + self.since.capacity()) * size_of::<Entry>()
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
        assert!(left.len() > 300 && left.is_sorted(), "{}", left.len());
        // The next of a run stays, whatever counts.
        assert!(left.iter().filter(|(_, slot)| slot % 3 != 0).count() <= 1);
    }

    #[test]
    fn what_is_replaced_counts_until_all_of_it_is() {
        let tick = |number: u32| Tick::floor(1000.0 * lot(2, number.into(), 0));
        let mut calendar = Calendar::of((0..300u32).map(|slot| (tick(slot), slot)).collect());
        (300..400).for_each(|slot| calendar.push((tick(slot), slot)));
        calendar.begin_replacing();
        for slice in 0..4u32 {
            let slots = 100 * slice..100 * (slice + 1);
            calendar.push_run(slots.map(|slot| (tick(slot + 1000), slot)).collect());
            calendar.push((tick(slice + 2000), 1000 + slice));
        }
        assert_eq!(calendar.len(), 404);
        assert!(calendar.pop().is_some_and(|(due, _)| due <= tick(1000)));
        calendar.end_replacing();
        let left: Vec<(Tick, u32)> = std::iter::from_fn(|| calendar.pop()).collect();
        assert!(left.is_sorted() && (403..=404).contains(&left.len()), "{}", left.len());
        assert!(calendar.len() == 0 && left.iter().all(|(due, slot)| *due == tick(slot + 1000)));
    }
}
