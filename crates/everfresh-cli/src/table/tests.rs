//! Whole tables, written to files and read back, in every format.

use std::io::Write;
use std::path::{Path, PathBuf};

use arrow_array::types::{Decimal128Type, Int32Type};
use arrow_array::{
    BinaryArray, DictionaryArray, FixedSizeBinaryArray, Float32Array, Float64Array, Int64Array, PrimitiveArray,
    StringArray, StringViewArray, StructArray,
};
use arrow_schema::{Field, Schema};
use everfresh::Unit;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;
use tempfile::TempDir;

use super::*;

const DAY: f64 = 86_400.0;

/// A page, its rate per day and its weight.
type Row = (String, f64, f64);

fn rows(count: usize) -> Vec<Row> {
    (0..count)
        .map(|row| (format!("https://a.example/{row}"), 0.5 + (row % 97) as f64, 1.0 + (row % 5) as f64))
        .collect()
}

fn columns() -> Columns {
    let numbers = vec![
        Wanted::required("rate", Quantity::Rate { may_be_absent: false }),
        Wanted::optional(None, "weight", Quantity::Weight),
        Wanted::optional(None, "max_period", Quantity::Period { absent: f64::INFINITY }),
    ];
    Columns { key: Some("page".to_owned()), host: None, numbers, texts: Vec::new(), unit: Unit::Day }
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn as_batch(rows: &[Row]) -> RecordBatch {
    batch(vec![
        ("page", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.0)))),
        ("rate", Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.1)))),
        ("weight", Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.2)))),
    ])
}

fn parquet(path: &Path, batch: &RecordBatch, per_group: usize, compression: Compression) {
    let properties =
        WriterProperties::builder().set_max_row_group_row_count(Some(per_group)).set_compression(compression).build();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

fn write(path: &Path, batch: &RecordBatch) {
    let mut out = OutTable::create(path, &batch.schema()).unwrap();
    let encoder = out.encoder();
    for start in (0..batch.num_rows()).step_by(1000) {
        let piece = batch.slice(start, 1000.min(batch.num_rows() - start));
        out.append(encoder.encode(&piece).unwrap()).unwrap();
    }
    assert_eq!(out.finish().unwrap(), batch.num_rows() as u64);
}

fn open(path: &Path) -> Result<Input> {
    Input::open(&[path.to_owned()], columns())
}

fn read(input: &Input) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut last = Done::default();
    input.scan(true, Ok, |batch, done| {
        assert_eq!(done.rows, last.rows + batch.rows as u64);
        assert!(done.bytes >= last.bytes);
        last = done;
        let keys = cells::cells(batch.key.as_ref().unwrap());
        for row in 0..batch.rows {
            let number = |column: usize| batch.numbers[column].as_ref().map_or(1.0, |values| values[row]);
            rows.push((cells::text(&keys, row), number(0) * DAY, number(1)));
        }
        Ok(())
    })?;
    Ok(rows)
}

#[track_caller]
fn check_rows(input: &Input, expected: &[Row]) {
    let found = read(input).unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!((&found.0, found.2), (&expected.0, expected.2));
        assert!((found.1 - expected.1).abs() < 1e-12 * expected.1, "{found:?} {expected:?}");
    }
    if let Some(known) = input.known_rows() {
        assert_eq!(known, expected.len() as u64);
    }
}

#[track_caller]
fn check_error(path: &Path, expected: &str) {
    let error = open(path).and_then(|input| read(&input)).unwrap_err().to_string();
    let name = path.display().to_string();
    let error = error.replace(&name, path.file_name().unwrap().to_str().unwrap());
    assert!(error.starts_with(expected), "{error}\n{expected}");
}

struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn left(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn what_is_written_is_read_in_every_format() {
    let place = Place::new();
    let rows = rows(10_000);
    let batch = as_batch(&rows);
    let texts = ["a.csv", "a.tsv", "a.csv.gz", "a.csv.zst", "a.tsv.zst", "a.TSV.GZ"];
    for name in texts.into_iter().chain(["a.parquet", "a.arrow", "a.arrows", "a.ipc", "a.feather"]) {
        let path = place.path(name);
        write(&path, &batch);
        let input = open(&path).unwrap();
        check_rows(&input, &rows);
        // A second pass, and one without the names.
        check_rows(&input, &rows);
        let mut sum = 0.0;
        input
            .scan(
                false,
                |batch| {
                    assert!(batch.key.is_none());
                    Ok(batch.numbers[1].as_ref().unwrap().iter().sum::<f64>())
                },
                |part, _| {
                    sum += part;
                    Ok(())
                },
            )
            .unwrap();
        assert_eq!(sum, rows.iter().map(|row| row.2).sum::<f64>(), "{name}");
        assert!(input.has(0) && input.has(1) && !input.has(2));
        let sample = input.sample().unwrap();
        let (sample, share) = sample;
        assert!(share > 0.0 && share <= 1.0, "{share}");
        assert!(sample.iter().all(|batch| batch.rows > 0 && batch.key.is_none()) && !sample.is_empty());
    }
    assert_eq!(place.left().len(), 11, "nothing else stays: {:?}", place.left());
}

#[test]
fn json_is_an_array_with_an_object_per_line() {
    let place = Place::new();
    let batch = batch(vec![
        ("page", Arc::new(StringArray::from(vec!["a\"b", "c"]))),
        ("n", Arc::new(Int64Array::from(vec![Some(1), None]))),
        ("x", Arc::new(Float64Array::from(vec![0.1, f64::INFINITY]))),
    ]);
    write(&place.path("a.json"), &batch);
    let text = std::fs::read_to_string(place.path("a.json")).unwrap();
    assert_eq!(text, "[\n{\"page\":\"a\\\"b\",\"n\":1,\"x\":0.1},\n{\"page\":\"c\",\"n\":null,\"x\":null}\n]\n");
    write(&place.path("a.jsonl"), &batch);
    let text = std::fs::read_to_string(place.path("a.jsonl")).unwrap();
    assert_eq!(text, "{\"page\":\"a\\\"b\",\"n\":1,\"x\":0.1}\n{\"page\":\"c\",\"n\":null,\"x\":null}\n");
    write(&place.path("a.csv"), &batch);
    assert_eq!(std::fs::read_to_string(place.path("a.csv")).unwrap(), "page,n,x\n\"a\"\"b\",1,0.1\nc,,\n");
    // Batches are joined to one array.
    let many = as_batch(&rows(2500));
    write(&place.path("b.json"), &many);
    let parsed: serde_json::Value = serde_json::from_slice(&std::fs::read(place.path("b.json")).unwrap()).unwrap();
    assert_eq!(parsed.as_array().unwrap().len(), 2500);
    write(&place.path("empty.json"), &many.slice(0, 0));
    assert_eq!(std::fs::read_to_string(place.path("empty.json")).unwrap(), "[\n]\n");
}

#[test]
fn parquet_is_read_whatever_packs_it() {
    let place = Place::new();
    let rows = rows(3000);
    let zstd = Compression::ZSTD(ZstdLevel::default());
    for (number, compression) in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        zstd,
        Compression::LZ4_RAW,
        Compression::GZIP(GzipLevel::default()),
    ]
    .into_iter()
    .enumerate()
    {
        let path = place.path(&format!("{number}.parquet"));
        parquet(&path, &as_batch(&rows), 700, compression);
        check_rows(&open(&path).unwrap(), &rows);
    }
}

#[test]
fn large_row_groups_are_read_in_pieces() {
    let place = Place::new();
    let rows = rows((1 << 20) + 300_000);
    let path = place.path("large.parquet");
    parquet(&path, &as_batch(&rows), usize::MAX, Compression::SNAPPY);
    check_rows(&open(&path).unwrap(), &rows);
}

