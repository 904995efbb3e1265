//! The laboratory: deterministic worlds that drive every policy, and the tables and figures of the papers.
