use everfresh::{Error, Result};
use std::fmt;
use std::path::{Path, PathBuf};
use url::Url;

/// Where a page is, and thereby which kind of source is asked.
///
/// | written | kind |
/// | --- | --- |
/// | `http://...`, `https://...` | [`Address::Http`] |
/// | `file:///path`, `file:path`, `/path`, `./path`, `../path` | [`Address::File`] |
/// | `exec:program argument 'quoted argument'` | [`Address::Command`], from [`Address::configured`] only |
///
/// ```
/// use everfresh_crawl::fetch::Address;
///
/// assert_eq!(Address::of_page("HTTPS://Example.com:443/a#top")?.to_string(), "https://example.com/a");
/// assert!(Address::of_page("exec:rm -r .").is_err());
/// assert_eq!(Address::configured("exec:df -h")?.to_string(), "exec:df%20-h");
/// assert_eq!(Address::configured("exec:df%20-h")?, Address::configured("exec:df -h")?);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A page of the web, without a fragment.
    Http(Url),
    /// A file, or a directory, whose listing is the content.
    File(PathBuf),
    /// The output of a command.
    Command(Argv),
}

/// A program and its arguments, as they are handed to it: no shell reads them. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Argv(Vec<String>);

impl Argv {
    /// A program with its arguments; there must be a program.
    pub fn new(words: Vec<String>) -> Result<Argv> {
        let empty = words.first().is_none_or(String::is_empty);
        if empty { Err(Error::Empty("a command must name a program")) } else { Ok(Argv(words)) }
    }

    /// The program.
    pub fn program(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// What it is handed.
    pub fn arguments(&self) -> &[String] {
        self.0.get(1..).unwrap_or_default()
    }
}

impl Address {
    /// An address from a list of pages: whoever writes a list must not be able to run programs.
    pub fn of_page(text: &str) -> Result<Address> {
        match Address::configured(text)? {
            Address::Command(_) => Err(unreadable(text, "commands may stand in the configuration only")),
            address => Ok(address),
        }
    }

    /// An address that a feed or a sitemap found here names, seen from here: whoever writes a page of the web must not be able to
    /// have files of this machine read. What a command prints may come from anywhere.
    ///
    /// ```
    /// use everfresh_crawl::fetch::Address;
    ///
    /// let feed = Address::of_page("https://a.example/blog/feed.xml")?;
    /// assert_eq!(feed.link("posts/1")?.to_string(), "https://a.example/blog/posts/1");
    /// assert_eq!(feed.link("//b.example/2")?.to_string(), "https://b.example/2");
    /// assert!(feed.link("file:///etc/passwd").is_err());
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn link(&self, text: &str) -> Result<Address> {
        let base = match self {
            Address::Http(url) => Some(url.clone()),
            Address::File(path) => Url::from_file_path(path).ok(),
            Address::Command(_) => None,
        };
        let named = match base {
            Some(base) => Address::of_page(base.join(text.trim()).map_err(|error| unreadable(text, error))?.as_str()),
            None => Address::of_page(text),
        };
        match (self, named?) {
            (_, named @ Address::Http(_)) | (Address::File(_), named) => Ok(named),
            _ => Err(unreadable(text, "only files may name files")),
        }
    }

    /// An address from the operator's own configuration, which may also name commands.
    pub fn configured(text: &str) -> Result<Address> {
        let text = text.trim();
        let scheme = text.split_once(':').map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest));
        match scheme {
            Some((scheme, _)) if scheme == "http" || scheme == "https" => web(text),
            Some((scheme, rest)) if scheme == "file" => file(text, rest),
            Some((scheme, rest)) if scheme == "exec" => command(text, rest),
            _ if ["/", "./", "../"].iter().any(|start| text.starts_with(start)) => Ok(Address::File(text.into())),
            _ => Err(unreadable(text, "it must begin with http://, https://, file:, / or ./")),
        }
    }

    /// What is spared and limited together: for the web scheme, name and port, for all files and commands one name each.
    pub fn host(&self) -> String {
        match self {
            Address::Http(url) => url.origin().ascii_serialization(),
            Address::File(_) => "file:".to_owned(),
            Address::Command(_) => "exec:".to_owned(),
        }
    }
}

fn unreadable(text: &str, why: impl fmt::Display) -> Error {
    Error::Unreadable { what: "page address", text: text.to_owned(), why: why.to_string() }
}

