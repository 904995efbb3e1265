//! The few special functions that the formulas rest on, each without cancellation on its whole domain.
//!
//! They are public because estimators, laboratories and readers need them; none knows anything of pages.

mod ein;
mod exp_difference;
mod gamma;
mod phi;
mod root;
mod sum;

pub use ein::ein;
pub use exp_difference::exp_difference;
pub use gamma::gamma_lower;
pub(crate) use gamma::{Tail, poisson_tails};
pub use phi::Phi;
pub(crate) use root::{Evaluation, solve};
pub use sum::Sum;
