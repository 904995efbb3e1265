//! Outlooks in files: what `everfresh budget` has read of some pages, to be put together with what it read of others.
//!
//! A mark with a version, and a zstd frame with a checksum that holds the outlook.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use everfresh::plan::stream::Outlook;

use crate::output;
use crate::whole::WholeFile;

pub(crate) const ENDING: &str = "outlook";
const MARK: [u8; 12] = *b"everfresh o2";
const LEVEL: i32 = 3;
/// More than the largest outlook has.
const MOST_BYTES: u64 = 1 << 30;

/// Is it such a file by its name?
pub(crate) fn is_one(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENDING)
}

/// Writes an outlook; the file appears whole or not at all.
pub(crate) fn write(path: &Path, outlook: &Outlook) -> Result<()> {
    let bytes = postcard::to_allocvec(outlook)?;
    let write = || -> std::io::Result<()> {
        let mut file = WholeFile::create(path)?;
        file.write_all(&MARK)?;
        let mut frame = zstd::Encoder::new(&mut file, LEVEL)?;
        frame.include_checksum(true)?;
        frame.write_all(&bytes)?;
        frame.finish()?;
        file.finish()
    };
    write().map_err(|error| output::machine(format!("cannot write `{}`", path.display()), error))
}

/// Reads an outlook.
pub(crate) fn read(path: &Path) -> Result<Outlook> {
    let shown = path.display();
    let mut file = File::open(path).with_context(|| format!("cannot read `{shown}`"))?;
    let mut mark = [0; MARK.len()];
    let is_marked = file.read_exact(&mut mark).is_ok() && mark == MARK;
    if !is_marked {
        bail!("cannot read `{shown}`: it must begin with `{}`, as `--save` writes it", String::from_utf8_lossy(&MARK));
    }
    let mut bytes = Vec::new();
    let unpacked = zstd::Decoder::new(file).and_then(|frame| frame.take(MOST_BYTES).read_to_end(&mut bytes));
    unpacked.with_context(|| format!("cannot read `{shown}`: it is damaged or cut off"))?;
    match postcard::from_bytes::<Outlook>(&bytes) {
        Ok(outlook) if outlook.is_legal() => Ok(outlook),
        _ => bail!("cannot read `{shown}`: it holds no outlook"),
    }
}