#[test]
fn several_files_and_directories_are_one_table() {
    let place = Place::new();
    let rows = rows(300);
    std::fs::create_dir_all(place.path("d/sub")).unwrap();
    write(&place.path("d/a.parquet"), &as_batch(&rows[..100]));
    write(&place.path("d/b.csv.gz"), &as_batch(&rows[100..150]));
    write(&place.path("d/sub/c.arrow"), &as_batch(&rows[150..250]));
    write(&place.path("z.tsv"), &as_batch(&rows[250..]));
    for ignored in ["d/_SUCCESS.csv", "d/.hidden.csv", "d/notes.txt"] {
        std::fs::write(place.path(ignored), "nothing").unwrap();
    }
    let input = Input::open(&[place.path("d"), place.path("z.tsv")], columns()).unwrap();
    check_rows(&input, &rows);
    assert_eq!(input.known_rows(), None);
    assert!(input.size() > 0);
    std::fs::write(place.path("other.csv"), "page,rate\nx,1\n").unwrap();
    let error = Input::open(&[place.path("z.tsv"), place.path("other.csv")], columns()).err().unwrap().to_string();
    assert!(error.contains("other.csv: there is no column `weight`, but `"), "{error}");
    let numbered = batch(vec![
        ("page", Arc::new(Int64Array::from(vec![1]))),
        ("rate", Arc::new(Int64Array::from(vec![2]))),
        ("weight", Arc::new(Float32Array::from(vec![3.0]))),
    ]);
    write(&place.path("n.parquet"), &numbered);
    let error = Input::open(&[place.path("z.tsv"), place.path("n.parquet")], columns()).err().unwrap().to_string();
    assert!(error.contains("n.parquet: column `page` is Int64, but in `"), "{error}");
    std::fs::create_dir(place.path("none")).unwrap();
    check_error(&place.path("none"), "`none`: there is no table in this directory");
}

#[test]
fn text_is_cut_into_blocks_and_keeps_its_order_and_lines() {
    let place = Place::new();
    let count = 400_000;
    let mut text = "page,rate\r\n".to_owned();
    for row in 0..count {
        text += &format!("\"p\n{row}\",{}\r\n", row % 50);
    }
    let path = place.path("a.csv");
    std::fs::write(&path, &text).unwrap();
    let found = read(&open(&path).unwrap()).unwrap();
    assert!(found.iter().enumerate().all(|(row, found)| found.0 == format!("p\n{row}")));
    assert_eq!(found.len(), count);
    text += "bad,x\r\n";
    std::fs::write(&path, &text).unwrap();
    check_error(&path, "a.csv:800002: column `rate`: cannot read `x` as a rate");
    let mut plain = "page\trate\n".to_owned();
    (0..count).for_each(|row| plain += &format!("p{row}\t{}\n", row % 50));
    plain += "p\t1\t2\n";
    std::fs::write(&path, &plain).unwrap();
    check_error(&path, "a.csv:400002: expected 2 fields, got 3");
}

#[test]
fn every_type_of_number_is_read() {
    let place = Place::new();
    let path = place.path("a.parquet");
    let expected = vec![("a".to_owned(), 2.0, 1.0), ("b".to_owned(), 3.0, 1.0)];
    let decimal = PrimitiveArray::<Decimal128Type>::from(vec![200, 300]).with_precision_and_scale(10, 2).unwrap();
    let dictionary: DictionaryArray<Int32Type> = vec!["14/week", "3/day"].into_iter().collect();
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![2, 3])),
        Arc::new(arrow_array::UInt8Array::from(vec![2, 3])),
        Arc::new(Float32Array::from(vec![2.0, 3.0])),
        Arc::new(decimal),
        Arc::new(StringArray::from(vec!["2", " 3/day "])),
        Arc::new(StringViewArray::from(vec!["2/day", "3"])),
        Arc::new(dictionary),
    ];
    for rate in arrays {
        let kind = rate.data_type().clone();
        let table = batch(vec![("Page", Arc::new(StringArray::from(vec!["a", "b"]))), ("RATE", rate)]);
        parquet(&path, &table, 100, Compression::UNCOMPRESSED);
        check_rows(&open(&path).unwrap(), &expected);
        if !matches!(kind, DataType::Decimal128(..)) {
            let path = place.path("a.arrow");
            write(&path, &table);
            check_rows(&open(&path).unwrap(), &expected);
        }
    }
}

