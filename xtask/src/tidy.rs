//! The rules of the project as a test.
//!
//! * crates depend downwards only;
//! * the pure crates do no IO, read no clock, start no thread and draw no random number;
//! * words that mean two things, and places of one machine, stand nowhere;
//! * no function is longer than [`LONGEST`] lines;
//! * no file is dead: every one is compiled, named by another, or known.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Lines of the longest function that is allowed, from `fn` to its brace.
pub const LONGEST: usize = 70;

/// Which crate may use which of ours.
const DIRECTION: [(&str, &[&str]); 7] = [
    ("everfresh", &[]),
    ("everfresh-sched", &["everfresh"]),
    ("everfresh-store", &["everfresh", "everfresh-sched"]),
    ("everfresh-crawl", &["everfresh"]),
    ("everfresh-sim", &["everfresh", "everfresh-sched"]),
    ("everfresh-cli", &["everfresh", "everfresh-sched", "everfresh-store", "everfresh-crawl", "everfresh-sim"]),
    ("xtask", &["everfresh", "everfresh-sched", "everfresh-store", "everfresh-crawl", "everfresh-sim"]),
];

/// Crates that compute and nothing else, and what they must not name.
const PURE: [&str; 2] = ["crates/everfresh/src", "crates/everfresh-sched/src"];
const IMPURE: [&str; 10] = [
    "std::fs",
    "std::io",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "std::time",
    "rand::rng",
    "rand::random",
    "rand::thread_rng",
];

/// What no file says. An "update" is a visit or a change: say which.
const BANNED: [&str; 8] = ["update", "updates", "updated", "updating", "fixme", "/work/", "/root/", "/home/"];

/// Where a banned word is somebody else's: a title, a command, the field of a feed.
const ALLOWED: [&str; 4] = ["apt-get update", "cargo update", "entry.updated", "Optimization of Update Frequencies"];

/// Files that are alive by their place.
const KNOWN: [&str; 14] = [
    "Cargo.toml",
    "Cargo.lock",
    "README.md",
    "ARCHITECTURE.md",
    "DESIGN.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "rustfmt.toml",
    "clippy.toml",
    ".gitignore",
    "config.toml",
    "run",
];

/// A file of the project.
struct Source {
    /// Relative to the root, with `/`.
    path: String,
    /// Nothing for a file that is not text.
    text: Option<String>,
}

/// Checks everything below `root` and returns a line for each problem.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let mut sources = Vec::new();
    collect(root, root, &mut sources)?;
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    let mut problems = Vec::new();
    for source in &sources {
        check_direction(source, &mut problems)?;
        check_purity(source, &mut problems)?;
        check_words(source, &mut problems);
        check_functions(source, &mut problems)?;
        check_alive(source, &sources, &mut problems);
    }
    Ok(problems)
}

fn collect(root: &Path, folder: &Path, sources: &mut Vec<Source>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path: PathBuf = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !["target", ".git"].contains(&name) && !name.starts_with("mutants.out") {
                collect(root, &path, sources)?;
            }
            continue;
        }
        let relative = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        let text = String::from_utf8(fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?).ok();
        sources.push(Source { path: relative, text });
    }
    Ok(())
}

fn check_direction(source: &Source, problems: &mut Vec<String>) -> Result<()> {
    let (Some(text), true) = (&source.text, source.path.ends_with("/Cargo.toml")) else { return Ok(()) };
    let manifest: toml::Table = text.parse().with_context(|| format!("cannot read {}", source.path))?;
    let Some(name) = manifest.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str)
    else {
        return Ok(());
    };
    let Some((_, allowed)) = DIRECTION.iter().find(|(crate_name, _)| *crate_name == name) else {
        problems.push(format!("{}: crate `{name}` has no place in the order of crates", source.path));
        return Ok(());
    };
    let targets = manifest.get("target").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::values);
    for table in targets.filter_map(toml::Value::as_table).chain([&manifest]) {
        for used in dependencies(table).filter(|used| used.starts_with("everfresh") && !allowed.contains(used)) {
            problems.push(format!("{}: `{name}` must not depend on `{used}`", source.path));
        }
    }
    Ok(())
}

