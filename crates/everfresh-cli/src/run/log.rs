//! Log lines, where nobody looks at a live view: what [`tracing`] hears, on stderr.

use std::io::{BufWriter, Stderr, Write};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Says what is logged, as in `debug` or `info,everfresh_crawl=trace`.
pub(crate) const VARIABLE: &str = "EVERFRESH_LOG";

/// Lines on their way to stderr. They are written together, now and then: a call of the system for each would be a part of the time
/// of a visit that is seen.
#[derive(Clone)]
pub(crate) struct Log {
    lines: Arc<Mutex<BufWriter<Stderr>>>,
}

impl Log {
    /// Begins to listen, for as long as the process lives.
    pub(crate) fn begin(json: bool) -> Result<Log> {
        let log = Log { lines: Arc::new(Mutex::new(BufWriter::with_capacity(1 << 16, std::io::stderr()))) };
        let (lines, wanted) = (log.clone(), wanted()?);
        let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_target(false);
        let layer = layer.with_writer(move || lines.clone());
        let layer = if json { layer.json().flatten_event(true).boxed() } else { layer.boxed() };
        tracing_subscriber::registry().with(layer.with_filter(wanted)).try_init().context("cannot log")?;
        Ok(log)
    }
}

/// By default what we do, and what others warn of.
fn wanted() -> Result<Targets> {
    match std::env::var(VARIABLE) {
        // A word alone would be taken for a part of which everything is wanted, and nothing else.
        Ok(text) => match text.parse() {
            Ok(wanted) if text.split(',').all(is_choice) => Ok(wanted),
            _ => bail!(
                "cannot read {VARIABLE}: it must be a level, or parts with levels, as in `info,everfresh_crawl=debug`, got `{text}`"
            ),
        },
        Err(_) => Ok(Targets::new().with_default(LevelFilter::WARN).with_target("everfresh", LevelFilter::INFO)),
    }
}

fn is_choice(text: &str) -> bool {
    text.contains('=') || text.parse::<LevelFilter>().is_ok()
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.lines.lock().map_or(Ok(bytes.len()), |mut lines| lines.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.lines.lock().map_or(Ok(()), |mut lines| lines.flush())
    }
}
