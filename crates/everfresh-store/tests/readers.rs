//! `DuckDB` and pandas read the visit log as it is, and say of it what the scheduler says.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

#[path = "common/python.rs"]
mod python;

use everfresh::{Period, Unit};
use everfresh_sched::{GroupId, Lease, Outcome, PageId, PageTerms, Scheduler, Settings};
use everfresh_store::{Durable, log};
use python::{python_with, run};
use std::collections::BTreeMap;
use std::path::Path;

/// A clock like that of a user; all times are eighths of a second, as schedulers keep them.
const START_S: f64 = 1_800_000_000.125;
const PAGES: u64 = 40;

/// The same questions to both; each prints the same lines.
const QUESTIONS: &str = r#"
import glob, sys
import duckdb
import pandas

def by_duckdb(folder):
    log = f"'{folder}/visits/*.parquet'"
    for name, kind, *_ in duckdb.sql(f"describe select * from {log}").fetchall():
        yield "column", name, {"TIMESTAMP WITH TIME ZONE": "TIME", "UBIGINT": "NUMBER", "DOUBLE": "REAL",
                               "VARCHAR": "TEXT", "BLOB": "BYTES"}[kind]
    yield "rows", *duckdb.sql(f"select count(*), count(distinct number), max(number) from {log}").fetchone()
    for row in duckdb.sql(f"select event, count(*) from {log} group by all order by all").fetchall():
        yield "event", *row
    for row in duckdb.sql(f"select outcome, count(*) from {log} where event = 'visit' group by all order by all").fetchall():
        yield "outcome", *row
    for row in duckdb.sql(f"""
        select address, count(*), count(*) filter (outcome = 'changed'), epoch_us(max(time)),
               sum(coalesce(divergence, 0)), sum(coalesce(last_change_s, 0))
        from {log} where event = 'visit' and outcome in ('changed', 'unchanged') group by all order by all
    """).fetchall():
        yield "page", *row
    for row in duckdb.sql(f"""
        select address, host, "group" from {log} where event = 'add' order by page""").fetchall():
        yield "added", *row

def by_pandas(folder):
    files = sorted(glob.glob(f"{folder}/visits/*.parquet"))
    log = pandas.concat([pandas.read_parquet(file) for file in files])
    # What has gaps has no whole numbers in pandas, unless it is asked for them.
    whole = pandas.concat([pandas.read_parquet(file, dtype_backend="pyarrow") for file in files])
    kinds = {"timestamp[us, tz=UTC][pyarrow]": "TIME", "uint64[pyarrow]": "NUMBER", "double[pyarrow]": "REAL",
             "string[pyarrow]": "TEXT", "binary[pyarrow]": "BYTES"}
    for name, kind in whole.dtypes.items():
        yield "column", name, kinds[str(kind)]
    yield "rows", len(log), log["number"].nunique(), log["number"].max()
    for row in log.groupby("event").size().items():
        yield "event", *row
    visits = log[log["event"] == "visit"]
    for row in visits.groupby("outcome").size().items():
        yield "outcome", *row
    seen = visits[visits["outcome"].isin(["changed", "unchanged"])]
    for address, of_page in seen.groupby("address"):
        last = of_page["time"].max().value // 1000
        changed = (of_page["outcome"] == "changed").sum()
        yield "page", address, len(of_page), changed, last, of_page["divergence"].sum(), of_page["last_change_s"].sum()
    added = whole[whole["event"] == "add"].sort_values("page")
    for row in added[["address", "host", "group"]].itertuples(index=False):
        yield "added", *row

for row in {"duckdb": by_duckdb, "pandas": by_pandas}[sys.argv[1]](sys.argv[2]):
    print("\t".join(str(value) for value in row))
"#;

fn address(page: u64) -> String {
    format!("https://host{}.example/ä?page={page}", page % 4)
}

/// What a visit finds: the first one of a page makes its copy.
fn outcome(lease: &Lease, visits: u64) -> Outcome {
    let ago = Period::of(30.5, Unit::Second).unwrap();
    match (visits, lease.id.0 % 7) {
        (0, _) => Outcome::Changed { divergence: 1.0, last_change: None },
        (_, 0) => Outcome::Changed { divergence: 0.25, last_change: Some(ago) },
        (_, 1) => Outcome::Failed { retryable: true },
        (_, 2) if lease.page.0 < 4 => Outcome::Failed { retryable: false },
        (_, 3) if lease.page.0 < 8 => Outcome::Gone,
        _ => Outcome::Unchanged,
    }
}

