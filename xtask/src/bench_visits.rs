//! The second half of `cargo xtask bench estimate`: visits per second of `everfresh estimate` from Parquet, beside decoding the same
//! columns and nothing else.
//!
//! Pages of gamma-distributed rates on hosts of 100, visited 100 times each, hours to days apart; a digest of 32 digits that
//! changes when the page does. One file has its rows by page, one by time. On two threads.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use rand::prelude::*;
use rand_distr::{Distribution, Gamma};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::bench_files::{program, watch};

/// Visits of a page, pages of a host, and rows of a row group.
const VISITS: usize = 100;
const PAGES_PER_HOST: usize = 100;
const GROUP: usize = 1 << 20;
const THREADS: usize = 2;
const START: i64 = 1_700_000_000;

/// Measures and returns what to print, for `pages` pages.
pub fn run(pages: usize, runs: usize, seed: u64) -> Result<String> {
    let folder = crate::root().join("target/bench");
    std::fs::create_dir_all(&folder)?;
    let (input, output) = (folder.join("visits.parquet"), folder.join("estimates.parquet"));
    let program = program()?;
    let visits = pages * VISITS;
    let mut text = format!("\n{visits} visits of {pages} pages from Parquet, {THREADS} threads, best of {runs}\n\n");
    let _ = writeln!(text, "rows      estimate: million/s  ns of processor   decoding: million/s  ns   ratio   GiB");
    for order in [Order::ByPage, Order::ByTime] {
        write_visits(&input, pages, seed, order)?;
        let (mut best, mut bound, mut memory) = (Cost::WORST, Cost::WORST, 0);
        for _ in 0..runs.max(1) {
            bound = bound.min(decode(&input)?);
            let (cost, peak) = estimate(&program, &input, &output)?;
            (best, memory) = (best.min(cost), memory.max(peak));
        }
        let speed = |cost: Cost| visits as f64 / cost.seconds / 1e6;
        let nanoseconds = |cost: Cost| cost.processor * 1e9 / visits as f64;
        let _ = writeln!(
            text,
            "{:<8} {:>20.1} {:>16.0} {:>21.1} {:>3.0} {:>7.2} {:>5.2}",
            order.name(),
            speed(best),
            nanoseconds(best),
            speed(bound),
            nanoseconds(bound),
            bound.processor / best.processor,
            memory as f64 / f64::from(1 << 20)
        );
    }
    std::fs::remove_file(&output)?;
    std::fs::remove_file(&input)?;
    Ok(text)
}

/// What a run took: seconds on the clock, and of the processors, which others that use the machine slow down less.
#[derive(Clone, Copy)]
struct Cost {
    seconds: f64,
    processor: f64,
}

impl Cost {
    const WORST: Cost = Cost { seconds: f64::INFINITY, processor: f64::INFINITY };

    fn min(self, other: Cost) -> Cost {
        Cost { seconds: self.seconds.min(other.seconds), processor: self.processor.min(other.processor) }
    }

    /// Of some work of this process, or of a child that it waits for.
    fn of<T>(work: impl FnOnce() -> Result<T>) -> Result<(Cost, T)> {
        let (start, before) = (Instant::now(), processor_time()?);
        let result = work()?;
        Ok((Cost { seconds: start.elapsed().as_secs_f64(), processor: processor_time()? - before }, result))
    }
}

/// Seconds of the processors that this process and its children took, as Linux tells it: in hundredths, behind the name.
fn processor_time() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = text.rsplit_once(')').context("a line of figures")?;
    let ticks =
        fields.split_whitespace().skip(11).take(4).map(|field| Ok(field.parse::<f64>()?)).sum::<Result<f64>>()?;
    Ok(ticks / 100.0)
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    ByPage,
    ByTime,
}

impl Order {
    const fn name(self) -> &'static str {
        match self {
            Order::ByPage => "by page",
            Order::ByTime => "by time",
        }
    }
}

