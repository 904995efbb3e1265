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
    /// The next of each run. Those that are it no longer are dropped when met.
    heads: BinaryHeap<Reverse<(Entry, usize)>>,
    since: BinaryHeap<Reverse<Entry>>,
    /// So many of the runs, the first ones, are being replaced, and so is this.
    old: usize,
    old_since: BinaryHeap<Reverse<Entry>>,
    /// Entries in all others.
    len: usize,
}

/// Where an entry was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Run(usize),
    Since,
    OldSince,
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
        if let Some(head) = entries.last() {
            self.heads.push(Reverse((*head, self.runs.len())));
            self.runs.push(entries);
        }
    }

    /// From now on runs come that take the place of all that there is; it still counts meanwhile.
    pub(crate) fn begin_replacing(&mut self) {
        let since = std::mem::take(&mut self.since).into_iter().chain(std::mem::take(&mut self.old_since));
        self.push_run(since.map(|Reverse(entry)| entry).collect());
        (self.old, self.len) = (self.runs.len(), 0);
    }

    /// Drops what was replaced.
    pub(crate) fn end_replacing(&mut self) {
        self.runs.drain(..std::mem::take(&mut self.old));
        self.old_since = BinaryHeap::new();
        self.find_heads();
    }

    fn find_heads(&mut self) {
        let heads = self.runs.iter().zip(0..).filter_map(|(run, number)| Some(Reverse((*run.last()?, number))));
        self.heads = heads.collect();
    }

    /// How many entries there are, those that are being replaced left aside.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The first to be due, and where it is.
    fn find(&mut self) -> Option<(Entry, Place)> {
        while let Some(head) = self.heads.peek_mut()
            && self.runs[head.0.1].last() != Some(&head.0.0)
        {
            PeekMut::pop(head);
        }
        let run = self.heads.peek().map(|Reverse((head, run))| (*head, Place::Run(*run)));
        let since = self.since.peek().map(|Reverse(entry)| (*entry, Place::Since));
        let old_since = self.old_since.peek().map(|Reverse(entry)| (*entry, Place::OldSince));
        run.into_iter().chain(since).chain(old_since).min_by_key(|(entry, _)| *entry)
    }

    /// The first to be due.
    pub(crate) fn first(&mut self) -> Option<Entry> {
        self.find().map(|(entry, _)| entry)
    }

    /// Takes the first, from where it is.
    pub(crate) fn pop(&mut self) -> Option<(Entry, Place)> {
        let (first, place) = self.find()?;
        match place {
            Place::Run(run) => {
                self.runs[run].pop();
                if let (Some(mut head), Some(next)) = (self.heads.peek_mut(), self.runs[run].last()) {
                    head.0.0 = *next;
                }
            }
            Place::Since => _ = self.since.pop(),
            Place::OldSince => _ = self.old_since.pop(),
        }
        self.len -= usize::from(self.counts(place));
        Some((first, place))
    }

    /// Puts entries back that were taken one after the other, where they were.
    pub(crate) fn put_back(&mut self, taken: Vec<(Entry, Place)>) {
        for (entry, place) in taken.into_iter().rev() {
            match place {
                Place::Run(run) => {
                    self.runs[run].push(entry);
                    self.heads.push(Reverse((entry, run)));
                }
                Place::Since => self.since.push(Reverse(entry)),
                Place::OldSince => self.old_since.push(Reverse(entry)),
            }
            self.len += usize::from(self.counts(place));
        }
    }

    /// Is it none of those that are being replaced?
    fn counts(&self, place: Place) -> bool {
        match place {
            Place::Run(run) => run >= self.old,
            Place::Since => true,
            Place::OldSince => false,
        }
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

    /// Takes in an entry that is to be replaced with all others.
    pub(crate) fn push_old(&mut self, entry: Entry) {
        self.old_since.push(Reverse(entry));
    }

    /// Drops what no longer counts.
    pub(crate) fn retain(&mut self, counts: impl Fn(Entry) -> bool) {
        self.runs.iter_mut().for_each(|run| run.retain(|entry| counts(*entry)));
        self.since.retain(|Reverse(entry)| counts(*entry));
        self.len = self.runs[self.old..].iter().map(Vec::len).sum::<usize>() + self.since.len();
        self.find_heads();
    }

    /// Makes room for so many more.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.since.reserve_exact(more);
    }

    pub(crate) fn resident_bytes(&self) -> usize {
        let runs: usize = self.runs.iter().map(Vec::capacity).sum();
        (runs + self.since.capacity() + self.old_since.capacity()) * size_of::<Entry>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::lot;

    fn all(calendar: &mut Calendar) -> Vec<Entry> {
        std::iter::from_fn(|| calendar.pop()).map(|(entry, _)| entry).collect()
    }

    #[test]
    fn entries_come_in_order_whenever_they_went_in() {
        let tick = |number: u64| Tick::floor(1000.0 * lot(1, number, 0));
        let mut calendar = Calendar::of((0..500u32).map(|slot| (tick(slot.into()), slot)).collect());
        let mut last = (Tick::default(), 0);
        for slot in 500..2000u32 {
            calendar.push((tick(slot.into()).max(last.0), slot));
            if slot % 2 == 0 {
                let first = calendar.first();
                let (popped, _) = calendar.pop().unwrap();
                assert!(first == Some(popped) && popped.0 >= last.0, "{popped:?} after {last:?}");
                last = popped;
            }
        }
        calendar.retain(|(_, slot)| slot % 3 == 0);
        let left = all(&mut calendar);
        assert!(left.len() > 300 && left.is_sorted() && left.iter().all(|(_, slot)| slot % 3 == 0), "{}", left.len());
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
            calendar.push_old((tick(slice + 3000), 2000 + slice));
            // Whoever looks ahead leaves everything where it was.
            let taken: Vec<(Entry, Place)> = std::iter::from_fn(|| calendar.pop()).collect();
            assert!(taken.iter().map(|(entry, _)| entry).is_sorted() && calendar.len() == 0);
            assert_eq!(taken.len(), 400 + 102 * (slice as usize + 1));
            calendar.put_back(taken);
            assert_eq!(calendar.len(), 101 * (slice as usize + 1));
        }
        assert_eq!(calendar.len(), 404);
        assert!(calendar.pop().is_some_and(|((due, _), _)| due <= tick(1000)));
        calendar.end_replacing();
        let left = all(&mut calendar);
        assert!(left.is_sorted() && (403..=404).contains(&left.len()), "{}", left.len());
        assert!(calendar.len() == 0 && left.iter().all(|(due, slot)| *due == tick(slot + 1000)));
    }
}
