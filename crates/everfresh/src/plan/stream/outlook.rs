//! What other budgets would give.

/// To come.
#[derive(Clone, Debug)]
pub struct Outlook;
/// To come.
#[derive(Clone, Debug)]
pub struct Point;
