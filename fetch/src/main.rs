//! `dyno-fetch` brings prebuilt PostgreSQL servers into a cache on disk.
//!
//! It prints one JSON object on standard output; what it is doing goes to standard error.
//! Exit status: 0 done; 1 the index could not be reached or the cache not be written; 2 bad
//! arguments or an unknown version, in one line.

mod cache;
mod index;
mod version;

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cache::{Cache, Cached};
use index::IndexError;
use version::{Request, folder_name};

const HELP: &str = "\
usage: dyno-fetch postgres VERSION --into DIR [--json]
       dyno-fetch list postgres [--json]

Brings the prebuilt PostgreSQL VERSION (`17`: the newest 17; `17.6`: that release) into
DIR/postgres/17.6 and prints {\"version\": …, \"path\": …, \"cached\": …}. A release that is there
already is used without going online. `list` prints the newest release of each major.
The answer is always JSON; --json is accepted and changes nothing.";

/// What the command line asks for.
#[derive(Debug, PartialEq)]
enum Command {
    Fetch { version: String, into: PathBuf },
    List,
    Print(String),
}

/// Why nothing was brought, as one line, and whose fault it is.
#[derive(Debug)]
enum Failure {
    /// The arguments or the version: exit status 2.
    Input(String),
    /// The network, the index or the disk: exit status 1.
    World(String),
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::World(format!("{error:#}"))
    }
}

fn main() -> ExitCode {
    let outcome = parse(std::env::args().skip(1)).and_then(|command| match command {
        Command::Fetch { version, into } => fetch(&version, &into),
        Command::List => list(),
        Command::Print(text) => Ok(text),
    });
    let (text, status) = match outcome {
        Ok(answer) => {
            let written = writeln!(std::io::stdout(), "{answer}");
            return if written.is_ok() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            };
        }
        Err(Failure::Input(text)) => (text, 2),
        Err(Failure::World(text)) => (text, 1),
    };
    tell(text);
    ExitCode::from(status)
}

/// Reads the command line.
fn parse(arguments: impl Iterator<Item = String>) -> Result<Command, Failure> {
    let mut words = Vec::new();
    let mut into = None;
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => (),
            "--help" | "-h" => return Ok(Command::Print(HELP.to_owned())),
            "--version" => {
                return Ok(Command::Print(format!(
                    "dyno-fetch {}",
                    env!("CARGO_PKG_VERSION")
                )));
            }
            "--into" => {
                let folder = arguments.next().filter(|folder| !folder.is_empty());
                let missing = || Failure::Input("`--into` needs a folder".to_owned());
                into = Some(folder.map(PathBuf::from).ok_or_else(missing)?);
            }
            option if option.starts_with('-') => {
                return Err(Failure::Input(format!(
                    "unknown option `{option}`: see --help"
                )));
            }
            _ => words.push(argument),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match (words[..].as_ref(), into) {
        (["list", "postgres"], None) => Ok(Command::List),
        (["postgres", version], Some(into)) => Ok(Command::Fetch {
            version: (*version).to_owned(),
            into,
        }),
        (["postgres", _], None) => Err(Failure::Input("`--into DIR` is missing".to_owned())),
        _ => Err(Failure::Input(
            "say `dyno-fetch postgres VERSION --into DIR` or `dyno-fetch list postgres`".to_owned(),
        )),
    }
}

/// Finds or brings a version; the answer is the JSON object.
fn fetch(version: &str, into: &Path) -> Result<String, Failure> {
    let request = Request::parse(version).map_err(Failure::Input)?;
    let cache = Cache::new(into)?;
    if request.exact
        && let Some(found) = cache.find(&request)?
    {
        return Ok(answer(&found, true));
    }
    let version = match index::newest(&request.requirement) {
        Ok(version) => version,
        Err(IndexError::Unknown) => return Err(unknown(&request)),
        Err(IndexError::Failed(why)) => {
            let Some(found) = cache.find(&request)? else {
                return Err(unreachable(&why));
            };
            let name = folder_name(&found.version);
            tell(format!(
                "cannot ask for the newest {version} ({why}); {name} is here already"
            ));
            return Ok(answer(&found, true));
        }
    };
    let exact = Request::parse(&version.to_string()).map_err(Failure::World)?;
    if let Some(found) = cache.find(&exact)? {
        return Ok(answer(&found, true));
    }
    let lock = cache.lock(|| tell("another dyno-fetch is at work here; waiting for it"))?;
    if let Some(found) = cache.find(&exact)? {
        return Ok(answer(&found, true));
    }
    let name = folder_name(&version);
    tell(format!("fetching PostgreSQL {name}"));
    let package = index::download(&version, |seconds| {
        tell(format!("fetching PostgreSQL {name}: {seconds} s"));
    })
    .map_err(|error| match error {
        IndexError::Unknown => unknown(&request),
        IndexError::Failed(why) => unreachable(&why),
    })?;
    tell(format!(
        "unpacking PostgreSQL {name} ({} MB)",
        package.len() / 1_000_000
    ));
    let installed = cache.install(&lock, &version, |folder| index::extract(&package, folder))?;
    Ok(answer(&installed, false))
}

