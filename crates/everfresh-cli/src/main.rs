//! The program `everfresh`.
//!
//! Data goes to stdout, everything said about it to stderr. Exit code 0 is success, 1 a failure of the machine (a full
//! disk), 2 bad input or a bad call.

mod args;
mod freshness;
mod generate;
mod income;
mod output;
mod plan;
mod table;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use args::{Command, Program};
use output::MachineFailure;

fn main() -> ExitCode {
    let program = Program::parse();
    let result = match program.command {
        Command::Plan(args) => plan::run(&args),
        Command::Freshness(args) => freshness::run(&args),
        Command::Income(args) => income::run(&args),
        Command::Completions { shell } => generate::completions(shell),
        Command::Man { directory } => generate::man(directory.as_deref()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to be done if even this cannot be written.
            let _ = writeln!(anstream::stderr(), "{}error:{:#} {error:#}", args::ERROR, args::ERROR);
            ExitCode::from(if error.is::<MachineFailure>() { 1 } else { 2 })
        }
    }
}
