//! Going to look: sources, what a visit may cost at most, and what came back.