/// The newest release of each major as a JSON object.
fn list() -> Result<String, Failure> {
    match index::newest_of_each_major() {
        Ok(versions) => {
            let names: Vec<String> = versions.iter().map(folder_name).collect();
            Ok(serde_json::json!({"engine": "postgres", "versions": names}).to_string())
        }
        Err(IndexError::Failed(why)) => Err(unreachable(&why)),
        Err(IndexError::Unknown) => Err(unreachable("it lists no version")),
    }
}

fn answer(found: &Cached, cached: bool) -> String {
    serde_json::json!({
        "version": found.version.to_string(),
        "path": found.path,
        "cached": cached,
    })
    .to_string()
}

/// The line for a version that the index does not hold, with those that it does.
fn unknown(request: &Request) -> Failure {
    let hint = match index::newest_of_each_major() {
        Ok(versions) if !versions.is_empty() => {
            let names: Vec<String> = versions.iter().map(folder_name).collect();
            format!("the newest of each major are {}", names.join(", "))
        }
        _ => "see `dyno-fetch list postgres`".to_owned(),
    };
    Failure::Input(format!(
        "there is no prebuilt PostgreSQL `{}`: {hint}",
        request.text
    ))
}

fn unreachable(why: &str) -> Failure {
    Failure::World(format!(
        "the index of prebuilt servers gave no answer: {why}; check the network, or name a folder \
         with `bin/postgres` instead"
    ))
}

/// Writes a line for a person on standard error.
fn tell(text: impl Display) {
    // A closed standard error is no reason to stop.
    let _ = writeln!(std::io::stderr(), "dyno-fetch: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(line: &str) -> Result<Command, Failure> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn the_command_line_is_read_in_any_order() {
        for line in ["postgres 17 --into /x", "--into /x --json postgres 17"] {
            let command = parse_words(line).expect(line);
            let (version, into) = ("17".to_owned(), PathBuf::from("/x"));
            assert_eq!(command, Command::Fetch { version, into });
        }
        assert_eq!(parse_words("list postgres").expect("list"), Command::List);
    }

    #[test]
    fn a_bad_command_line_is_refused_with_what_is_missing() {
        for (line, word) in [
            ("postgres 17", "--into DIR"),
            ("postgres 17 --into", "--into"),
            ("postgres --into /x", "VERSION"),
            ("mysql 9 --into /x", "dyno-fetch postgres"),
            ("postgres 17 --into /x --fast", "--fast"),
            ("", "VERSION"),
        ] {
            let Err(Failure::Input(text)) = parse_words(line) else {
                panic!("{line} was taken")
            };
            assert!(text.contains(word), "{line}: {text}");
        }
    }

    #[test]
    fn an_exact_version_in_the_cache_needs_no_network_and_a_bad_one_is_refused() {
        let place = std::env::temp_dir().join(format!("dyno-fetch-main-{}", std::process::id()));
        let bin = place.join("postgres/17.6/bin");
        std::fs::create_dir_all(&bin).expect("folder");
        std::fs::copy("/bin/true", bin.join("postgres")).expect("a program");
        let found = fetch("17.6", &place);
        let _ = std::fs::remove_dir_all(&place);
        let found: serde_json::Value = serde_json::from_str(&found.expect("found")).expect("JSON");
        assert_eq!(found["version"], "17.6.0");
        assert_eq!(found["cached"], true);
        assert!(matches!(fetch("latest", &place), Err(Failure::Input(_))));
    }
}
