//! Automation for the project.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use anyhow::Result;

const USAGE: &str = "\
usage: cargo xtask <command>

  tidy      checks the rules of the project: dependency direction, pure crates, banned words, long functions, dead files
  figures   draws the pictures of the documentation anew";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["tidy"] => tidy(),
        ["figures"] => figures(),
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
