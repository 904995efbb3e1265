//! How long content stays: content that stays is worth a visit, content that vanishes is not (OP08).
//!
//! A page version is a set of fragments, and the divergence of two versions the share that only one of them has. From
//! what visits see of it come profiles, from profiles a page's divergence curve, and from the curve when to visit it:
//!
//! * [`Cut`] and [`Shingler`]: from text, in pieces and of any length, to fragments (section 2.1.1);
//! * [`Fragments`], [`Weighted`] and [`Sketch`]: sets of them, exactly or as the m least hashes (section 5.2);
//! * [`Profiles`]: what is remembered of a page from visit to visit, in about a hundred bytes (section 4.1);
//! * [`Regions`] and [`Generator`]: the generative model, as a curve and as text (section 3.3);
//! * [`History`]: what a whole history of versions says of lifetimes, of K and of the page's class (section 3);
//! * [`fit`] and [`Bounds`]: curves fitted to profiles, and what is known without any model (sections 4.2 and 4.3);
//! * [`ContentPrior`]: what is believed of a page, in which the others of its group have a part;
//! * [`OnlinePolicy`] and [`offline`]: when to visit a page next (sections 3.4, 4 and 5.3).
//!
//! No HTML here: whoever fetches a page hands over its text.

mod fragment;
mod generate;
mod measure;
mod profile;
mod regions;
mod sketch;

pub use fragment::{Cut, Shingler, Sink};
pub use generate::Generator;
pub use measure::{Class, History, Lifetime, Makeup, Spell};
pub use profile::{ChangeProfile, Memory, Profiles};
pub use regions::{Region, Regions};
pub use sketch::{Estimated, Fragments, Sketch, Sketcher, Weighted, jaccard_distance};

mod bounds;
mod fit;
pub mod offline;
mod points;
mod policy;
mod prior;

pub use bounds::{Adjustment, BoundSearch, Bounds, UtilityBounds, utility_bounds};
pub use fit::{Fitted, fit, fit_churn, fit_scroll};
pub use points::{Point, combine};
pub use policy::{
    Beliefs, BoundBased, Cgm, Content, CurveFitting, LearningPhase, OnlinePolicy, Rated, Remembered, RiskControl,
    Visit, WarmUp,
};
pub use prior::{Believed, ContentPrior, Depths, Lesson};
