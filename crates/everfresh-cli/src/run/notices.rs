//! Notices that pages changed: files in the store's directory, which a run takes in while it goes on, or the next one when it begins.
//!
//! A store has one writer, and whoever gives notice should not wait for it, nor open ten million pages to say a word.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use everfresh_sched::{HintKind, Scheduler};
use everfresh_store::Durable;
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::clock::Clock;
use crate::desk::args::NoticeArgs;
use crate::desk::{failure, list};
use crate::output;

const FOLDER: &str = "notices";
const ENDING: &str = "jsonl";
/// So often they are looked for.
const LOOK: Duration = Duration::from_millis(500);

/// A line of such a file.
#[derive(Debug, Serialize, Deserialize)]
struct Notice {
    page: String,
    changed_at_s: f64,
}

/// `everfresh notice`
pub(crate) fn notice(args: &NoticeArgs) -> Result<()> {
    let data = &args.store.data;
    if !Durable::exists(data) {
        bail!("cannot find a store in `{}`: `everfresh add` or `everfresh run` begins one", data.display());
    }
    let changed_at_s = args.store.now.map_or_else(|| Clock::Real.now_s(), f64::from);
    let mut lines = String::new();
    let pages = args.pages.iter().map(|page| list::configured(page)).collect::<Result<Vec<_>>>()?;
    for page in &pages {
        let notice = Notice { page: page.clone(), changed_at_s };
        lines.push_str(&serde_json::to_string(&notice)?);
        lines.push('\n');
    }
    write(&data.join(FOLDER), &lines).map_err(|error| output::machine("cannot leave a notice", error))?;
    let is_running = Durable::is_held(data);
    if args.json {
        return output::print_json(&serde_json::json!({
            "pages": pages, "changed_at_s": changed_at_s, "taken_in_at_once": is_running,
        }));
    }
    let many = output::count(args.pages.len() as f64, "page");
    let when = if is_running { "the run takes it in at once" } else { "the next run takes it in" };
    output::say(&format!("left a notice of {many}: {when}"));
    Ok(())
}

/// Lets a file appear, whole and on the disk, whose name sorts by time.
fn write(folder: &Path, lines: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::with_prefix_in(".begun-", folder)?;
    file.write_all(lines.as_bytes())?;
    file.as_file().sync_all()?;
    let micros = Clock::Real.date().as_microsecond();
    file.persist(folder.join(format!("{micros}-{}.{ENDING}", std::process::id())))?;
    std::fs::File::open(folder)?.sync_all()
}

/// Where a run finds notices.
pub(crate) struct Notices {
    folder: PathBuf,
    looked: Option<Instant>,
}

impl Notices {
    pub(crate) fn of(data: &Path) -> Notices {
        Notices { folder: data.join(FOLDER), looked: None }
    }

    /// Takes in what was left since the last look. What is taken in twice, because a run was killed in between, does no harm.
    pub(crate) fn take(&mut self, scheduler: &mut Scheduler<Durable>, now_s: f64) -> Result<()> {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return Ok(());
        }
        self.looked = Some(Instant::now());
        let files = self.files();
        let mut hints = Vec::new();
        for notice in files.iter().flat_map(|path| read(path)) {
            let (state, store) = scheduler.parts();
            let (page, is_known) = store.page(&notice.page, |page| state.knows(page)).map_err(failure)?;
            if is_known {
                hints.push((page, HintKind::Push, notice.changed_at_s.min(now_s)));
            } else {
                warn!(page = notice.page, "a notice of a page that is not known");
            }
        }
        if !hints.is_empty() {
            scheduler.hint_all(now_s, &hints).map_err(failure)?;
            // They are on the disk before their files go.
            scheduler.release().map_err(failure)?;
        }
        for path in files {
            std::fs::remove_file(path).map_err(|error| output::machine("cannot remove a notice", error))?;
        }
        Ok(())
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == ENDING)).collect();
        files.sort();
        files
    }
}

fn read(path: &Path) -> Vec<Notice> {
    let warn = |error: &dyn std::fmt::Display| warn!(file = %path.display(), "a notice cannot be read: {error}");
    let text = std::fs::read_to_string(path).inspect_err(|error| warn(error)).unwrap_or_default();
    let notice = |line: &str| serde_json::from_str::<Notice>(line).inspect_err(|error| warn(error)).ok();
    text.lines().filter_map(notice).collect()
}
