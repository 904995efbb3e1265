//! The other crawlers of the demo: their rules, our fetcher, and as many visits as Everfresh makes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use everfresh::policy::peers::{Fixed, NutchAdaptive, StormCrawler};
use everfresh::policy::{About, Outcome, Policy, Visit};
use everfresh::{Period, Rate, Unit};
use everfresh_crawl::fetch::{Manners, Sources};
use tokio::task::JoinSet;

use super::look::{self, Held, Listed, Saw, Seen};
use super::ours::{AT_A_TIME, NOTICE};
use crate::interrupt;
use crate::run::clock::Clock;

/// How soon it is looked again whether another visit may be made.
const PACE: Duration = Duration::from_millis(1);

/// All other crawlers, by the names under which they are shown.
pub(super) const NAMES: [&str; 3] = ["uniform", "stormcrawler", "nutch"];

/// Where and how long all crawlers run.
#[derive(Clone, Copy)]
pub(super) struct Course<'a> {
    pub pages: &'a [Listed],
    pub clock: Clock,
    pub until_s: f64,
    /// Visits that Everfresh has made: nobody makes more.
    pub allowed: &'a AtomicU64,
}

/// Runs one of them, by its place in [`NAMES`].
pub(super) fn run(rival: usize, course: Course<'_>) -> Result<Vec<Seen>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match rival {
            0 => Run::new(Fixed::every(Period::of(1.0, Unit::Day)?), course)?.go().await,
            1 => Run::new(StormCrawler::DEFAULT, course)?.go().await,
            _ => Run::new(NutchAdaptive, course)?.go().await,
        }
    })
}

/// A time of a queue, zero or later, and a page; the earliest first.
type Due = Reverse<(u64, usize)>;

fn due(time_s: f64, page: usize) -> Due {
    // The bits of numbers that are not negative are ordered as they are.
    Reverse((time_s.max(0.0).to_bits(), page))
}

/// When pages are due by a rule, for a number of visits that is given.
///
/// Pages wait by the time of the queue, which goes as the clock does where the rule asks for more visits than there are: then
/// the earliest due is late, as with any crawler that cannot keep up. Where it asks for fewer, the time goes faster, by so
/// much that what it asks for is what there is: all its intervals are shorter by the same factor.
struct Queue {
    heap: BinaryHeap<Due>,
    /// The time of the queue.
    time_s: f64,
    /// When it was last read.
    read_s: f64,
    /// Visits per second that the rule asks for.
    asked_per_s: f64,
}

impl Queue {
    /// The first page that may be visited, due or not; time goes on by one visit.
    fn next(&mut self, now_s: f64, may: impl Fn(usize) -> bool) -> Option<usize> {
        let mut passed = Vec::new();
        let mut found = None;
        while let Some(Reverse((time, page))) = self.heap.pop() {
            if may(page) {
                found = Some(page);
                break;
            }
            passed.push(Reverse((time, page)));
        }
        self.heap.extend(passed);
        if found.is_some() {
            self.time_s += (now_s - self.read_s).max(1.0 / self.asked_per_s);
            self.read_s = now_s;
        }
        found
    }
}

/// A page as a rule knows it.
struct Known<M> {
    memory: M,
    period_s: f64,
    /// When it was last seen, if it was.
    saw_s: Option<f64>,
    held: Held,
}

struct Done {
    page: usize,
    held: Held,
    saw: Saw,
    manners: Vec<Manners>,
}

struct Run<'a, P: Policy> {
    policy: P,
    course: Course<'a>,
    about: About,
    known: Vec<Known<P::Memory>>,
    queue: Queue,
    hosts: HashMap<String, u32>,
    /// By host: the gap that it asks for, and when it may be visited again.
    gaps_s: Vec<f64>,
    opens_s: Vec<f64>,
    sources: Sources,
    flying: JoinSet<Done>,
    sent: u64,
    seen: Vec<Seen>,
}

