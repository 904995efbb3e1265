use crate::chance;
use crate::hint::Pending;
use crate::terms::{GroupId, HostId, PageId, PageTerms};
use crate::tick::Tick;
use everfresh::estimate::PageState;
use everfresh::policy::Panel;
use everfresh::{Period, Unit};
use hashbrown::HashTable;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is kept of every page: 44 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Page {
    pub(crate) state: PageState,
    pub(crate) weight: f32,
    pub(crate) host: u32,
    /// When it was last seen; before the first visit, when it was added.
    pub(crate) saw: Tick,
    /// When its next visit is due.
    pub(crate) due: Tick,
    pub(crate) group: u16,
    /// The mean divergence of its changes, in 255ths.
    pub(crate) depth: u8,
    flags: u8,
}

/// A lease is live.
const LEASED: u8 = 1;
/// There is a copy.
const COPIED: u8 = 2;
/// There is a [`Rare`] record.
const RARE: u8 = 4;
/// There is no page in this slot.
const FREE: u8 = 8;

impl Page {
    pub(crate) const fn is_leased(&self) -> bool {
        self.flags & LEASED != 0
    }

    pub(crate) const fn is_copied(&self) -> bool {
        self.flags & COPIED != 0
    }

    pub(crate) fn set_leased(&mut self, leased: bool) {
        self.flags = if leased { self.flags | LEASED } else { self.flags & !LEASED };
    }

    pub(crate) fn set_copied(&mut self) {
        self.flags |= COPIED;
    }
}

/// What few pages have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rare {
    pub(crate) cost: f64,
    pub(crate) min_s: f64,
    pub(crate) max_s: f64,
    pub(crate) pin_s: Option<f64>,
    pub(crate) trouble: Trouble,
    pub(crate) hint: Option<Pending>,
}

/// Why a page does not wait for its price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trouble {
    /// It does.
    #[default]
    None,
    /// So many visits in a row failed.
    Failing(u8),
    /// So many visits in a row found nothing.
    Gone(u8),
    /// It was gone for good.
    Retired,
}

impl Rare {
    const NONE: Rare =
        Rare { cost: 1.0, min_s: 0.0, max_s: f64::INFINITY, pin_s: None, trouble: Trouble::None, hint: None };

    fn of(terms: &PageTerms) -> Rare {
        Rare {
            cost: terms.cost,
            min_s: terms.min_period.seconds(),
            max_s: terms.max_period.seconds(),
            pin_s: terms.pin.map(Period::seconds),
            trouble: Trouble::None,
            hint: None,
        }
    }
}

/// All pages, in slots that are used again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pages {
    seed: u64,
    /// The keys: eight bytes a page. Written down in blocks, as are the pages.
    #[serde(skip)]
    ids: Vec<u64>,
    #[serde(skip)]
    pages: Vec<Page>,
    free: Vec<u32>,
    /// Where a page is. Derived.
    #[serde(skip)]
    index: HashTable<u32>,
    rare: BTreeMap<u32, Rare>,
    pub(crate) panels: BTreeMap<u32, Panel>,
}

/// Equal ground state, slot by slot.
impl PartialEq for Pages {
    fn eq(&self, other: &Pages) -> bool {
        self.ids == other.ids
            && self.pages == other.pages
            && self.free == other.free
            && self.rare == other.rare
            && self.panels == other.panels
    }
}

impl Pages {
    pub(crate) fn new(seed: u64) -> Pages {
        Pages { seed, ..Pages::default() }
    }

