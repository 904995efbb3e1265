//! `cargo xtask bench files`: pages per second of `everfresh plan` from Parquet to Parquet, its peak of memory, and what the
//! Parquet library alone takes for as many rows, and the disk alone for the same bytes.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::Encoding;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use rayon::prelude::*;

use crate::bench::{BUDGET_PER_PAGE, Options, SEED, Took, pages_of};

/// Rows of a row group.
const GROUP: usize = 1 << 20;

/// Measures and returns what to print.
pub fn run(options: Options) -> Result<String> {
    let folder = crate::root().join("target/bench");
    std::fs::create_dir_all(&folder)?;
    measure(&program()?, &folder, options)
}

/// The same with a program that is built, and tables in a folder.
fn measure(program: &Path, folder: &Path, options: Options) -> Result<String> {
    let (input, output) = (folder.join("pages.parquet"), folder.join("plan.parquet"));
    write_input(&input, options.pages)?;
    let mut took = Took::FOREVER;
    let (mut peak, mut said) = (0, String::new());
    for _ in 0..options.runs.max(1) {
        let (once, done) = Took::by(|| plan(program, &input, &output, options.pages));
        took = took.best(once);
        (peak, said) = done?;
    }
    let seconds = took.seconds;
    let size = |path: &Path| std::fs::metadata(path).map(|meta| meta.len());
    let (read, written) = (size(&input)?, size(&output)?);
    let library = library_bound(&input, &output, &folder.join("bound.parquet"), options.pages)?;
    let bound = disk_bound(&input, written, &output)?;
    std::fs::remove_file(&input)?;
    let mut text =
        format!("planning {} pages from Parquet to Parquet (seed {SEED}), best of {}\n\n", options.pages, options.runs);
    let _ = writeln!(text, "read {:.1} GB, written {:.1} GB", read as f64 / 1e9, written as f64 / 1e9);
    let _ = writeln!(text, "time                      {seconds:.1} s");
    let _ = writeln!(text, "million pages/s           {:.1}", options.pages as f64 / seconds / 1e6);
    let per_page = took.processor / options.pages as f64 * 1e9;
    let _ = writeln!(text, "of a core                 {per_page:.0} ns per page");
    let _ = writeln!(
        text,
        "the Parquet library alone {library:.1} s for decoding the input twice and encoding as many rows"
    );
    let _ = writeln!(text, "share of that bound       {:.2}", library / seconds);
    let _ = writeln!(text, "the disk alone            {bound:.1} s for reading and writing the same bytes, synced");
    let _ = writeln!(text, "share of that bound       {:.2}", bound / seconds);
    let _ = writeln!(text, "peak of memory            {:.2} GiB", peak as f64 / f64::from(1 << 20));
    let _ = writeln!(text, "\nwhat it said:\n{said}");
    Ok(text)
}

/// The program, built as users build it.
pub(crate) fn program() -> Result<std::path::PathBuf> {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--package", "everfresh-cli"])
        .current_dir(crate::root())
        .status()?;
    if !built.success() {
        bail!("cannot build the program");
    }
    Ok(crate::root().join("target/release/everfresh"))
}

/// The canonical pages, with a number for a name.
fn write_input(path: &Path, pages: usize) -> Result<()> {
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_column_encoding("page".into(), Encoding::DELTA_BINARY_PACKED)
        .set_max_row_group_row_count(Some(GROUP))
        .build();
    let mut writer = None;
    for start in (0..pages).step_by(GROUP) {
        let end = pages.min(start + GROUP);
        let (rate, weight) = pages_of(start / GROUP, end - start)?;
        let numbers = Int64Array::from_iter_values((start..end).map(|page| i64::try_from(page).unwrap_or(i64::MAX)));
        let batch = RecordBatch::try_from_iter([
            ("page", Arc::new(numbers) as ArrayRef),
            ("rate", Arc::new(Float64Array::from(rate))),
            ("weight", Arc::new(Float64Array::from(weight))),
        ])?;
        let writer = match &mut writer {
            Some(writer) => writer,
            none => {
                let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
                none.insert(ArrowWriter::try_new(file, batch.schema(), Some(properties.clone()))?)
            }
        };
        writer.write(&batch)?;
    }
    writer.context("no pages")?.close()?;
    Ok(())
}

/// The peak of memory in KiB and the words of one run.
fn plan(program: &Path, input: &Path, output: &Path, pages: usize) -> Result<(u64, String)> {
    let mut child = Command::new(program)
        .arg("plan")
        .arg(input)
        .arg("--budget")
        .arg(format!("{}/day", BUDGET_PER_PAGE * pages as f64))
        .arg("--out")
        .arg(output)
        .stdout(Stdio::piped())
        .spawn()?;
    let peak = watch(&mut child)?;
    let done = child.wait_with_output()?;
    if !done.status.success() {
        bail!("the program failed");
    }
    Ok((peak, String::from_utf8(done.stdout)?))
}

/// Waits for a process and returns the most memory that it had, in KiB, as Linux tells it.
pub(crate) fn watch(child: &mut Child) -> Result<u64> {
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        peak = peak.max(peak_of(child));
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(peak)
}

