//! The rules of the project hold, and its pictures are the ones that the code draws.

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
