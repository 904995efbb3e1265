//! Automation for the project.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use xtask::bench::Options;

const USAGE: &str = "\
usage: cargo xtask <command>

  tidy      checks the rules of the project: dependency direction, pure crates, banned words, long functions, dead files
  figures   draws the pictures of the documentation anew
  bench plan [--pages N] [--rival-pages N] [--hosts N] [--runs N]
            measures the streaming solver beside the machine's bound and a NumPy rival (0 rival pages: without it)
  bench files [--pages N] [--runs N]
            measures `everfresh plan` from Parquet to Parquet, its memory, and what the disk alone takes
  bench estimate [--pages N] [--runs N]
            measures observations per second, and learning priors anew
  bench simulate [--pages N] [--runs N]
            measures events per second of the laboratory beside the machine's bound
  bench bakeoff [--pages N] [--runs N]
            compares policies on recorded traces (where EVERFRESH_DATA says, else ../shared/data), with so many seeds
  bench longevity [--pages N] [--runs N]
            measures text into fragments and sketches, N lines of it, and extending and fitting profiles
  bench schedule [--pages N]
            measures the scheduler on its durable store beside the engine's own durable writes, its memory and its disk
  bench crawl [--pages N] [--rival-pages N] [--hosts N]
            measures `everfresh run` on loopback beside a bare load generator and Scrapy (0 rival pages: without it), and its memory
  soak [--minutes N] [--program FILE]
            runs `everfresh run` (as tests build it, or this file) on the demo's web for so long, an hour unless said, while it is
            killed and hosts fail, and checks that nothing is lost and the budget kept";

/// What can be measured.
const BENCHES: [&str; 8] = ["plan", "files", "estimate", "longevity", "simulate", "bakeoff", "schedule", "crawl"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["tidy"] => tidy(),
        ["figures"] => figures(),
        ["bench", what, ..] if BENCHES.contains(&what) => bench(what, &arguments[2..]),
        ["serve-pages"] => xtask::crawl::serve(&mut std::io::stdout()).map(|()| ExitCode::SUCCESS),
        ["soak", ..] => soak(&arguments[1..]),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn tidy() -> Result<ExitCode> {
    let problems = xtask::tidy::check(&xtask::root())?;
    for problem in &problems {
        println!("{problem}");
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn figures() -> Result<ExitCode> {
    for (path, picture) in xtask::figures::all()? {
        std::fs::write(xtask::root().join(path), picture)?;
        println!("{path}");
    }
    Ok(ExitCode::SUCCESS)
}

fn soak(arguments: &[&str]) -> Result<ExitCode> {
    let (mut options, mut program) = (xtask::soak::OPTIONS, None);
    for pair in arguments.chunks(2) {
        match *pair {
            ["--minutes", text] => {
                let minutes: u64 = text.parse().with_context(|| format!("--minutes must be whole, got `{text}`"))?;
                options.length = Duration::from_mins(minutes.clamp(1, 10_000));
            }
            ["--program", path] => program = Some(path.into()),
            _ => bail!("cannot read {pair:?}\n{USAGE}"),
        }
    }
    print!("{}", xtask::soak::run(options, program)?);
    Ok(ExitCode::SUCCESS)
}

fn bench(what: &str, arguments: &[&str]) -> Result<ExitCode> {
    if cfg!(debug_assertions) {
        // Only optimised code is worth measuring.
        let mut cargo = std::process::Command::new(env!("CARGO"));
        cargo.args(["run", "--quiet", "--release", "--package", "xtask", "--", "bench", what]).args(arguments);
        return Ok(if cargo.status()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let mut options = match what {
        "estimate" => xtask::bench_estimate::OPTIONS,
        "longevity" => xtask::bench_longevity::OPTIONS,
        "simulate" => xtask::bench_simulate::OPTIONS,
        "bakeoff" => xtask::bench_bakeoff::OPTIONS,
        "schedule" => xtask::bench_schedule::OPTIONS,
        "crawl" => xtask::crawl::OPTIONS,
        _ => Options::default(),
    };
    for pair in arguments.chunks(2) {
        let [flag, value] = pair else { bail!("{pair:?} has no value\n{USAGE}") };
        let value: usize = value.parse().with_context(|| format!("{flag} takes a whole number, got `{value}`"))?;
        match *flag {
            "--pages" => options.pages = value.max(1),
            "--rival-pages" => options.rival_pages = value,
            "--hosts" => options.hosts = value,
            "--runs" => options.runs = value,
            _ => bail!("unknown flag `{flag}`\n{USAGE}"),
        }
    }
    if what == "bakeoff" {
        // It takes long: each row is printed as it is done.
        xtask::bench_bakeoff::run(options, &mut std::io::stdout().lock())?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = match what {
        "plan" => xtask::bench::run(options)?,
        "files" => xtask::bench_files::run(options)?,
        "longevity" => xtask::bench_longevity::run(options)?,
        "simulate" => xtask::bench_simulate::run(options)?,
        "schedule" => xtask::bench_schedule::run(options)?,
        "crawl" => xtask::crawl::run(options)?,
        _ => xtask::bench_estimate::run(options)?,
    };
    print!("{text}");
    Ok(ExitCode::SUCCESS)
}
