/// What became of one page in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PageScore {
    /// Its weight.
    pub weight: f64,
    /// How long it was there and counted, in seconds.
    pub live_s: f64,
    /// How long copy and source were equal, in seconds.
    pub fresh_s: f64,
    /// The integral over time of the age of the copy, in seconds squared.
    pub age_s2: f64,
    /// The integral over time of the divergence, in seconds.
    pub divergence_s: f64,
    /// How often it was visited.
    pub visits: u32,
}

/// How well a policy did: every page's part of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// The pages, in the world's order.
    pub pages: Vec<PageScore>,
    /// Changes of sources and visits that the run went through, counted or not.
    pub events: u64,
}

/// A mean and its standard error, over pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The weighted mean.
    pub mean: f64,
    /// Its standard error, pages being independent.
    pub error: f64,
}

impl Score {
    /// All visits that counted.
    pub fn visits(&self) -> u64 {
        self.pages.iter().map(|page| u64::from(page.visits)).sum()
    }

    /// Visits per second and page.
    pub fn load(&self) -> f64 {
        self.visits() as f64 / self.pages.iter().map(|page| page.live_s).sum::<f64>()
    }

    /// The share of time, by weight, that copies were equal to their sources.
    pub fn freshness(&self) -> Measured {
        self.mean_of(|page| page.fresh_s)
    }

    /// The mean age of copies, by weight, in seconds.
    pub fn age_s(&self) -> Measured {
        self.mean_of(|page| page.age_s2)
    }

    /// The mean divergence of copies from sources, by weight.
    pub fn divergence(&self) -> Measured {
        self.mean_of(|page| page.divergence_s)
    }

    /// `Σ w x / Σ w t`, with the standard error of a ratio: that of its residuals.
    fn mean_of(&self, part: impl Fn(&PageScore) -> f64) -> Measured {
        let whole: f64 = self.pages.iter().map(|page| page.weight * page.live_s).sum();
        let mean = self.pages.iter().map(|page| page.weight * part(page)).sum::<f64>() / whole;
        let residual = |page: &PageScore| page.weight * (part(page) - mean * page.live_s);
        let squares: f64 = self.pages.iter().map(|page| residual(page).powi(2)).sum();
        Measured { mean, error: squares.sqrt() / whole }
    }

    /// How much fresher this run kept the same pages than another: paired, page by page.
    pub fn fresher_than(&self, other: &Score) -> Measured {
        let pairs = self.pages.iter().zip(&other.pages);
        let difference = pairs.map(|(a, b)| PageScore { fresh_s: a.fresh_s - b.fresh_s, ..*a });
        Score { pages: difference.collect(), events: 0 }.freshness()
    }

    /// The score of every n-th page.
    #[must_use]
    pub fn sample(&self, step: usize) -> Score {
        Score { pages: self.pages.iter().step_by(step).copied().collect(), events: self.events }
    }
}