fn web(text: &str) -> Result<Address> {
    let mut url = Url::parse(text).map_err(|error| unreadable(text, error))?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err(unreadable(text, "it names no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(unreadable(text, "it must not have a user name or password in it"));
    }
    url.set_fragment(None);
    Ok(Address::Http(url))
}

fn file(text: &str, rest: &str) -> Result<Address> {
    if rest.is_empty() {
        return Err(unreadable(text, "it names no file"));
    }
    if !rest.starts_with("//") {
        return Ok(Address::File(rest.into()));
    }
    let url = Url::parse(text).map_err(|error| unreadable(text, error))?;
    url.to_file_path().map(Address::File).map_err(|()| unreadable(text, "it names a file on another machine"))
}

fn command(text: &str, rest: &str) -> Result<Address> {
    // The name of a copy has no white space: it is what was escaped there.
    let unescaped = percent_encoding::percent_decode_str(rest).decode_utf8();
    let is_name = !rest.contains(char::is_whitespace);
    let rest = if let (true, Ok(unescaped)) = (is_name, &unescaped) { unescaped } else { rest };
    let words = shlex::split(rest).ok_or_else(|| unreadable(text, "a quotation mark is open"))?;
    Argv::new(words).map(Address::Command).map_err(|error| unreadable(text, error))
}

/// As a URI, which is the name under which the copy is kept.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Http(url) => f.write_str(url.as_str()),
            Address::File(path) => f.write_str(&file_uri(path)),
            Address::Command(argv) => {
                let quoted = shlex::try_join(argv.0.iter().map(String::as_str)).map_err(|_| fmt::Error)?;
                write!(f, "exec:{}", escaped(&quoted))
            }
        }
    }
}

fn file_uri(path: &Path) -> String {
    match Url::from_file_path(path) {
        Ok(url) => url.into(),
        // A relative path: it has no place of its own in a URI, so it is kept as it was written.
        Err(()) => format!("file:{}", escaped(&path.to_string_lossy())),
    }
}

/// Percent-encodes what must not stand in a URI (RFC 3986 section 2).
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/+=,:@".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_decides_which_source_is_asked() {
        let kind = |text: &str| match Address::configured(text) {
            Ok(Address::Http(_)) => "http",
            Ok(Address::File(_)) => "file",
            Ok(Address::Command(_)) => "command",
            Err(_) => "error",
        };
        for (text, expected) in [
            ("http://example.com", "http"),
            (" https://example.com/ ", "http"),
            ("file:///etc/hosts", "file"),
            ("file:notes.txt", "file"),
            ("./notes.txt", "file"),
            ("/etc/hosts", "file"),
            ("exec:uname -a", "command"),
            ("exec:", "error"),
            ("exec:'open", "error"),
            ("exec:''", "error"),
            ("http://", "error"),
            ("http://user:secret@example.com/", "error"),
            ("file://elsewhere/etc/hosts", "error"),
            ("ftp://example.com/", "error"),
            ("javascript:alert(1)", "error"),
            ("example.com", "error"),
            ("", "error"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn the_web_names_pages_of_the_web_only_and_commands_none_of_this_machine() {
        let link = |from: &str, text: &str| {
            Address::configured(from).unwrap().link(text).map_or_else(|_| "-".to_owned(), |address| address.to_string())
        };
        for (from, text, expected) in [
            ("http://a/x/feed", " /posts/1 ", "http://a/posts/1"),
            ("http://a/x/feed", "posts/1#top", "http://a/x/posts/1"),
            ("https://a/x/feed", "//b/x", "https://b/x"),
            ("http://a/x/feed", "https://b/", "https://b/"),
            ("http://a/x/feed", "file:///tmp/secret.txt", "-"),
            ("http://a/x/feed", "FILE:secret.txt", "-"),
            ("http://a/x/feed", "exec:id", "-"),
            ("file:///x/feed.xml", "posts/1", "file:///x/posts/1"),
            ("file:///x/feed.xml", "http://a/", "http://a/"),
            ("file:///x/feed.xml", "exec:id", "-"),
            ("exec:curl http://a/feed", "http://a/1", "http://a/1"),
            ("exec:curl http://a/feed", "/etc/hosts", "-"),
        ] {
            assert_eq!(link(from, text), expected, "{from} {text}");
        }
    }

    #[test]
    fn a_command_is_split_as_a_shell_would_but_read_by_none() {
        let Address::Command(argv) = Address::configured("exec:echo 'a b' $HOME").unwrap() else {
            panic!("no command")
        };
        assert_eq!((argv.program(), argv.arguments()), ("echo", ["a b".to_owned(), "$HOME".to_owned()].as_slice()));
    }
}