/// Three days of visits, in a log of several files.
fn work(dir: &Path) -> Scheduler<Durable> {
    let settings = Settings::new(1.0, Unit::Minute).unwrap().with_start(START_S).unwrap();
    let mut scheduler = Scheduler::open(settings, Durable::open(dir, "a test").unwrap(), START_S).unwrap();
    for page in 0..PAGES {
        let store = scheduler.store_mut();
        let host = store.host(&format!("host{}.example", page % 4)).unwrap();
        let group = if page % 2 == 0 { GroupId(0) } else { store.group("news, odd").unwrap() };
        store.name_page(PageId(page), &address(page));
        scheduler.add(START_S, PageId(page), PageTerms::new(host).in_group(group)).unwrap();
    }
    let mut visits: BTreeMap<PageId, u64> = BTreeMap::new();
    for minute in 0..3 * 1440u32 {
        let now_s = START_S + f64::from(minute) * 60.0;
        if minute % 1000 == 999 {
            scheduler.replan(now_s).unwrap();
            scheduler.compact().unwrap();
        }
        for lease in scheduler.lease(now_s, 3).unwrap() {
            // One in fifty workers is lost.
            if lease.id.0 % 50 != 49 {
                let seen = visits.entry(lease.page).or_default();
                scheduler.complete(now_s + 2.5, lease.id, outcome(&lease, *seen)).unwrap();
                *seen += 1;
            }
        }
    }
    scheduler.compact().unwrap();
    scheduler.store_mut().settle().unwrap();
    scheduler
}

/// What the scheduler says of the pages, in the words of the answers.
fn told(scheduler: &Scheduler<Durable>) -> Vec<String> {
    let end_s = START_S + 4.0 * 86_400.0;
    let mut lines: Vec<String> = (0..PAGES)
        .map(|page| {
            let (found, id) = (scheduler.explain(end_s, PageId(page)).unwrap(), PageId(page));
            let seen_us = (scheduler.state().seen_s(id).unwrap() * 1e6).round();
            let (visits, changes) = (found.visits + 1, found.changes + 1);
            let (divergence, ago_s) = (1.0 + 0.25 * f64::from(found.changes), 30.5 * f64::from(found.changes));
            format!("page\t{}\t{visits}\t{changes}\t{seen_us}\t{divergence:?}\t{ago_s:?}", address(page))
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn duckdb_and_pandas_say_of_the_visit_log_what_the_scheduler_says() {
    let dir = tempfile::tempdir().unwrap();
    let scheduler = work(dir.path());
    let files = log::files(dir.path()).unwrap();
    assert!(files.len() >= 5, "{files:?} {:?}", scheduler.store());
    let events = scheduler.store().events();
    let packages = ["duckdb==1.*", "pandas==2.*", "pyarrow"];
    let python = python_with("log-readers", &packages, "import duckdb, pandas, pyarrow");
    let [duckdb, pandas] =
        ["duckdb", "pandas"].map(|who| run(&python, &["-c", QUESTIONS, who, dir.path().to_str().unwrap()]));
    let of = |answers: &str, word: &str| -> Vec<String> {
        answers.lines().filter(|line| line.starts_with(&format!("{word}\t"))).map(str::to_owned).collect()
    };
    for (who, answers) in [("DuckDB", &duckdb), ("pandas", &pandas)] {
        assert_eq!(of(answers, "rows"), [format!("rows\t{events}\t{events}\t{}", events - 1)], "{who}");
        let mut pages = of(answers, "page");
        pages.sort();
        assert_eq!(pages, told(&scheduler), "{who}");
        let added: Vec<String> = (0..PAGES)
            .map(|page| {
                let group = if page % 2 == 0 { "default" } else { "news, odd" };
                format!("added\t{}\thost{}.example\t{group}", address(page), page % 4)
            })
            .collect();
        assert_eq!(of(answers, "added"), added, "{who}");
        // Every kind of outcome is there, and workers that were lost.
        assert_eq!((of(answers, "outcome").len(), of(answers, "column").len()), (5, 12), "{who}:\n{answers}");
        assert!(answers.contains("\nevent\tlost\t") && answers.contains("\ncolumn\ttime\tTIME\n"), "{who}:\n{answers}");
    }
    let sorted = |answers: &str| {
        let mut lines: Vec<String> = answers.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&duckdb), sorted(&pandas));
}
