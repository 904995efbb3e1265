use super::archive::INDEX;
use super::error::{Error, Result};
use super::index::TAIL;
use super::write::{Settings, files, serial};
use std::fs;
use std::path::{Path, PathBuf};

/// A file of a folder of copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name in the folder.
    pub name: PathBuf,
    /// May it still grow or be replaced?
    pub grows: bool,
}

/// The files of a folder of copies, in an order in which they may be copied while another process adds to them: what the index says of
/// records is copied before the records themselves, and the tail of the index before the sorted files that its lines move to.
///
/// A sorted file may be merged away before it is copied; then its lines are in another, and the list is to be made again.
pub fn parts(folder: &Path) -> Result<Vec<Part>> {
    let grows = |name: PathBuf| Part { name, grows: true };
    let mut found = Vec::new();
    if folder.join(INDEX).is_dir() {
        let mut names: Vec<String> = names(&folder.join(INDEX))?;
        names.sort_by_key(|name| (name != TAIL, name.clone()));
        found.extend(names.into_iter().map(|name| grows(Path::new(INDEX).join(name))));
    }
    let records = files(folder)?;
    let others = names(folder)?.into_iter().filter(|name| !records.contains(name));
    found.extend(others.map(|name| grows(PathBuf::from(name))));
    // Whoever opens the folder goes on in the last one.
    let prefix = Settings::default().prefix;
    let last = records.iter().max_by_key(|name| serial(name, &prefix)).cloned();
    found.extend(records.iter().map(|name| Part { name: name.into(), grows: Some(name) == last.as_ref() }));
    Ok(found)
}

/// The files of a folder but for those in the making.
fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::file("read", folder))? {
        let entry = entry.map_err(Error::file("read", folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_begun = name.starts_with('.') || Path::new(&name).extension().is_some_and(|end| end == "begun");
        if entry.path().is_file() && !is_begun {
            names.push(name);
        }
    }
    Ok(names)
}
