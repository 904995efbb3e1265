//! Completions and man pages, from the definition of the arguments.

use std::path::Path;

use anyhow::Result;
use clap::CommandFactory;
use clap_mangen::Man;

use crate::args::Program;
use crate::output;

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Program::command(), "everfresh", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(directory: Option<&Path>) -> Result<()> {
    let program = Program::command();
    let Some(directory) = directory else {
        let mut page = Vec::new();
        Man::new(program).render(&mut page)?;
        return output::print(&String::from_utf8_lossy(&page));
    };
    output::create_directory(directory)?;
    clap_mangen::generate_to(program, directory).map_err(|error| output::cannot_write(directory, error))?;
    output::say(&format!("man pages written to {}", directory.display()));
    Ok(())
}