    /// Makes room for so many more pages, and not for twice as many.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.ids.reserve_exact(more);
        self.pages.reserve_exact(more);
        let (seed, ids) = (self.seed, &self.ids);
        self.index.reserve(more, |slot| chance::hash(seed, ids[*slot as usize], 0));
    }

    /// Makes room for one more. Grown by doubling, records would take up to 44 bytes a page too much.
    fn grow(&mut self) {
        if self.pages.len() == self.pages.capacity() {
            let more = self.pages.len() / 32 + 1024;
            self.pages.reserve_exact(more);
            self.ids.reserve_exact(more);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.pages.len() - self.free.len()
    }

    pub(crate) fn find(&self, id: PageId) -> Option<u32> {
        let hash = chance::hash(self.seed, id.0, 0);
        self.index.find(hash, |slot| self.ids[*slot as usize] == id.0).copied()
    }

    /// Puts a page in that is not there.
    pub(crate) fn insert(&mut self, id: PageId, terms: &PageTerms, now: Tick) -> u32 {
        let page = Page {
            state: PageState::default(),
            weight: terms.weight,
            host: terms.host.0,
            saw: now,
            due: Tick::LAST,
            group: terms.group.0,
            depth: 0,
            flags: 0,
        };
        let slot = if let Some(slot) = self.free.pop() {
            self.ids[slot as usize] = id.0;
            self.pages[slot as usize] = page;
            slot
        } else {
            self.grow();
            self.ids.push(id.0);
            self.pages.push(page);
            u32::try_from(self.pages.len() - 1).unwrap_or(u32::MAX)
        };
        let (seed, ids) = (self.seed, &self.ids);
        self.index.insert_unique(chance::hash(seed, id.0, 0), slot, |slot| chance::hash(seed, ids[*slot as usize], 0));
        self.set_terms(slot, terms);
        slot
    }

    pub(crate) fn remove(&mut self, slot: u32) {
        let id = self.ids[slot as usize];
        if let Ok(entry) = self.index.find_entry(chance::hash(self.seed, id, 0), |found| *found == slot) {
            entry.remove();
        }
        self.rare.remove(&slot);
        self.panels.remove(&slot);
        let page = &mut self.pages[slot as usize];
        (page.flags, page.due) = (FREE, Tick::LAST);
        self.free.push(slot);
    }

    /// Keys and pages by slot, free slots included, in blocks of at most so many.
    pub(crate) fn blocks(&self, size: usize) -> impl Iterator<Item = (&[u64], &[Page])> {
        self.ids.chunks(size).zip(self.pages.chunks(size))
    }

    /// Appends a block as [`Pages::blocks`] gave it.
    pub(crate) fn append(&mut self, ids: &[u64], pages: &[Page]) {
        for (id, page) in ids.iter().zip(pages) {
            let slot = u32::try_from(self.pages.len()).unwrap_or(u32::MAX);
            self.grow();
            self.ids.push(*id);
            self.pages.push(*page);
            if page.flags & FREE == 0 {
                let (seed, ids) = (self.seed, &self.ids);
                let hash = |slot: &u32| chance::hash(seed, ids[*slot as usize], 0);
                self.index.insert_unique(hash(&slot), slot, hash);
            }
        }
    }

    /// Is there room for one more?
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty() || self.pages.len() < u32::MAX as usize
    }

    pub(crate) fn id(&self, slot: u32) -> PageId {
        PageId(self.ids[slot as usize])
    }

    pub(crate) fn get(&self, slot: u32) -> &Page {
        &self.pages[slot as usize]
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut Page {
        &mut self.pages[slot as usize]
    }

    /// All slots with a page, in their order.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> {
        self.pages.iter().zip(0u32..).filter(|(page, _)| page.flags & FREE == 0).map(|(_, slot)| slot)
    }

    /// How many slots there are, free ones included.
    pub(crate) fn slot_count(&self) -> usize {
        self.pages.len()
    }

    /// Those of so many slots, from one on, with a page.
    pub(crate) fn slots_from(&self, first: usize, most: usize) -> Vec<u32> {
        let to_slot = |slot: usize| u32::try_from(slot).unwrap_or(u32::MAX);
        let range = to_slot(first)..to_slot(self.pages.len().min(first.saturating_add(most)));
        range.into_par_iter().filter(|slot| self.is_taken(*slot)).collect()
    }

    /// Every so many-th slot, where there is a page, so that there are at most so many.
    pub(crate) fn strided(&self, most: usize) -> impl Iterator<Item = u32> {
        let slots = (0..).take(self.pages.len());
        slots.step_by(self.pages.len().div_ceil(most).max(1)).filter(|slot| self.is_taken(*slot))
    }

    fn is_taken(&self, slot: u32) -> bool {
        self.get(slot).flags & FREE == 0
    }

    pub(crate) fn rare(&self, slot: u32) -> Rare {
        let has = self.get(slot).flags & RARE != 0;
        has.then(|| self.rare.get(&slot).copied()).flatten().unwrap_or(Rare::NONE)
    }

    fn set_rare(&mut self, slot: u32, rare: Rare) {
        let page = &mut self.pages[slot as usize];
        if rare == Rare::NONE {
            page.flags &= !RARE;
            self.rare.remove(&slot);
        } else {
            page.flags |= RARE;
            self.rare.insert(slot, rare);
        }
    }

    pub(crate) fn trouble(&self, slot: u32) -> Trouble {
        self.rare(slot).trouble
    }

    pub(crate) fn set_trouble(&mut self, slot: u32, trouble: Trouble) {
        let rare = self.rare(slot);
        if rare.trouble != trouble {
            self.set_rare(slot, Rare { trouble, ..rare });
        }
    }

    pub(crate) fn set_hint(&mut self, slot: u32, hint: Option<Pending>) {
        let rare = self.rare(slot);
        if rare.hint != hint {
            self.set_rare(slot, Rare { hint, ..rare });
        }
    }

    /// Sets what is asked for a page; its trouble and hint stay.
    pub(crate) fn set_terms(&mut self, slot: u32, terms: &PageTerms) {
        let Rare { trouble, hint, .. } = self.rare(slot);
        self.set_rare(slot, Rare { trouble, hint, ..Rare::of(terms) });
        let page = self.get_mut(slot);
        (page.weight, page.host, page.group) = (terms.weight, terms.host.0, terms.group.0);
    }

    pub(crate) fn terms(&self, slot: u32) -> PageTerms {
        let (page, rare) = (self.get(slot), self.rare(slot));
        let period = |seconds: f64| Period::of(seconds, Unit::Second).unwrap_or(Period::NEVER);
        PageTerms {
            host: HostId(page.host),
            group: GroupId(page.group),
            weight: page.weight,
            cost: rare.cost,
            min_period: period(rare.min_s),
            max_period: period(rare.max_s),
            pin: rare.pin_s.map(period),
        }
    }

    pub(crate) fn troubles(&self) -> impl Iterator<Item = Trouble> {
        self.rare.values().map(|rare| rare.trouble)
    }

    /// Bytes held for pages beyond their keys of eight bytes, but for the panel, which does not grow with them.
    pub(crate) fn resident_bytes(&self) -> usize {
        let rare = self.rare.len() * (size_of::<(u32, Rare)>() + 8);
        self.pages.capacity() * size_of::<Page>() + self.free.capacity() * 4 + self.index.allocation_size() + rare
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_takes_44_bytes() {
        assert_eq!(size_of::<Page>(), 44);
    }
}