#[test]
fn keys_come_through_in_their_type() {
    let place = Place::new();
    let uuid = FixedSizeBinaryArray::try_from_iter([[7_u8; 16], [0xAB; 16]].into_iter()).unwrap();
    let dictionary: DictionaryArray<Int32Type> = vec!["x", "y"].into_iter().collect();
    let keys: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec!["x", "y"])),
        Arc::new(arrow_array::LargeStringArray::from(vec!["x", "y"])),
        Arc::new(StringViewArray::from(vec!["x", "y"])),
        Arc::new(Int64Array::from(vec![-1, 7])),
        Arc::new(arrow_array::UInt32Array::from(vec![1, 7])),
        Arc::new(BinaryArray::from_vec(vec![b"\xFF", b"y"])),
        Arc::new(uuid),
        Arc::new(dictionary),
    ];
    for key in keys {
        let table = batch(vec![("page", key), ("rate", Arc::new(Float64Array::from(vec![1.0, 2.0])))]);
        for name in ["a.parquet", "a.arrows", "a.arrow"] {
            let path = place.path(name);
            write(&path, &table);
            let input = open(&path).unwrap();
            let mut found = Vec::new();
            input
                .scan(
                    true,
                    |batch| Ok(batch.key.unwrap()),
                    |key, _| {
                        found.push(key);
                        Ok(())
                    },
                )
                .unwrap();
            if name == "a.arrow" && matches!(table.column(0).data_type(), DataType::Dictionary(..)) {
                assert_eq!(input.key_type(), DataType::Utf8, "a file has no dictionaries");
                continue;
            }
            assert_eq!(input.key_type(), *table.column(0).data_type());
            assert_eq!(found[0].as_ref(), table.column(0).as_ref());
        }
        // As text, whatever it is.
        write(&place.path("a.csv"), &table);
        assert_eq!(read(&open(&place.path("a.csv")).unwrap()).unwrap().len(), 2);
    }
}

#[test]
fn empty_values_are_absent_periods_or_errors() {
    let place = Place::new();
    let path = place.path("a.parquet");
    let table = |page: Vec<Option<&str>>, rate: Vec<Option<f64>>, period: Vec<Option<f64>>| {
        batch(vec![
            ("page", Arc::new(StringArray::from(page)) as ArrayRef),
            ("rate", Arc::new(Float64Array::from(rate))),
            ("max_period", Arc::new(Float64Array::from(period))),
        ])
    };
    let write = |table: &RecordBatch| parquet(&path, table, 2, Compression::UNCOMPRESSED);
    let (names, ones) = (vec![Some("a"), Some("b"), Some("c")], vec![Some(1.0); 3]);
    write(&table(names.clone(), ones.clone(), vec![Some(2.0), None, Some(f64::INFINITY)]));
    let mut periods = Vec::new();
    let collect = |batch: Batch, _: Done| {
        periods.extend(batch.numbers[2].clone().unwrap());
        Ok(())
    };
    open(&path).unwrap().scan(false, Ok, collect).unwrap();
    assert_eq!(periods, [2.0 * DAY, f64::INFINITY, f64::INFINITY]);
    write(&table(names.clone(), vec![Some(1.0), None, Some(1.0)], ones.clone()));
    check_error(&path, "a.parquet: row group 0, row 1: column `rate`: the value is empty");
    write(&table(vec![Some("a"), Some("b"), None], ones.clone(), ones.clone()));
    check_error(&path, "a.parquet: row group 1, row 0: column `page`: a page must have a name, got nothing");
    write(&table(vec![Some("a"), Some(""), Some("c")], ones.clone(), ones.clone()));
    check_error(&path, "a.parquet: row group 0, row 1: column `page`: a page must have a name, got nothing");
    write(&table(names.clone(), ones.clone(), vec![Some(1.0), Some(1.0), Some(-1.0)]));
    check_error(&path, "a.parquet: row group 1, row 0: column `max_period`: period must be at least 0, got -1");
}

