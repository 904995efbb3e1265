//! The rules of the project hold, its pictures are the ones that the code draws, and its benchmark runs.

#![allow(clippy::unwrap_used)]

#[test]
fn the_project_is_tidy() {
    let problems = xtask::tidy::check(&xtask::root()).unwrap();
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn the_pictures_are_current() {
    for (path, picture) in xtask::figures::all().unwrap() {
        let kept = std::fs::read_to_string(xtask::root().join(path)).unwrap();
        assert!(kept == picture, "{path} is not what the code draws: run `cargo xtask figures`");
    }
}

/// The benchmark runs, and its plan spends the budget; what it measures here means nothing.
#[test]
fn the_benchmark_runs() {
    let text = xtask::bench::run(xtask::bench::Options { pages: 20_000, rival_pages: 0, runs: 1 }).unwrap();
    assert!(text.contains("spent 1.000000000") || text.contains("spent 0.999999999"), "{text}");
}
