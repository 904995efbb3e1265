//! The program `everfresh`.
//!
//! Data goes to stdout, everything said about it to stderr. Exit code 0 is success, 1 a failure of the machine (a full
//! disk), 2 bad input or a bad call, 130 an interrupt.

mod args;
mod budget;
mod chart;
mod compare;
mod demo;
mod desk;
mod estimate;
mod freshness;
mod generate;
mod income;
mod interrupt;
mod limited;
mod longevity;
mod output;
mod papers;
mod plan;
mod progress;
mod run;
mod saved;
mod simulate;
mod split;
mod table;
mod whole;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use args::{Command, Program};
use interrupt::Interrupted;
use output::{MachineFailure, ReaderGone};

/// Many small pieces are taken on one thread and given back on another: by visits, and by tables that are read in parallel.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    interrupt::watch();
    let program = match Program::try_parse() {
        Ok(program) => program,
        Err(error) => return refuse(&error),
    };
    let result = match program.command {
        Command::Plan(args) => plan::run(&args),
        Command::Estimate(args) => estimate::run(&args),
        Command::Longevity(args) => longevity::run(&args),
        Command::Budget(args) => budget::run(&args),
        Command::Freshness(args) => freshness::run(&args),
        Command::Income(args) => income::run(&args),
        Command::Split(args) => split::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Papers(args) => papers::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Add(args) => desk::add::run(&args),
        Command::Explain(args) => desk::explain::run(&args),
        Command::Remove(args) => desk::remove(&args),
        Command::Pin(args) => desk::pin(&args),
        Command::Notice(args) => run::notices::notice(&args),
        Command::Export(args) => desk::export::run(&args),
        Command::Status(args) => desk::status::status(&args),
        Command::Forecast(args) => desk::status::forecast(&args),
        Command::Rebuild(args) => desk::rebuild(&args),
        Command::Backup(args) => desk::backup::run(&args),
        Command::Audit(args) => run::audit::run(&args),
        Command::Cat(args) => run::copies::cat(&args),
        Command::History(args) => run::copies::history(&args),
        Command::Diff(args) => run::copies::diff(&args),
        Command::Reference => output::print_raw(&run::config::reference()),
        Command::Completions { shell } => generate::completions(shell),
        Command::Man { directory } => generate::man(directory.as_deref()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<ReaderGone>() => ExitCode::SUCCESS,
        Err(error) => {
            output::say(&output::error_line(&error));
            ExitCode::from(exit_code(&error))
        }
    }
}

fn exit_code(error: &anyhow::Error) -> u8 {
    if error.is::<Interrupted>() {
        interrupt::EXIT_CODE
    } else if error.is::<MachineFailure>() {
        1
    } else {
        2
    }
}

/// Help goes to stdout; a bad value gets one line, like bad input; other bad calls get the usage with them.
fn refuse(error: &clap::Error) -> ExitCode {
    if error.kind() == ErrorKind::ValueValidation {
        let text = error.render().ansi().to_string();
        output::say(text.lines().next().unwrap_or_default());
    } else if error.use_stderr() {
        output::say(error.render().ansi().to_string().trim_end());
    } else if let Err(failure) = output::print(&error.render().ansi().to_string()) {
        output::say(&output::error_line(&failure));
        return ExitCode::from(1);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