/// The names of what a manifest, or a part of it for one target, depends on; the real ones where they are renamed.
fn dependencies(table: &toml::Table) -> impl Iterator<Item = &str> {
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"].into_iter();
    let all = kinds.filter_map(|kind| table.get(kind)).filter_map(toml::Value::as_table).flatten();
    all.map(|(name, value)| value.get("package").and_then(toml::Value::as_str).unwrap_or(name))
}

fn check_purity(source: &Source, problems: &mut Vec<String>) -> Result<()> {
    let (Some(text), true) = (&source.text, PURE.iter().any(|place| source.path.starts_with(place))) else {
        return Ok(());
    };
    let mut paths = Paths::default();
    paths.visit_file(&syn::parse_file(text).with_context(|| format!("cannot parse {}", source.path))?);
    for (path, line) in paths.found {
        for impure in IMPURE.iter().filter(|impure| path == **impure || path.starts_with(&format!("{impure}::"))) {
            problems.push(format!("{}:{line}: `{impure}` in a crate that only computes", source.path));
        }
    }
    Ok(())
}

/// Every path that a file names, in `use` declarations and elsewhere, with its line.
#[derive(Default)]
struct Paths {
    found: Vec<(String, usize)>,
}

impl Paths {
    fn follow(&mut self, before: &str, tree: &syn::UseTree) {
        let under = |name: &syn::Ident| if before.is_empty() { name.to_string() } else { format!("{before}::{name}") };
        match tree {
            syn::UseTree::Path(path) => self.follow(&under(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.found.push((under(&name.ident), name.span().start().line)),
            syn::UseTree::Rename(name) => self.found.push((under(&name.ident), name.span().start().line)),
            syn::UseTree::Glob(glob) => self.found.push((before.to_owned(), glob.span().start().line)),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.follow(before, tree)),
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.follow("", &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.found.push((names.join("::"), path.span().start().line));
        visit::visit_path(self, path);
    }
}

fn check_words(source: &Source, problems: &mut Vec<String>) {
    // This file must name what it forbids; the lock file is cargo's.
    let Some(text) =
        source.text.as_ref().filter(|_| !["xtask/src/tidy.rs", "Cargo.lock"].contains(&source.path.as_str()))
    else {
        return;
    };
    for (number, line) in text.lines().enumerate() {
        let line = ALLOWED.iter().fold(line.to_owned(), |line, allowed| line.replace(allowed, "")).to_lowercase();
        for banned in BANNED.iter().filter(|banned| has_word(&line, banned)) {
            problems.push(format!("{}:{}: `{banned}` is a banned word", source.path, number + 1));
        }
    }
}

/// Is the word there with no letter before or behind it? (A path begins and ends with its own marks.)
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let behind = line[at + word.len()..].chars().next();
        word.starts_with('/') || !before.is_some_and(char::is_alphabetic) && !behind.is_some_and(char::is_alphabetic)
    })
}

fn check_functions(source: &Source, problems: &mut Vec<String>) -> Result<()> {
    let (Some(text), true) = (&source.text, has_ending(&source.path, "rs")) else { return Ok(()) };
    let file = syn::parse_file(text).with_context(|| format!("cannot parse {}", source.path))?;
    let mut lengths = Lengths::default();
    lengths.visit_file(&file);
    for (name, line, length) in lengths.long {
        problems.push(format!("{}:{line}: `{name}` has {length} lines, more than {LONGEST}", source.path));
    }
    Ok(())
}

#[derive(Default)]
struct Lengths {
    long: Vec<(String, usize, usize)>,
}

impl Lengths {
    fn note(&mut self, signature: &syn::Signature, end: proc_macro2::Span) {
        let start = signature.span().start().line;
        let length = end.end().line + 1 - start;
        if length > LONGEST {
            self.long.push((signature.ident.to_string(), start, length));
        }
    }
}

impl<'ast> Visit<'ast> for Lengths {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.note(&function.sig, function.block.span());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.note(&function.sig, function.block.span());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.note(&function.sig, function.span());
        visit::visit_trait_item_fn(self, function);
    }
}

