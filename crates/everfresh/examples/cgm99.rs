//! Cho & Garcia-Molina, *Synchronizing a database to improve freshness*, technical report, 1999: the gamma model.
//!
//! `cargo run --example cgm99`

#![allow(clippy::print_stdout, missing_docs)]

use everfresh::Error;
use everfresh::gamma_model::GammaModel;

/// Section 5.1, Table 3: the rates of the pages are gamma-distributed with relative standard deviation δ. The report prints
/// the formulas and plots two ratios (figure 7), with the claim that both stay below 1 for every r and δ: uniform is always
/// better than proportional, the more so the more the pages differ, and the age ratio hardly depends on r.
///
/// The formulas have removable singularities at δ² = 1/2 and 1 (the rows marked *); from δ = 1 on the age of the
/// proportional policy is infinite, since pages that hardly change are then hardly visited.
fn main() -> Result<(), Error> {
    println!("Table 3                  uniform             proportional          figure 7: ratios");
    println!(" delta     r     freshness   f x age    freshness   f x age    Fp/Fu   Au/Ap");
    let half = 0.5f64.sqrt();
    for (delta, mark) in [(0.0, ' '), (0.5, ' '), (half, '*'), (0.9, ' '), (1.0, '*'), (2.0, ' ')] {
        for r in [0.1, 1.0, 5.0] {
            row(delta, mark, r)?;
        }
    }
    Ok(())
}

fn row(delta: f64, mark: char, r: f64) -> Result<(), Error> {
    let model = GammaModel::new(delta)?;
    let (fu, au) = (model.uniform_freshness(r)?, model.uniform_age_in_periods(r)?);
    let (fp, ap) = (model.proportional_freshness(r)?, model.proportional_age_in_periods(r)?);
    println!(
        "{delta:>6.3}{mark} {r:>5.1} {fu:>12.6} {au:>10.6} {fp:>12.6} {ap:>10.6} {:>8.3} {:>7.3}",
        fp / fu,
        au / ap
    );
    assert!(fp <= fu * (1.0 + 1e-12) && au <= ap * (1.0 + 1e-12), "uniform must not be worse");
    Ok(())
}