impl<'a, P: Policy> Run<'a, P> {
    fn new(policy: P, course: Course<'a>) -> Result<Run<'a, P>> {
        let now_s = course.clock.now_s();
        let about = About::new(Rate::STATIC);
        let known = course.pages.iter().map(|_| {
            let memory = policy.remember(&about, now_s, &[]);
            let period_s = policy.period(&about, &memory, 1.0).seconds();
            Known { memory, period_s, saw_s: None, held: Held::default() }
        });
        let known: Vec<_> = known.collect();
        let asked_per_s = known.iter().map(|page| 1.0 / page.period_s).sum();
        let heap = (0..known.len()).map(|page| due(0.0, page)).collect();
        let hosts = course.pages.iter().map(|page| page.host as usize + 1).max().unwrap_or(0);
        Ok(Run {
            policy,
            course,
            about,
            known,
            queue: Queue { heap, time_s: 0.0, read_s: now_s, asked_per_s },
            hosts: look::hosts(course.pages),
            gaps_s: vec![0.0; hosts],
            opens_s: vec![f64::NEG_INFINITY; hosts],
            sources: look::sources()?,
            flying: JoinSet::new(),
            sent: 0,
            seen: Vec::new(),
        })
    }

    async fn go(mut self) -> Result<Vec<Seen>> {
        loop {
            interrupt::check()?;
            let now_s = self.course.clock.now_s();
            if now_s >= self.course.until_s {
                return Ok(self.seen);
            }
            self.send_out(now_s);
            let is_full = self.flying.len() >= AT_A_TIME;
            tokio::select! {
                Some(done) = self.flying.join_next() => self.take(done?),
                () = tokio::time::sleep(if is_full { NOTICE } else { PACE }) => {}
            }
            while let Some(done) = self.flying.try_join_next() {
                self.take(done?);
            }
        }
    }

    fn send_out(&mut self, now_s: f64) {
        while self.sent < self.course.allowed.load(Ordering::Relaxed) && self.flying.len() < AT_A_TIME {
            let (pages, opens_s) = (self.course.pages, &self.opens_s);
            let Some(page) = self.queue.next(now_s, |page| opens_s[pages[page].host as usize] <= now_s) else { return };
            let host = pages[page].host as usize;
            self.opens_s[host] = now_s + self.gaps_s[host];
            self.sent += 1;
            let (sources, listed, date) = (self.sources.clone(), pages[page].clone(), self.course.clock.date());
            let mut held = std::mem::take(&mut self.known[page].held);
            self.flying.spawn(async move {
                let (saw, manners) = look::look(&sources, &listed, date, &mut held).await;
                Done { page, held, saw, manners }
            });
        }
    }

    fn take(&mut self, done: Done) {
        let now_s = self.course.clock.now_s();
        self.learn(&done, now_s);
        let period_s = self.policy.period(&self.about, &self.known[done.page].memory, 1.0).seconds();
        let page = &mut self.known[done.page];
        self.queue.asked_per_s += 1.0 / period_s - 1.0 / page.period_s;
        page.period_s = period_s;
        page.held = done.held;
        self.queue.heap.push(due(self.queue.time_s + period_s, done.page));
        for manners in &done.manners {
            if let Some(host) = self.hosts.get(&manners.host) {
                self.gaps_s[*host as usize] = manners.crawl_delay.map_or(0.0, |gap| gap.as_secs_f64());
            }
        }
        self.seen.push(Seen { page: done.page, at_s: now_s, saw: done.saw });
    }

    fn learn(&mut self, done: &Done, now_s: f64) {
        let page = &mut self.known[done.page];
        let outcome = match done.saw {
            Saw::Text { divergence, last_change, .. } => Outcome::Changed { divergence, last_change },
            Saw::Same { .. } => Outcome::Unchanged,
            Saw::Gone => Outcome::Gone,
            Saw::Failed { .. } => Outcome::Failed,
        };
        let elapsed_s = page.saw_s.map_or(0.0, |saw_s| now_s - saw_s);
        let elapsed = Period::of(elapsed_s.max(0.0), Unit::Second).unwrap_or(Period::ZERO);
        let visit = Visit { now_s, elapsed, outcome, fragments: &[] };
        let was_seen = page.saw_s.is_some();
        if visit.saw() {
            page.saw_s = Some(now_s);
        }
        if visit.saw() && !was_seen {
            // The first visit makes the copy; there was nothing that it could differ from.
            page.memory = self.policy.remember(&self.about, now_s, &[]);
        } else {
            self.policy.observe(&self.about, &mut page.memory, &visit);
        }
    }
}
