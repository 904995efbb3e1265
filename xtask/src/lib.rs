//! Automation for the project: `cargo xtask tidy`, `cargo xtask figures`, `cargo xtask bench`, `cargo xtask soak`.

pub mod bench;
pub mod bench_bakeoff;
pub mod bench_estimate;
pub mod bench_files;
pub mod bench_longevity;
pub mod bench_schedule;
pub mod bench_simulate;
pub mod bench_visits;
pub mod crawl;
pub mod figure_bounds;
pub mod figures;
pub mod soak;
pub mod tidy;

use std::path::{Path, PathBuf};

/// The root of the project: the folder above this crate.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}