/// A page: where it is, and what its last visit saw and when.
struct Page {
    rate: f64,
    time: i64,
    version: u64,
}

impl Page {
    /// The next visit: hours to days later.
    fn visit(&mut self, rng: &mut impl Rng) -> (i64, u64) {
        let elapsed: i64 = rng.random_range(3_600..200_000);
        if rng.random::<f64>() < -f64::exp_m1(-self.rate * elapsed as f64 / 86_400.0) {
            self.version = rng.random();
        }
        self.time += elapsed;
        (self.time, self.version)
    }
}

fn write_visits(path: &Path, pages: usize, seed: u64, order: Order) -> Result<()> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let rates = Gamma::new(0.3, 1.0)?;
    let page = |_| Page { rate: rates.sample(&mut rng), time: START, version: 0 };
    let mut pages: Vec<Page> = (0..pages).map(page).collect();
    let mut file = VisitsFile::create(path)?;
    let count = pages.len();
    for i in 0..count * VISITS {
        let number = if order == Order::ByPage { i / VISITS } else { i % count };
        let (time, version) = pages[number].visit(&mut rng);
        file.push(number, time, version)?;
    }
    file.finish()
}

/// A file of visits being written.
struct VisitsFile {
    writer: ArrowWriter<File>,
    rows: (Vec<String>, Vec<i64>, Vec<String>),
}

fn batch((pages, times, digests): (Vec<String>, Vec<i64>, Vec<String>)) -> Result<RecordBatch> {
    Ok(RecordBatch::try_from_iter([
        ("page", Arc::new(StringArray::from(pages)) as ArrayRef),
        ("time", Arc::new(Int64Array::from(times))),
        ("digest", Arc::new(StringArray::from(digests))),
    ])?)
}

impl VisitsFile {
    fn create(path: &Path) -> Result<VisitsFile> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP))
            .build();
        let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let writer = ArrowWriter::try_new(file, batch(<_>::default())?.schema(), Some(properties))?;
        Ok(VisitsFile { writer, rows: <_>::default() })
    }

    fn push(&mut self, page: usize, time: i64, version: u64) -> Result<()> {
        self.rows.0.push(format!("https://w{}.example.org/{page}", page / PAGES_PER_HOST));
        self.rows.1.push(time);
        self.rows
            .2
            .push(format!("{:032x}", u128::from(version).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)));
        if self.rows.0.len() == GROUP / 16 { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        Ok(self.writer.write(&batch(std::mem::take(&mut self.rows))?)?)
    }

    fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.writer.close()?;
        Ok(())
    }
}

/// What one run took, and its peak of memory in KiB.
fn estimate(program: &Path, input: &Path, output: &Path) -> Result<(Cost, u64)> {
    Cost::of(|| {
        let mut child = Command::new(program)
            .env("RAYON_NUM_THREADS", THREADS.to_string())
            .args(["estimate".as_ref(), input, "--out".as_ref(), output])
            .stderr(Stdio::null())
            .spawn()?;
        let peak = watch(&mut child)?;
        if !child.wait()?.success() {
            bail!("the program failed");
        }
        Ok(peak)
    })
}

/// What decoding the same columns takes, row groups in parallel.
fn decode(input: &Path) -> Result<Cost> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build()?;
    let (cost, rows) = Cost::of(|| {
        let metadata = ArrowReaderMetadata::load(&File::open(input)?, ArrowReaderOptions::new())?;
        let rows = |group: usize| -> Result<usize> {
            let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(File::open(input)?, metadata.clone());
            let reader = reader.with_row_groups(vec![group]).with_batch_size(1 << 16).build()?;
            reader.map(|batch| Ok(batch?.num_rows())).sum()
        };
        let groups = metadata.metadata().num_row_groups();
        pool.install(|| (0..groups).into_par_iter().map(rows).sum::<Result<usize>>())
    })?;
    if rows == 0 {
        bail!("nothing was read");
    }
    Ok(cost)
}