#[test]
fn bad_values_are_named_by_their_place() {
    let place = Place::new();
    let mut rows = rows(5000);
    rows[4321].1 = f64::NAN;
    let path = place.path("a.parquet");
    parquet(&path, &as_batch(&rows), 1000, Compression::SNAPPY);
    check_error(&path, "a.parquet: row group 4, row 321: column `rate`: rate must be at least 0 and finite, got NaN");
    for name in ["a.arrow", "a.arrows"] {
        let path = place.path(name);
        write(&path, &as_batch(&rows));
        let said = "record batch 4, row 321: column `rate`: rate must be at least 0 and finite, got NaN";
        check_error(&path, &format!("{name}: {said}"));
    }
    rows[4321].1 = 1.0;
    rows[7].2 = 1e30;
    parquet(&path, &as_batch(&rows), 1000, Compression::SNAPPY);
    check_error(
        &path,
        "a.parquet: row group 0, row 7: column `weight`: weight must be 0 or between 1e-20 and 1e20, got 1e30",
    );
}

#[test]
fn columns_that_do_not_fit_are_refused() {
    let place = Place::new();
    let path = place.path("a.parquet");
    let one: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    parquet(&path, &batch(vec![("url", Arc::clone(&one)), ("rate", Arc::clone(&one))]), 9, Compression::SNAPPY);
    check_error(&path, "a.parquet: there is no column `page`: the columns are `url`, `rate`");
    let inner = StructArray::from(vec![(Arc::new(Field::new("x", DataType::Int64, false)), Arc::clone(&one))]);
    let nested = batch(vec![("page", Arc::clone(&one)), ("rate", Arc::new(inner))]);
    parquet(&path, &nested, 9, Compression::SNAPPY);
    check_error(&path, "a.parquet: column `rate` is Struct(");
    let twice = Schema::new(vec![
        Field::new("page", DataType::Int64, false),
        Field::new("rate", DataType::Int64, false),
        Field::new("Rate", DataType::Int64, false),
    ]);
    let twice = RecordBatch::try_new(Arc::new(twice), vec![Arc::clone(&one), Arc::clone(&one), one]).unwrap();
    parquet(&path, &twice, 9, Compression::SNAPPY);
    check_error(&path, "a.parquet: column `rate` is there twice, as column 2 and 3");
    write(&path, &as_batch(&[]));
    check_error(&path, "a.parquet: the table is empty: it has no pages");
}

/// Every prefix of a file, and every file with some bytes changed, is an error or a table, never a panic.
#[test]
fn damaged_files_are_errors() {
    let place = Place::new();
    let rows = rows(3000);
    for name in ["a.parquet", "a.arrow", "a.arrows", "a.csv.gz", "a.csv.zst"] {
        let path = place.path(name);
        write(&path, &as_batch(&rows));
        let whole = std::fs::read(&path).unwrap();
        for part in 1..20 {
            std::fs::write(&path, &whole[..whole.len() * part / 20]).unwrap();
            let read = open(&path).and_then(|input| read(&input));
            match read {
                Err(error) => assert!(error.to_string().contains(name), "{error}"),
                // A stream may end at any batch, a text in any record, a zstd frame at its end.
                Ok(found) => {
                    assert!(found.len() < rows.len() && name != "a.parquet" && name != "a.arrow", "{name} {part}");
                }
            }
        }
        for seed in 0..150_usize {
            let mut damaged = whole.clone();
            for step in 0..4 {
                let at = (seed * 7919 + step * 104_729 + seed * seed * 31) % damaged.len();
                // Half of the damage is where the structure is.
                let at = if seed % 2 == 0 { damaged.len() - 1 - at % 400.min(damaged.len()) } else { at };
                damaged[at] ^= 1 << (seed % 8);
            }
            std::fs::write(&path, &damaged).unwrap();
            if let Err(error) = open(&path).and_then(|input| read(&input)) {
                assert!(error.to_string().contains(name), "{error}");
            }
        }
    }
}

