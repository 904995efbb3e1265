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

/// A trace of pages that change every 10 to 20 days, most of them by a line of three.
fn write_trace(folder: &Path) {
    let (mut visits, mut shingles) =
        ("page,time_unix,content_hash,size,kind\n".to_owned(), "page,time_unix,n,added,removed\n".to_owned());
    let mut number: u64 = 7;
    let mut random = || {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (number >> 33) as f64 / f64::from(1u32 << 31)
    };
    for page in 0..60 {
        let (mut day, mut version) = (0.0, 0);
        let every = 9.0 + f64::from(page % 12);
        while day < 600.0 {
            let time = 1_600_000_000.0 + day * 86_400.0;
            visits.push_str(&format!("p{page},{time:.0},h{version},9,{}\n", if version == 0 { "f" } else { "u" }));
            let (added, removed) = if version == 0 {
                (format!("{page:x}1 {page:x}2 {page:x}3"), String::new())
            } else {
                let line = |version: u32| {
                    if version == 0 { format!("{page:x}1") } else { format!("{:x}", 0x10_0000 + 1000 * page + version) }
                };
                (line(version), line(version - 1))
            };
            shingles.push_str(&format!("p{page},{time:.0},3,{added},{removed}\n"));
            (day, version) = (day - every * (1.0 - random()).ln(), version + 1);
        }
    }
    std::fs::create_dir_all(folder).unwrap();
    let gzip = |name: &str, text: &str| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
        std::fs::write(folder.join(name), packed.finish().unwrap()).unwrap();
    };
    gzip("visits.csv.gz", &visits);
    std::fs::write(folder.join("shingles.csv.zst"), zstd::encode_all(shingles.as_bytes(), 1).unwrap()).unwrap();
}

/// Recorded pages stand in for what is not public, are named, and are not judged.
#[test]
fn a_trace_stands_in_for_data_that_are_not_public() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, out) = (folder.path().join("my terms"), folder.path().join("report"));
    write_trace(&trace);
    let [trace, out] = [&trace, &out].map(|path| path.to_str().unwrap());
    let report: Value =
        serde_json::from_str(&papers(&["--only", "CGM03,OP08", "--data", trace, "--json", "--out", out])).unwrap();
    let exhibits = report["exhibits"].as_array().unwrap();
    let traced: Vec<&Value> =
        exhibits.iter().filter(|exhibit| exhibit["name"].as_str().unwrap().ends_with("(my terms)")).collect();
    let names: Vec<&str> = traced.iter().map(|exhibit| exhibit["name"].as_str().unwrap()).collect();
    let wanted = ["14", "15", "17", "3", "6", "8", "9", "10", "11"].map(|number| format!("Figure {number} (my terms)"));
    assert_eq!(names, wanted);
    for number in traced.iter().flat_map(|exhibit| exhibit["numbers"].as_array().unwrap()) {
        assert_eq!(number["verdict"], "world", "{number}");
    }
    // Poisson pages, as they are, keep to the curves and to the exponential law.
    let number = |exhibit: &str, row: &str, column: &str| {
        let exhibit = traced.iter().find(|found| found["name"] == format!("Figure {exhibit} (my terms)")).unwrap();
        let found = exhibit["numbers"]
            .as_array()
            .unwrap()
            .iter()
            .find(|number| number["row"] == row && number["column"] == column);
        found.unwrap()["ours"].as_f64().unwrap()
    };
    assert!((number("15", "fixed order", "freshness, r = 0.50") - 0.787).abs() < 0.05);
    let deviation = number("14", "(a) every 10 days", "standard deviation of gaps over their mean");
    assert!((0.8..1.2).contains(&deviation), "{deviation}");
    assert!((number("17", "a month", "share of pages, plain estimate") - 1.0).abs() < 0.2);
    assert!(Path::new(out).join("cgm03-figure-14-my-terms.csv").exists());
    let twice = Command::new(env!("CARGO_BIN_EXE_everfresh"))
        .args(["papers", "--data", trace, "--data", trace])
        .output()
        .unwrap();
    assert_eq!(twice.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&twice.stderr).contains("two traces have the name `my terms`"));
}