fn check_alive(source: &Source, sources: &[Source], problems: &mut Vec<String>) {
    let (folder, name) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let last_folder = folder.rsplit('/').next().unwrap_or_default();
    // What a failed property test leaves behind is not the project's.
    if ending == "proptest-regressions" {
        return;
    }
    let is_target = ending == "rs"
        && (["tests", "examples", "benches"].contains(&last_folder)
            || (last_folder == "src" && ["lib", "main"].contains(&stem)));
    if is_target || KNOWN.contains(&name) {
        return;
    }
    let others = || sources.iter().filter(|other| other.path != source.path).filter_map(|other| other.text.as_deref());
    let alive = if ending == "rs" {
        // A module is declared by the file above it.
        let module = if stem == "mod" { last_folder } else { stem };
        others().any(|text| text.contains(&format!("mod {module};")))
    } else {
        let pattern = format!("{last_folder}/*.{ending}");
        others().any(|text| text.contains(name) || text.contains(&pattern))
    };
    if !alive {
        problems.push(format!("{}: dead file: nothing names it", source.path));
    }
}

fn has_ending(path: &str, ending: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: Some(text.to_owned()) }
    }

    #[test]
    fn upward_dependencies_are_found() {
        let mut problems = Vec::new();
        for dependency in [
            "[dev-dependencies]\neverfresh-cli = \"1\"\nlibm = \"1\"",
            "[dependencies.innocent]\npackage = \"everfresh-cli\"",
            "[target.'cfg(unix)'.dependencies]\neverfresh-cli = \"1\"",
        ] {
            problems.clear();
            let manifest = format!("[package]\nname = \"everfresh\"\n{dependency}\n");
            check_direction(&one("crates/everfresh/Cargo.toml", &manifest), &mut problems).unwrap();
            assert_eq!(problems, ["crates/everfresh/Cargo.toml: `everfresh` must not depend on `everfresh-cli`"]);
        }
        problems.clear();
        check_direction(&one("crates/x/Cargo.toml", "[package]\nname = \"x\"\n"), &mut problems).unwrap();
        assert_eq!(problems, ["crates/x/Cargo.toml: crate `x` has no place in the order of crates"]);
    }

    #[test]
    fn clocks_and_files_in_pure_crates_are_found() {
        let check = |path: &str| {
            let mut problems = Vec::new();
            let text = "// std::fs is not used\nuse std::{fmt, fs};\nfn f() { let now = std::time::Instant::now(); }\n";
            check_purity(&one(path, text), &mut problems).unwrap();
            problems
        };
        let found = check("crates/everfresh/src/plan/mod.rs");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains(":2: `std::fs`") && found[1].contains(":3: `std::time`"), "{found:?}");
        assert!(check("crates/everfresh-cli/src/main.rs").is_empty());
    }

    #[test]
    fn banned_words_are_found() {
        let found = |line: &str| {
            let mut problems = Vec::new();
            check_words(&one("README.md", line), &mut problems);
            problems.len()
        };
        assert_eq!(found("we update the page"), 1);
        assert_eq!(found("Updated, and last_update"), 2);
        assert_eq!(found("run apt-get update first"), 0);
        assert_eq!(found("outdated pages"), 0);
        assert_eq!(found("see /work/notes"), 1);
    }

    #[test]
    fn long_functions_are_found() {
        let check = |lines: usize| {
            let mut problems = Vec::new();
            let text = format!("struct A;\nimpl A {{\nfn long() {{\n{}}}\n}}\n", "let x = 1;\n".repeat(lines));
            check_functions(&one("a.rs", &text), &mut problems).unwrap();
            problems
        };
        assert!(check(LONGEST - 2).is_empty());
        assert_eq!(check(LONGEST - 1), ["a.rs:3: `long` has 71 lines, more than 70"]);
    }

    #[test]
    fn dead_files_are_found() {
        let sources = [
            one("crates/a/src/lib.rs", "mod used;"),
            one("crates/a/src/used.rs", ""),
            one("crates/a/src/orphan.rs", ""),
            one("crates/a/tests/data/table.csv", ""),
            one("crates/a/tests/data/lost.csv", ""),
            one("crates/a/tests/cmd/x.md", ""),
            one("crates/a/tests/all.rs", "include_str!(\"data/table.csv\"); case(\"tests/cmd/*.md\")"),
        ];
        let mut problems = Vec::new();
        for source in &sources {
            check_alive(source, &sources, &mut problems);
        }
        let dead = ["crates/a/src/orphan.rs", "crates/a/tests/data/lost.csv"];
        assert_eq!(problems, dead.map(|path| format!("{path}: dead file: nothing names it")));
    }
}