#[test]
fn an_unfinished_table_leaves_nothing() {
    let place = Place::new();
    for name in ["a.csv", "a.parquet", "a.arrow", "a.json.gz"] {
        let batch = as_batch(&rows(10));
        let mut out = OutTable::create(&place.path(name), &batch.schema()).unwrap();
        let encoded = out.encoder().encode(&batch).unwrap();
        out.append(encoded).unwrap();
        assert_eq!(place.left().len(), 1, "only the hidden file is there: {:?}", place.left());
        drop(out);
        assert!(place.left().is_empty());
    }
    let error = OutTable::create(&place.path("absent/a.csv"), &as_batch(&[]).schema()).err().unwrap();
    assert!(error.is::<crate::output::MachineFailure>(), "{error}");
    let error = OutTable::create(&place.path("a.parquet.gz"), &as_batch(&[]).schema()).err().unwrap();
    assert!(error.to_string().contains("the ending must be .csv"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure_of_the_machine() {
    let place = Place::new();
    for name in ["full.csv", "full.parquet", "full.arrow"] {
        // Devices are written to as they are, through a link too.
        let path = place.path(name);
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let batch = as_batch(&rows(100_000));
        let fill = || -> Result<()> {
            let mut out = OutTable::create(&path, &batch.schema())?;
            let encoded = out.encoder().encode(&batch)?;
            out.append(encoded)?;
            out.finish()?;
            Ok(())
        };
        let error = fill().unwrap_err();
        assert!(error.is::<crate::output::MachineFailure>(), "{error}");
        assert!(error.to_string().contains("No space left on device"), "{error}");
    }
}

#[test]
fn a_record_without_end_is_refused() {
    let place = Place::new();
    let path = place.path("a.csv");
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(b"page,rate\na,1\n\"b,2\n").unwrap();
    let line = vec![b'x'; 1 << 20];
    (0..140).for_each(|_| file.write_all(&line).unwrap());
    check_error(&path, "a.csv:3: a record is longer than 64 MiB: a quote may not be closed");
}

/// Curves are names and shapes numbers, and both may be empty; without curves a column called `shape` is anything.
#[test]
fn curves_and_shapes_are_read_together() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("pages.parquet");
    let wanted = || {
        let mut wanted = columns();
        wanted.numbers.push(Wanted::optional(None, "curve", Quantity::Curve));
        wanted.numbers.push(Wanted::optional(None, "shape", Quantity::Shape).beside(3));
        wanted
    };
    let mut table = vec![
        ("page", Arc::new(StringArray::from(vec!["a", "b", "c"])) as ArrayRef),
        ("rate", Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]))),
        ("shape", Arc::new(Float64Array::from(vec![None, Some(0.5), None]))),
        ("curve", Arc::new(DictionaryArray::<Int32Type>::from_iter([None, Some("Weibull"), Some("exponential")]))),
    ];
    parquet(&path, &batch(table.clone()), 10, Compression::UNCOMPRESSED);
    let read = || {
        Input::open(std::slice::from_ref(&path), wanted()).unwrap().pages(|batch, row| {
            Ok([3, 4].map(|column: usize| batch.numbers[column].as_ref().map(|values| values[row])))
        })
    };
    let found: Vec<_> = read().unwrap().into_iter().map(|(_, page)| page).collect();
    assert_eq!(found[1], [Some(2.0), Some(0.5)]);
    assert!(found[0][0] == Some(0.0) && found[0][1].unwrap().is_nan() && found[2][0] == Some(0.0));
    table.pop();
    table[2].1 = Arc::new(StringArray::from(vec!["round", "square", "round"]));
    parquet(&path, &batch(table), 10, Compression::UNCOMPRESSED);
    assert_eq!(read().unwrap()[0].1, [None, None]);
}

