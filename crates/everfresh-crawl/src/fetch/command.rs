use super::address::{Address, Argv};
use super::limits::Limits;
use super::visit::{Ask, Failure, Fetched, Hints, Outcome, Reason, Visit};
use super::{Looking, Source};
use bytes::Bytes;
use std::process::{ExitStatus, Stdio};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// What is kept of a command's complaints.
const COMPLAINT_BYTES: usize = 2048;

/// Commands, whose output is the content.
///
/// A command is run by no shell, reads nothing, and has our environment. It ends with status 0 in time, or the visit fails;
/// when it takes too long or writes too much, it is killed with whatever it started.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    limits: Limits,
}

impl Commands {
    /// Within [`Limits::visit`] and [`Limits::body_bytes`]; the others have no meaning here.
    pub fn new(limits: Limits) -> Commands {
        Commands { limits }
    }

    async fn visit(&self, ask: &Ask) -> Visit {
        let Address::Command(argv) = &ask.address else {
            return Visit::failed(Reason::Unsupported, format!("`{}` is not a command", ask.address));
        };
        let outcome = self.output(argv).await.map_or_else(Outcome::Failed, |body| {
            let (address, hints) = (ask.address.to_string(), Hints::default());
            Outcome::Fetched(Fetched { address, content_type: None, body, hints, exchange: None })
        });
        Visit::of(outcome)
    }

    async fn output(&self, argv: &Argv) -> Result<Bytes, Failure> {
        let mut running = Running::start(argv)?;
        let finished = timeout(self.limits.visit, running.finish(self.limits.body_bytes)).await;
        let (status, output, complaint) =
            finished.map_err(|_| Failure::new(Reason::Timeout, "the command took longer than its limit"))??;
        if status.success() {
            return Ok(output.into());
        }
        let complaint = String::from_utf8_lossy(&complaint);
        let complaint = complaint.trim();
        let behind = if complaint.is_empty() { String::new() } else { format!(": {complaint}") };
        Err(Failure::new(Reason::Local, format!("the command ended with {status}{behind}")))
    }
}

impl Source for Commands {
    fn look<'a>(&'a self, ask: &'a Ask) -> Looking<'a> {
        Box::pin(self.visit(ask))
    }
}

/// A command that is running; dropped, it and whatever it started are killed.
struct Running {
    child: Child,
}

impl Running {
    fn start(argv: &Argv) -> Result<Running, Failure> {
        let mut command = Command::new(argv.program());
        command.args(argv.arguments()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command
            .spawn()
            .map_err(|error| Failure::new(Reason::Local, format!("cannot run `{}`: {error}", argv.program())))?;
        Ok(Running { child })
    }

    /// How it ended, what it wrote, and the beginning of what it complained.
    async fn finish(&mut self, most: usize) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), Failure> {
        let (output, complaint) = (self.child.stdout.take(), self.child.stderr.take());
        let output = async { taken(output, most, false).await };
        let complaint = async { taken(complaint, COMPLAINT_BYTES, true).await };
        let (output, complaint) = tokio::try_join!(output, complaint)?;
        let status = self.child.wait().await.map_err(|error| local(&error))?;
        Ok((status, output, complaint))
    }
}

fn local(error: &std::io::Error) -> Failure {
    Failure::new(Reason::Local, format!("cannot read from the command: {error}"))
}

/// Reads a pipe to its end. What is beyond `most` is a failure, or read and forgotten.
async fn taken(pipe: Option<impl AsyncRead + Unpin>, most: usize, forget: bool) -> Result<Vec<u8>, Failure> {
    let Some(mut pipe) = pipe else { return Ok(Vec::new()) };
    let mut out = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    loop {
        let read = pipe.read(&mut buffer).await.map_err(|error| local(&error))?;
        if read == 0 {
            return Ok(out);
        }
        let room = most - out.len();
        out.extend_from_slice(&buffer[..read.min(room)]);
        if read > room && !forget {
            return Err(Failure::new(Reason::TooLarge, "the command wrote more than the limit"));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // While the child was not waited for, its number is its own, and the group's.
        #[cfg(unix)]
        if let Some(group) = self.child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?)) {
            // That it has just ended by itself is no fault.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}
