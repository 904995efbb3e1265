//! The few special functions that the formulas rest on, each without cancellation on its whole domain.
//!
//! They are public because estimators, laboratories and readers need them; none knows anything of pages.

mod digamma;
mod ein;
mod exp_difference;
mod gamma;
mod phi;
mod root;
mod spread;
mod sum;

pub(crate) use digamma::shape_of_log_gap;
pub use digamma::{digamma, trigamma};
pub use ein::ein;
pub use exp_difference::exp_difference;
pub(crate) use gamma::{Tail, gamma_lower_inverse, gamma_shares, normal_quantile, poisson_tails};
pub use gamma::{gamma_lower, gamma_quantile};
pub use phi::Phi;
pub(crate) use root::{Evaluation, solve};
pub(crate) use spread::spread;
pub use sum::Sum;
pub(crate) use sum::{lanes, lanes_of};
