use everfresh::Order;
use everfresh_sim::contest::Entrant as E;
use everfresh_sim::trace::{Window, load};
use everfresh_sim::{Conditions, world::*};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let content = std::env::var("CONTENT").is_ok();
    let names = std::env::var("LIST").unwrap_or("uniform,optimal,posterior,harmonic,content".into());
    let list: Vec<E> = names.split(',').map(|n| E::named(n).unwrap()).collect();
    println!("{:>14} {:>5} {}", "", "", list.iter().map(|e| format!("{:>13}", e.name())).collect::<String>());
    for name in &args[1..] {
        let (mut world, duration) = if let Some(h) = name.strip_prefix('@') {
            let habit = match h {
                "bursty" => Habit::Bursty,
                "drifting" => Habit::Drifting,
                "periodic" => Habit::Periodic,
                "mortal" => Habit::Mortal,
                "regions" => Habit::Regions,
                _ => Habit::Poisson,
            };
            let d = 365.0 * 86400.0;
            (
                Synthetic {
                    pages: 4000,
                    rates: Rates::Lognormal,
                    weights: Weights::Uniform,
                    habit,
                    duration_s: d,
                    seed: 7,
                }
                .build(),
                d,
            )
        } else {
            load(
                std::path::Path::new(name),
                &Window { from_unix: Some(1_672_531_200.0), to_unix: None, with_fragments: content },
            )
            .unwrap()
        };
        let keep: usize = std::env::var("PAGES").map_or(1500, |v| v.parse().unwrap());
        world = world.sample(keep);
        for days in std::env::var("DAYS").unwrap_or("7,30,90".into()).split(",").map(|d| d.parse::<f64>().unwrap()) {
            let (duration, warmup) = if name.starts_with('@') {
                (
                    std::env::var("VISITS").map_or(60.0, |v| v.parse::<f64>().unwrap()) * days * 86400.0,
                    std::env::var("WARM").map_or(20.0, |v| v.parse::<f64>().unwrap()) * days * 86400.0,
                )
            } else {
                (duration, 0.0)
            };
            let c = Conditions {
                duration_s: duration,
                warmup_s: warmup,
                budget: 1.0 / (days * 86400.0),
                price: 0.0,
                order: Order::Fixed,
                seed: 1,
            };
            let start = std::time::Instant::now();
            let seeds: u64 = std::env::var("SEEDS").map_or(3, |v| v.parse().unwrap());
            let scores = |e: E| {
                (0..seeds)
                    .map(|seed| {
                        let s = e.run_held(&world, &Conditions { seed, ..c }, &|_| true).unwrap();
                        if content { 1.0 - s.divergence().mean } else { s.freshness().mean }
                    })
                    .collect::<Vec<f64>>()
            };
            let base = scores(E::Uniform);
            let cells: Vec<String> = list
                .iter()
                .map(|e| {
                    let s = scores(*e);
                    let d: Vec<f64> = s.iter().zip(&base).map(|(a, b)| a - b).collect();
                    let m = d.iter().sum::<f64>() / seeds as f64;
                    let se =
                        (d.iter().map(|x| (x - m).powi(2)).sum::<f64>() / (seeds as f64 - 1.0) / seeds as f64).sqrt();
                    format!(
                        " {:>6.4}{:>+6.1}",
                        s.iter().sum::<f64>() / seeds as f64,
                        if se > 0.0 { m / se } else { 0.0 }
                    )
                })
                .collect();
            if name.starts_with('@') {
                let f = |e: E| e.run_held(&world, &c, &|_| true).unwrap().freshness().mean;
                let (u, o) = (f(E::Uniform), f(E::Optimal));
                print!(
                    "{:?} ",
                    list.iter().map(|e| ((f(*e) - u) / (o - u) * 1000.0).round() / 10.0).collect::<Vec<_>>()
                );
            }
            println!("{:>14} {:>5} {} {:.1}s", world.name, days, cells.join(""), start.elapsed().as_secs_f64());
        }
    }
}
