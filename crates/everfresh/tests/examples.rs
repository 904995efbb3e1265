//! Each paper's example prints what is written down: its tables, beside ours.
//!
//! After a wanted change: `TRYCMD=overwrite cargo test -p everfresh --test examples`, and read the difference.

#![allow(clippy::unwrap_used)]

#[test]
fn papers_come_out_as_printed() {
    let cases = trycmd::TestCases::new();
    // Cargo builds the examples before the tests, beside them.
    let built = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("examples");
    for paper in ["cgm99", "cgm00", "cgm03", "op08", "rn15"] {
        cases.register_bin(paper, built.join(paper).with_extension(std::env::consts::EXE_EXTENSION));
    }
    cases.case("tests/papers/*.md");
}

/// Not a paper's, but as fixed: the pages are simulated from a seed.
#[test]
fn learning_comes_out_as_written_down() {
    let cases = trycmd::TestCases::new();
    let built = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("examples");
    cases.register_bin("learning", built.join("learning").with_extension(std::env::consts::EXE_EXTENSION));
    cases.case("tests/learning/*.md");
}
