//! Going to look: sources, what a visit may cost at most, and what came back.
//!
//! A [`Source`] is asked ([`Ask`]) and answers with a [`Visit`]: content, "not modified", "gone", or a [`Failure`] with its
//! [`Reason`]. An [`Address`] decides which source: [`Web`], [`Files`] or [`Commands`]; [`Sources`] is all of them. No
//! source panics or hangs, whatever it meets: [`Limits`] bound time, size and depth of each visit, and [`Reach`] where it goes.
//!
//! ```no_run
//! use everfresh_crawl::fetch::{Address, Agent, Ask, Outcome, Settings, Source, Sources};
//!
//! # async fn example() -> Result<(), everfresh::Error> {
//! let agent = Agent::new("everfresh", "0.1", "https://example.com/bot")?;
//! let sources = Sources::new(Settings::new(agent))?;
//! let page = Address::of_page("https://example.com/news")?;
//! let visit = sources.look(&Ask::new(page.clone(), jiff::Timestamp::now())).await;
//! for manners in &visit.manners {
//!     println!("{} wants a gap of {:?}, rest until {:?}", manners.host, manners.crawl_delay, manners.blocked_until);
//! }
//! if let Outcome::Fetched(fetched) = visit.outcome {
//!     println!("{} bytes from {}", fetched.body.len(), fetched.address);
//!     // The next visit costs a 304 if nothing is different.
//!     let ask = Ask::new(page, jiff::Timestamp::now());
//!     let ask = fetched.hints.validators.into_iter().fold(ask, Ask::remembering);
//!     println!("{}", sources.look(&ask).await.outcome);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The date of a visit is an argument; the clock is read for time limits only.

mod address;
mod body;
mod command;
mod fault;
mod file;
mod hints;
mod limits;
mod manners;
mod names;
mod reach;
mod robots;
mod settings;
mod transport;
mod visit;
mod web;

pub use address::{Address, Argv};
pub use command::Commands;
pub use file::Files;
pub use limits::Limits;
pub use manners::Manners;
pub use reach::Reach;
pub use robots::Robots;
pub use settings::{Agent, Settings};
pub use visit::{
    Ask, Exchange, Failure, Fetched, Gone, Hints, NotModified, Outcome, Reason, Redirect, Validators, Visit,
};
pub use web::Web;

use std::pin::Pin;

/// A visit under way.
pub type Looking<'a> = Pin<Box<dyn Future<Output = Visit> + Send + 'a>>;

/// Something that can be looked at.
///
/// A source never panics and always comes back within its limits; whatever goes wrong is a [`Failure`] of this one visit. A
/// visit that is dropped stops.
pub trait Source: Send + Sync {
    /// Goes and looks.
    fn look<'a>(&'a self, ask: &'a Ask) -> Looking<'a>;
}

/// Every kind of source; the address decides. Cheap to clone.
#[derive(Clone)]
pub struct Sources {
    web: Web,
    files: Files,
    commands: Commands,
}

impl Sources {
    /// All of them within the same limits.
    pub fn new(settings: Settings) -> everfresh::Result<Sources> {
        let (files, commands) = (Files::new(settings.limits.clone()), Commands::new(settings.limits.clone()));
        Ok(Sources { web: Web::new(settings)?, files, commands })
    }

    /// The web alone, for its robots.txt.
    pub fn web(&self) -> &Web {
        &self.web
    }
}

impl Source for Sources {
    fn look<'a>(&'a self, ask: &'a Ask) -> Looking<'a> {
        match &ask.address {
            Address::Http(_) => self.web.look(ask),
            Address::File(_) => self.files.look(ask),
            Address::Command(_) => self.commands.look(ask),
        }
    }
}
