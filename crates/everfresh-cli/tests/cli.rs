//! Whole outputs of the program, and the commands of the README, as snapshots.
//!
//! After a wanted change: `TRYCMD=overwrite cargo test -p everfresh-cli --test cli`, and read the difference.

#[test]
fn commands_print_what_is_written_down() {
    trycmd::TestCases::new().case("tests/cmd/*.md").case("../../README.md");
}
