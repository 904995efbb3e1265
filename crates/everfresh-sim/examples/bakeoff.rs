use everfresh::Order;
use everfresh_sim::contest::Entrant as E;
use everfresh_sim::trace::{Window, load};
use everfresh_sim::{Conditions, world::*};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let content = std::env::var("CONTENT").is_ok();
    let list = [E::Uniform, E::Optimal, E::Posterior, E::Harmonic, E::Content, E::NutchAdaptive, E::StormCrawler, E::NewsCrawl, E::Heritrix, E::Miniflux];
    println!("{:>14} {:>5} {}", "", "", list.map(|e| format!("{:>12}", e.name())).join(""));
    for name in &args[1..] {
        let (world, duration) = if let Some(h) = name.strip_prefix('@') {
            let habit = match h { "bursty" => Habit::Bursty, "drifting" => Habit::Drifting, "periodic" => Habit::Periodic, "mortal" => Habit::Mortal, "regions" => Habit::Regions, _ => Habit::Poisson };
            let d = 365.0 * 86400.0;
            (Synthetic { pages: 4000, rates: Rates::Lognormal, weights: Weights::Uniform, habit, duration_s: d, seed: 7 }.build(), d)
        } else {
            load(std::path::Path::new(name), &Window { from_unix: Some(1_672_531_200.0), to_unix: None, with_fragments: content }).unwrap()
        };
        for days in [1.0, 7.0, 30.0, 90.0] {
            let c = Conditions { duration_s: duration, warmup_s: 0.0, budget: 1.0 / (days * 86400.0), order: Order::Fixed, seed: 1 };
            let start = std::time::Instant::now();
            let base = E::Uniform.run(&world, &c, &|_| true).unwrap();
            let cells: Vec<String> = list.iter().map(|e| {
                let s = e.run_held(&world, &c, &|_| true).unwrap();
                let (v, d) = if content { (s.divergence(), s.closer_than(&base)) } else { (s.freshness(), s.fresher_than(&base)) };
                format!("{:>6.4}{:>+6.1}", v.mean, if d.error > 0.0 { d.mean / d.error } else { 0.0 })
            }).collect();
            let loads: Vec<String> = list.iter().take(3).map(|e| format!("{:.2}", e.run_held(&world, &c, &|_| true).unwrap().load() * days * 86400.0)).collect();
            println!("{:>14} {:>5} {} {} {:.1}s", world.name, days, cells.join(""), loads.join(" "), start.elapsed().as_secs_f64());
        }
    }
}