/// The most memory that a process had so far, in KiB; none if it has just ended.
pub(crate) fn peak_of(child: &Child) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()).and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// Seconds that the Parquet library takes, on all cores, to decode the input as often as the program does and to encode and write
/// as many rows as the result has, with nothing computed in between: rows of the result, again and again. The result is removed.
fn library_bound(input: &Path, output: &Path, copy: &Path, pages: usize) -> Result<f64> {
    let rows = reader(output, 0)?.next().context("the result is empty")??;
    // There may be no room for two results.
    std::fs::remove_file(output)?;
    let groups = parquet_groups(input)?;
    let start = Instant::now();
    for _ in 0..2 {
        (0..groups).into_par_iter().try_for_each(|group| {
            reader(input, group)?.try_for_each(|batch| batch.map(drop)).map_err(anyhow::Error::from)
        })?;
    }
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_column_encoding("page".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_dictionary_enabled("reason".into(), true)
        .set_column_dictionary_enabled("price_days".into(), true)
        .build();
    let (mut writer, factory) =
        ArrowWriter::try_new(File::create(copy)?, rows.schema(), Some(properties))?.into_serialized_writer()?;
    let copies = pages.div_ceil(rows.num_rows());
    for some in (0..copies).collect::<Vec<_>>().chunks(4) {
        let encoded = some.par_iter().map(|_| encoded(&factory, &rows)).collect::<Result<Vec<_>>>()?;
        for chunks in encoded {
            let mut group = writer.next_row_group()?;
            chunks.into_iter().try_for_each(|chunk| chunk.append_to_row_group(&mut group))?;
            group.close()?;
        }
    }
    writer.into_inner()?.sync_all()?;
    let seconds = start.elapsed().as_secs_f64();
    std::fs::remove_file(copy)?;
    Ok(seconds)
}

fn parquet_groups(path: &Path) -> Result<usize> {
    Ok(ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?.metadata().num_row_groups())
}

/// The rows of a row group.
fn reader(path: &Path, group: usize) -> Result<ParquetRecordBatchReader> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
    Ok(builder.with_row_groups(vec![group]).with_batch_size(GROUP).build()?)
}

/// The columns of a row group.
fn encoded(factory: &ArrowRowGroupWriterFactory, rows: &RecordBatch) -> Result<Vec<ArrowColumnChunk>> {
    let mut writers = factory.create_column_writers(0)?.into_iter();
    let mut chunks = Vec::new();
    for (field, array) in rows.schema().fields().iter().zip(rows.columns()) {
        for leaf in compute_leaves(field, array)? {
            let mut writer = writers.next().context("a column too many")?;
            writer.write(&leaf)?;
            chunks.push(writer.close()?);
        }
    }
    Ok(chunks)
}

/// Seconds that reading a file and writing so many bytes take, without anything in between.
fn disk_bound(input: &Path, mut left: u64, copy: &Path) -> Result<f64> {
    let start = Instant::now();
    io::copy(&mut File::open(input)?, &mut io::sink())?;
    let mut file = File::create(copy)?;
    let block = vec![0x5au8; 1 << 20];
    while left > 0 {
        let n = left.min(block.len() as u64);
        file.write_all(&block[..usize::try_from(n)?])?;
        left -= n;
    }
    file.sync_all()?;
    let seconds = start.elapsed().as_secs_f64();
    std::fs::remove_file(copy)?;
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole of it on a few pages, with the program as tests have it: the budget is spent, every line has its number and nothing is left.
    #[test]
    fn a_tiny_table_is_planned_and_measured() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { pages: 3000, rival_pages: 0, runs: 1, hosts: 0 };
        let text = measure(&crate::soak::program().unwrap(), folder.path(), options).unwrap();
        assert!(text.starts_with("planning 3000 pages from Parquet to Parquet"), "{text}");
        assert!(text.contains("3000 pages, 300 visits/day, fixed order"), "{text}");
        for line in ["time", "million pages/s", "share of that bound", "peak of memory"] {
            let numbers = text.lines().filter_map(|text| text.strip_prefix(line));
            let number = numbers.map(|rest| rest.split_whitespace().next().unwrap().parse::<f64>().unwrap());
            assert!(number.clone().count() > 0 && number.clone().all(|number| number >= 0.0), "{line}: {text}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    /// The bound runs on a table of a few pages, which stand for the result too.
    #[test]
    fn the_library_alone_is_measured() {
        let folder = crate::root().join("target/bench");
        std::fs::create_dir_all(&folder).unwrap();
        let (input, copy) = (folder.join("tiny.parquet"), folder.join("tiny-copy.parquet"));
        let result = folder.join("tiny-result.parquet");
        write_input(&input, 3000).unwrap();
        write_input(&result, 3000).unwrap();
        assert!(library_bound(&input, &result, &copy, 7000).unwrap() > 0.0);
        assert!(!copy.exists() && !result.exists());
        std::fs::remove_file(input).unwrap();
    }
}
