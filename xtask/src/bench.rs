//! `cargo xtask bench plan`: pages per second of the streaming solver, beside the machine's bound and a rival.
//!
//! One canonical workload: lognormal rates, Zipf weights, a budget of one visit per page in ten days, freshness. Absolute
//! times mean little on a shared machine; the ratios are measured in the same run.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use everfresh::plan::stream::{Columns, Limits, Outcome, Solution, plan};
use everfresh::{Price, Terms, Unit};
use rand::SeedableRng;
use rand_distr::{Distribution, LogNormal, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many pages.
    pub pages: usize,
    /// How many of them the rival gets, which is slow; none leaves it out.
    pub rival_pages: usize,
    /// The best of so many runs counts.
    pub runs: usize,
    /// Hosts with caps, for one more run; none leaves it out.
    pub hosts: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { pages: 100_000_000, rival_pages: 1_000_000, runs: 3, hosts: 1_000_000 }
    }
}

/// What a piece of work took. On a machine that does other things too the processor's time says more than the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    pub seconds: f64,
    /// Of all threads, and of processes that ended; 0 where the system does not tell.
    pub processor: f64,
}

impl Took {
    pub(crate) const FOREVER: Took = Took { seconds: f64::INFINITY, processor: f64::INFINITY };

    /// Works and measures.
    pub(crate) fn by<T>(work: impl FnOnce() -> T) -> (Took, T) {
        let (start, processor) = (Instant::now(), processor_seconds());
        let made = work();
        (Took { seconds: start.elapsed().as_secs_f64(), processor: processor_seconds() - processor }, made)
    }

    /// The less of each, which may be of different runs.
    pub(crate) fn best(self, other: Took) -> Took {
        Took { seconds: self.seconds.min(other.seconds), processor: self.processor.min(other.processor) }
    }
}

/// What this process and its children that ended have used of all cores; 0 where the system does not tell.
fn processor_seconds() -> f64 {
    processor_times().map_or(0.0, |(own, children)| own + children)
}

/// The kernel counts the time of processes in these.
const TICKS_PER_S: f64 = 100.0;

/// What this process has used of all cores, and what its children that ended have, in seconds, as Linux tells it.
pub(crate) fn processor_times() -> Result<(f64, f64)> {
    let stat = std::fs::read_to_string("/proc/self/stat").context("cannot ask for the time of processes")?;
    // The name, which may have blanks, ends with the last bracket; eleven fields stand before the four times.
    let fields = stat.rsplit_once(')').context("a name must end")?.1.split_whitespace().skip(11);
    let ticks: Vec<f64> = fields.take(4).map(str::parse).collect::<Result<_, _>>()?;
    let [user, system, child_user, child_system] = ticks[..] else { bail!("four times must be there, got {ticks:?}") };
    Ok(((user + system) / TICKS_PER_S, (child_user + child_system) / TICKS_PER_S))
}

pub(crate) const SEED: u64 = 7;
pub(crate) const BUDGET_PER_PAGE: f64 = 0.1;

struct Workload {
    rate: Vec<f64>,
    weight: Vec<f64>,
}

/// Rates around one in ten days over some decades, and weights as page ranks have them. The chunks have their own seeds,
/// so that the same pages come out whatever the number of threads.
fn workload(pages: usize) -> Result<Workload> {
    const CHUNK: usize = 1 << 16;
    let rates = LogNormal::new(-2.3, 2.0)?;
    let ranks = Zipf::new(1e6, 1.0)?;
    let mut rate = vec![0.0; pages];
    let mut weight = vec![0.0; pages];
    let chunks = rate.par_chunks_mut(CHUNK).zip(weight.par_chunks_mut(CHUNK)).enumerate();
    chunks.for_each(|(i, (rate, weight))| {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED + i as u64);
        rate.fill_with(|| rates.sample(&mut rng));
        weight.fill_with(|| 1.0 / ranks.sample(&mut rng));
    });
    Ok(Workload { rate, weight })
}

/// The pages of one part of an endless workload: rates and weights.
pub(crate) fn pages_of(part: usize, pages: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let rates = LogNormal::new(-2.3, 2.0)?;
    let ranks = Zipf::new(1e6, 1.0)?;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED + part as u64);
    let rate = (0..pages).map(|_| rates.sample(&mut rng)).collect();
    let weight = (0..pages).map(|_| 1.0 / ranks.sample(&mut rng)).collect();
    Ok((rate, weight))
}

