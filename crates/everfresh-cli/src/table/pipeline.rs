//! Work in parallel whose results come in order, with so many jobs in memory and no more.

use std::collections::BTreeMap;
use std::sync::mpsc;

use anyhow::{Result, bail};

use super::guard::guarded;
use crate::interrupt;

/// Jobs that may be under way or waiting for an earlier one: enough that no thread idles.
fn most() -> usize {
    let threads = rayon::current_num_threads();
    (2 * threads).min(threads + 6)
}

/// Does every job on rayon's pool and collects the results in the order of the jobs. The first error in that order is the one
/// that is told.
///
/// The jobs are drawn by the thread that calls, which waits for the pool: it must not be one of the pool's own.
pub(super) fn ordered<J: Send, T: Send>(
    jobs: impl Iterator<Item = Result<J>>,
    work: impl Fn(J) -> Result<T> + Sync,
    collect: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let work = &work;
    rayon::in_place_scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let mut line = Line { receiver, early: BTreeMap::new(), next: 0, collect };
        let mut begun = 0;
        let mut failure = None;
        for job in jobs {
            interrupt::check()?;
            let job = match job {
                Ok(job) => job,
                // What stands before the failure may have an error of its own, which comes first.
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            };
            while begun - line.next >= most() {
                line.advance()?;
                interrupt::check()?;
            }
            let (sender, number) = (sender.clone(), begun);
            scope.spawn(move |_| {
                // Nobody listens once an earlier job has failed.
                let _ = sender.send((number, guarded(|| work(job))));
            });
            begun += 1;
        }
        while line.next < begun {
            line.advance()?;
            interrupt::check()?;
        }
        failure.map_or(Ok(()), Err)
    })
}

/// Results on their way back into order.
struct Line<T, C> {
    receiver: mpsc::Receiver<(usize, Result<T>)>,
    early: BTreeMap<usize, Result<T>>,
    next: usize,
    collect: C,
}

impl<T, C: FnMut(T) -> Result<()>> Line<T, C> {
    /// Waits for one result and collects what is in order by then.
    fn advance(&mut self) -> Result<()> {
        let Ok((number, result)) = self.receiver.recv() else { bail!("a worker ended without a result") };
        self.early.insert(number, result);
        while let Some(result) = self.early.remove(&self.next) {
            self.next += 1;
            (self.collect)(result?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use anyhow::anyhow;

    use super::*;

    #[test]
    fn results_keep_their_order_and_few_are_under_way() {
        let (under_way, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut seen = Vec::new();
        let jobs = (0..500_u64).map(|number| {
            peak.fetch_max(under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            Ok(number)
        });
        let work = |number: u64| {
            std::thread::sleep(std::time::Duration::from_micros(number * 7919 % 300));
            Ok(number)
        };
        ordered(jobs, work, |number| {
            under_way.fetch_sub(1, Ordering::SeqCst);
            seen.push(number);
            Ok(())
        })
        .unwrap();
        assert!(seen.iter().copied().eq(0..500));
        assert!(peak.into_inner() <= most() + 1);
    }

    #[test]
    fn the_first_error_in_order_is_told() {
        let jobs = (0..100).map(|number| if number < 60 { Ok(number) } else { Err(anyhow!("no job {number}")) });
        let work = |number| if number % 50 == 49 { Err(anyhow!("job {number}")) } else { Ok(number) };
        assert_eq!(ordered(jobs, work, |_| Ok(())).unwrap_err().to_string(), "job 49");
        let jobs = (0..100).map(|number| if number < 10 { Ok(number) } else { Err(anyhow!("no job {number}")) });
        assert_eq!(ordered(jobs, work, |_| Ok(())).unwrap_err().to_string(), "no job 10");
        let panics = |_: i32| -> Result<()> { panic!("oh") };
        let error = ordered((0..9).map(Ok), panics, |()| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "the data is damaged: oh");
    }
}
