//! What `everfresh papers` writes: a page that needs nothing else, in the reader's colours, and all numbers beside it.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn papers(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_everfresh")).arg("papers").args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_page_needs_nothing_else_and_names_what_is_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("deep/report");
    papers(&["--out", out.to_str().unwrap()]);
    let page = read(&out.join("papers.html"));
    for outside in ["http://www.w3.org", "https://", "<script", "<link", "@import", "src="] {
        // The name of SVG is no address.
        let found = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "").contains(outside);
        assert!(!found, "the page fetches {outside}");
    }
    let mut files = 0;
    for entry in std::fs::read_dir(&out).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "papers.html" || page.contains(&format!("href=\"{name}\"")), "{name} is not named by the page");
        files += 1;
    }
    assert_eq!(page.matches(".csv\"").count(), files - 1, "every file that the page names is there");
}

#[test]
fn the_page_is_light_or_dark_as_its_reader_is() {
    let folder = tempfile::tempdir().unwrap();
    papers(&["--only", "CGM03,RN15", "--out", folder.path().to_str().unwrap()]);
    let page = read(&folder.path().join("papers.html"));
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("width=device-width"));
    let (style, body) = page.split_once("</style>").unwrap();
    assert!(body.matches("<svg").count() > 20);
    assert!(!body.contains("fill=\"#") && !body.contains("stroke=\"#"), "a colour that is the same by day and night");
    for variable in body.split("var(").skip(1).map(|rest| rest.split(')').next().unwrap()) {
        assert_eq!(style.matches(&format!("{variable}:")).count(), 2, "{variable} must have two colours");
    }
}

#[test]
fn json_and_csv_have_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--only", "rn15", "--json", "--out", folder.path().to_str().unwrap()];
    let report: Value = serde_json::from_str(&papers(&arguments)).unwrap();
    let exhibits = report["exhibits"].as_array().unwrap();
    let table = exhibits.iter().find(|exhibit| exhibit["name"] == "Table 2").unwrap();
    assert_eq!(table["numbers"][0]["printed"], 94.0);
    let csv = read(&folder.path().join("rn15-table-2.csv"));
    let first: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!([first[0], first[1], first[3], first[4]], ["age 25", "every 0.25 years", "94", "match"]);
    let ours = table["numbers"][0]["ours"].as_f64().unwrap();
    // Reading JSON may move the last digit.
    assert!((first[2].parse::<f64>().unwrap() - ours).abs() < 1e-12);
    let judged = |verdict: &str| {
        let numbers = exhibits.iter().flat_map(|exhibit| exhibit["numbers"].as_array().unwrap());
        numbers.filter(|number| number["verdict"] == verdict).count()
    };
    assert_eq!(report["matches"], judged("match"));
    assert_eq!(report["slips"], judged("slip"));
    assert_eq!(report["printed_numbers"], judged("match") + judged("near") + judged("slip") + judged("differs"));
}

#[test]
fn another_seed_moves_only_the_worlds() {
    let matches = |seed: &str| {
        let text = papers(&["--only", "CGM03,OP08", "--seed", seed]);
        text.lines().filter(|line| line.starts_with("all ")).collect::<String>()
    };
    assert_eq!(matches("1"), matches("2"));
}