/// Measures and returns what to print.
pub fn run(options: Options) -> Result<String> {
    let Options { pages, runs, .. } = options;
    let work = workload(pages)?;
    let budget = BUDGET_PER_PAGE * pages as f64;
    let mut out = vec![0.0; pages];
    let mut text = format!("planning {pages} pages (lognormal rates, Zipf weights, seed {SEED}), best of {runs}\n\n");
    let _ = writeln!(text, "threads   million pages/s   copy bound   share of the bound");
    let mut best = (Took::FOREVER, None);
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let (ours, bound, outcome) = pool.install(|| measure(&work, budget, &mut out, runs))?;
        let speed = |seconds: f64| pages as f64 / seconds / 1e6;
        let share = bound / ours.seconds;
        let _ = writeln!(text, "{threads:>7} {:>17.1} {:>12.1} {share:>20.2}", speed(ours.seconds), speed(bound));
        best = (ours, Some(outcome));
    }
    let (took, Some(outcome)) = best else { bail!("nothing was measured") };
    let per_page = took.processor / pages as f64 * 1e9;
    let _ = writeln!(text, "\nof a core on 2 threads: {per_page:.1} ns per page");
    let _ = writeln!(text, "price {:.9} days, spent {:.12} of the budget", outcome.price, outcome.spent / budget);
    if options.hosts > 0 {
        text.push_str(&capped(&work, budget, &mut out, options, took)?);
        out.fill(0.0);
        let columns = Columns { weight: Some(&work.weight), ..Columns::new(&work.rate) };
        plan(columns, Terms::new(Price::for_budget(budget, Unit::Second)?), &Limits::default(), &mut out)?;
    }
    let hash = out.iter().fold(0u64, |hash, f| hash.rotate_left(5) ^ f.to_bits());
    let _ = writeln!(text, "result {hash:016x}");
    if options.rival_pages > 0 {
        let (rival, price) = rival(&work, options.rival_pages)?;
        let per_page = (rival / options.rival_pages as f64) / (took.seconds / pages as f64);
        let _ = writeln!(
            text,
            "\nrival (NumPy, SciPy lambertw, bisection, {} pages): {per_page:.0} times the time per page",
            options.rival_pages
        );
        let _ = writeln!(text, "its price on its pages: {price:.9} days");
    }
    Ok(text)
}

/// The same pages on hosts of very different sizes, of which the large ones are capped.
fn capped(work: &Workload, budget: f64, out: &mut [f64], options: Options, uncapped: Took) -> Result<String> {
    const CHUNK: usize = 1 << 16;
    let sizes = Zipf::new(options.hosts as f64, 1.0)?;
    let mut host = vec![0u32; work.rate.len()];
    host.par_chunks_mut(CHUNK).enumerate().for_each(|(i, host)| {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED ^ (i as u64) << 20);
        // A rank is a small whole number from 1 up.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        host.fill_with(|| sizes.sample(&mut rng) as u32 - 1);
    });
    let cap = 100.0 * budget / options.hosts as f64;
    let limits = Limits { floor: 0.0, caps: vec![cap; options.hosts] };
    let terms = Terms::new(Price::for_budget(budget, Unit::Second)?);
    let columns = Columns { weight: Some(&work.weight), host: Some(&host), ..Columns::new(&work.rate) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    let mut best = Took::FOREVER;
    for _ in 0..options.runs.max(1) {
        let (took, outcome) = Took::by(|| pool.install(|| plan(columns, terms, &limits, out)));
        outcome?;
        best = best.best(took);
    }
    let solution = Solution::of(&columns, terms, &limits)?;
    let [clock, processor] = [best.seconds / uncapped.seconds, best.processor / uncapped.processor];
    let capped = solution.hosts_at_cap();
    Ok(format!(
        "with caps on {} hosts, {capped} of them reached: {clock:.1} times the time on 2 threads, {processor:.1} times the processor's\n",
        options.hosts
    ))
}

/// The best times of the solver and of a pass that reads and writes the same bytes.
fn measure(work: &Workload, budget: f64, out: &mut [f64], runs: usize) -> Result<(Took, f64, Outcome)> {
    let columns = Columns { weight: Some(&work.weight), ..Columns::new(&work.rate) };
    // A day stands for a second here: the unit does not matter.
    let terms = Terms::new(Price::for_budget(budget, Unit::Second)?);
    let (mut ours, mut bound) = (Took::FOREVER, f64::INFINITY);
    let mut outcome = None;
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        let pass = out.par_chunks_mut(1 << 20).zip(work.rate.par_chunks(1 << 20).zip(work.weight.par_chunks(1 << 20)));
        pass.for_each(|(out, (rate, weight))| {
            out.iter_mut().zip(rate.iter().zip(weight)).for_each(|(out, (rate, weight))| *out = rate + weight);
        });
        bound = bound.min(start.elapsed().as_secs_f64());
        let (took, planned) = Took::by(|| plan(columns, terms, &Limits::default(), out));
        outcome = Some(planned?);
        ours = ours.best(took);
    }
    Ok((ours, bound, outcome.context("no run")?))
}

/// Seconds that the rival takes for the first pages, and its price. It gets a virtual environment of its own.
fn rival(work: &Workload, pages: usize) -> Result<(f64, f64)> {
    let root = crate::root();
    let folder = root.join("target/bench");
    std::fs::create_dir_all(&folder)?;
    let python = folder.join("venv/bin/python");
    if !python.exists() {
        command(Command::new("python3").args(["-m", "venv"]).arg(folder.join("venv")))?;
        command(Command::new(&python).args(["-m", "pip", "install", "--quiet", "numpy", "scipy"]))?;
    }
    let pages = pages.min(work.rate.len());
    let (rates, weights) = (folder.join("rates.f64"), folder.join("weights.f64"));
    write_column(&rates, &work.rate[..pages])?;
    write_column(&weights, &work.weight[..pages])?;
    let budget = BUDGET_PER_PAGE * pages as f64;
    let script = root.join("bench/rivals/plan.py");
    let said = command(Command::new(&python).arg(script).arg(rates).arg(weights).arg(budget.to_string()))?;
    let mut numbers = said.split_whitespace().map(str::parse);
    let (Some(Ok(seconds)), Some(Ok(price))) = (numbers.next(), numbers.next()) else {
        bail!("the rival said `{said}`")
    };
    Ok((seconds, price))
}

fn write_column(path: &Path, column: &[f64]) -> Result<()> {
    let bytes: Vec<u8> = column.iter().flat_map(|x| x.to_le_bytes()).collect();
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

pub(crate) fn command(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