#[test]
fn names_are_checked_in_tables_that_are_not_large() {
    let place = Place::new();
    let check = |rows: &[Row]| {
        let mut rows = rows.to_vec();
        let last = rows.len() - 1;
        rows[last].0 = rows[7].0.clone();
        let mut said = Vec::new();
        for name in ["a.parquet", "a.csv.gz", "a.arrows"] {
            let path = place.path(name);
            if name == "a.parquet" {
                parquet(&path, &as_batch(&rows), 1000, Compression::SNAPPY);
            } else {
                write(&path, &as_batch(&rows));
            }
            said.push(open(&path).unwrap().check_names().map_err(|error| error.to_string()));
        }
        said
    };
    let places = ["row group 2, row 499", ":2501: column", "record batch 2, row 499"];
    let firsts = ["first in row group 0, row 7", "first on line 9", "first in record batch 0, row 7"];
    for ((said, place), first) in check(&rows(2500)).into_iter().zip(places).zip(firsts) {
        let said = said.unwrap_err();
        assert!(said.contains(place) && said.contains("is there twice") && said.ends_with(first), "{said}");
    }
    // However well they are packed.
    assert!(check(&rows(10_000)).iter().all(Result::is_ok));
}

#[test]
fn what_follows_the_end_of_a_stream_is_not_left_out() {
    let place = Place::new();
    let path = place.path("a.arrows");
    write(&path, &as_batch(&rows(10)));
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&bytes[..], &bytes[..]].concat()).unwrap();
    let said = format!("a.arrows: cannot read a record batch: {} bytes follow the end of the stream", bytes.len());
    check_error(&path, &said);
    // The format allows a stream to end without a mark.
    std::fs::write(&path, &bytes[..bytes.len() - 8]).unwrap();
    check_rows(&open(&path).unwrap(), &rows(10));
}

/// Columns of few values, which are not encoded by the library, are what it reads: odd numbers of rows, one row, all codes.
#[test]
fn columns_of_few_values_come_back() {
    use arrow_array::UInt8Array;
    use arrow_array::types::{Float64Type, UInt8Type};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.parquet");
    for rows in [1, 7, 8, 9, 1000, 70_001] {
        for words in [1, 2, 9, 16, 17] {
            let names: Vec<String> = (0..words).map(|word| "x".repeat(word)).collect();
            let key = |row: usize| u8::try_from(row * row % words).unwrap();
            let codes = UInt8Array::from_iter_values((0..rows).map(key));
            let coded = DictionaryArray::<UInt8Type>::new(codes, Arc::new(StringArray::from(names)));
            let schema = Schema::new(vec![
                Field::new("page", DataType::Int64, false),
                Field::new("price", DataType::Float64, false),
                Field::new("reason", coded.data_type().clone(), false),
            ]);
            let columns: Vec<ArrayRef> = vec![
                Arc::new(Int64Array::from_iter_values((0i64..).take(rows))),
                Arc::new(Float64Array::from(vec![0.1; rows])),
                Arc::new(coded),
            ];
            write(&path, &RecordBatch::try_new(Arc::new(schema), columns).unwrap());
            let builder = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(&path).unwrap()).unwrap();
            let mut next = 0;
            for batch in builder.build().unwrap() {
                let batch = batch.unwrap();
                assert!(batch.column(1).as_primitive::<Float64Type>().values().iter().all(|price| *price == 0.1));
                for_each_text(batch.column(2), |text| {
                    assert_eq!(text.len(), usize::from(key(next)));
                    next += 1;
                });
            }
            assert_eq!(next, rows);
        }
    }
}
