//! The rules of the project hold, its pictures are the ones that the code draws, and its benchmarks run.

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

/// The benchmarks run, a plan spends the budget, a prior is found; what they measure here means nothing.
#[test]
fn the_benchmarks_run() {
    let text = xtask::bench::run(xtask::bench::Options { pages: 20_000, rival_pages: 0, runs: 1, hosts: 50 }).unwrap();
    assert!(text.contains("spent 1.000000000") || text.contains("spent 0.999999999"), "{text}");
    let text =
        xtask::bench_estimate::run(xtask::bench::Options { pages: 2_000, rival_pages: 0, runs: 1, hosts: 50 }).unwrap();
    assert!(text.contains("prior of all pages: shape 0.2") || text.contains("shape 0.3"), "{text}");
    let text =
        xtask::bench_longevity::run(xtask::bench::Options { pages: 300, rival_pages: 0, runs: 1, hosts: 0 }).unwrap();
    assert!(text.contains("8-grams and a sketch of 256") && text.contains("1 of 12 points"), "{text}");
    let text =
        xtask::bench_simulate::run(xtask::bench::Options { pages: 20, rival_pages: 0, runs: 1, hosts: 0 }).unwrap();
    assert!(text.contains("stormcrawler"), "{text}");
}
