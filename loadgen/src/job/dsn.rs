//! A server's place as one text: libpq's URIs and its lists of `key=value`, and the URIs of MySQL's clients.
//!
//! (PostgreSQL documentation, "Connection Strings".) What those would choose by itself or may do
//! either way is refused with the remedy: a benchmark has to be of what was written. No message
//! quotes a value that may be a password.

mod given;
mod words;

use super::place::Place;
use given::Given;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use words::{Key, MYSQL, POSTGRES, Words};

/// A DSN as it was written, and what it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Dsn {
    text: String,
    /// What it says.
    pub place: Place,
    /// Whether its scheme is one of MySQL's protocol.
    pub is_mysql: bool,
}

impl TryFrom<String> for Dsn {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (place, is_mysql) = parse(&text)?;
        Ok(Self {
            text,
            place,
            is_mysql,
        })
    }
}

impl From<Dsn> for String {
    fn from(dsn: Dsn) -> Self {
        dsn.text
    }
}

/// Returns the place, and whether it is one of MySQL's protocol.
fn parse(text: &str) -> Result<(Place, bool), String> {
    let schemes = [
        ("postgresql://", &POSTGRES, false),
        ("postgres://", &POSTGRES, false),
        ("mysql://", &MYSQL, true),
        ("mariadb://", &MYSQL, true),
    ];
    let known = schemes
        .iter()
        .find_map(|(scheme, words, is_mysql)| Some((text.strip_prefix(scheme)?, words, is_mysql)));
    match known {
        Some((rest, words, is_mysql)) => Ok((of_uri(rest, words)?.place()?, *is_mysql)),
        None if begins_with_a_scheme(text) => Err(
            "begins with no scheme that is known; say postgresql://, mysql:// or mariadb://"
                .to_owned(),
        ),
        None => Ok((of_list(text)?.place()?, false)),
    }
}

/// Reads what follows the scheme: `[user@][host][:port][,…][/database][?key=value&…]`.
fn of_uri(rest: &str, words: &'static Words) -> Result<Given, String> {
    let mut given = Given::new(words);
    let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, hosts) = authority.split_once('@').unwrap_or(("", authority));
    if user.contains(':') {
        return Err(
            "holds a password; remove it and name its place by `server.password`".to_owned(),
        );
    }
    let mut places = Vec::new();
    for host in hosts.split(',') {
        places.push(host_and_port(host)?);
    }
    let list = |part: fn(&(String, String)) -> &str| {
        let all: Vec<&str> = places.iter().map(part).collect();
        let any = all.iter().any(|part| !part.is_empty());
        any.then(|| all.join(","))
    };
    let parts = [
        (
            Key::User,
            Some(decoded("user", user)?).filter(|user| !user.is_empty()),
        ),
        (Key::Host, list(|(host, _)| host)),
        (Key::Port, list(|(_, port)| port)),
        (
            Key::Database,
            Some(decoded(words.name(Key::Database), database)?).filter(|name| !name.is_empty()),
        ),
    ];
    for (key, value) in parts {
        if let Some(value) = value {
            given.put(key, value)?;
        }
    }
    for parameter in parameters.split('&').filter(|text| !text.is_empty()) {
        let (key, value) = parameter
            .split_once('=')
            .ok_or("has a parameter without `=`; write ?key=value&key=value")?;
        let key = decoded("a key", key)?;
        let value = decoded(&key.escape_debug().to_string(), value)?;
        given.set(&key, value)?;
    }
    Ok(given)
}

/// Cuts `host:port`, where an IPv6 address stands in brackets and either may be missing.
fn host_and_port(text: &str) -> Result<(String, String), String> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest
            .split_once(']')
            .ok_or("an IPv6 address does not end; close its bracket")?;
        match rest.strip_prefix(':') {
            Some(port) => (host, port),
            None if rest.is_empty() => (host, ""),
            None => return Err("something stands behind an IPv6 address; write [::1]:5432".into()),
        }
    } else {
        let (host, port) = text.split_once(':').unwrap_or((text, ""));
        if port.contains(':') {
            return Err("has too many colons; write an IPv6 address in brackets".to_owned());
        }
        (host, port)
    };
    Ok((decoded("host", host)?, port.to_owned()))
}

fn decoded(what: &str, text: &str) -> Result<String, String> {
    let wrong = || format!("{what} is not percent-encoded as it should be; write % as %25");
    let whole = text.split('%').skip(1).all(|after| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    let decoded = percent_decode_str(text).decode_utf8();
    match decoded {
        Ok(decoded) if whole => Ok(decoded.into_owned()),
        _ => Err(wrong()),
    }
}

/// Reads libpq's list: `key = value key='a value'`, with `\` before a quote or itself.
fn of_list(text: &str) -> Result<Given, String> {
    let mut given = Given::new(&POSTGRES);
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (key, after) = rest
            .split_once('=')
            .ok_or("is no URI and no list of key=value; write postgresql://user@host/database")?;
        let value;
        (value, rest) = list_value(after.trim_start())?;
        given.set(key.trim_end(), value)?;
        rest = rest.trim_start();
    }
    Ok(given)
}

/// Takes one value of a list; the rest follows it.
fn list_value(text: &str) -> Result<(String, &str), String> {
    let quoted = text.starts_with('\'');
    let mut value = String::new();
    let mut characters = text.char_indices().skip(usize::from(quoted));
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            '\'' if quoted => return Ok((value, &text[at + 1..])),
            space if !quoted && space.is_ascii_whitespace() => return Ok((value, &text[at..])),
            other => value.push(other),
        }
    }
    if quoted {
        return Err("a quoted value does not end; close its quote".to_owned());
    }
    Ok((value, ""))
}

/// Tells whether the text is a URI of any scheme (RFC 3986, 3.1); a value in a list of key=value may contain `://`, too.
fn begins_with_a_scheme(text: &str) -> bool {
    let is_of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    text.split_once("://")
        .is_some_and(|(scheme, _)| scheme.bytes().all(is_of_scheme))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Tls, TlsMode};
    use proptest::prelude::*;
    use std::path::PathBuf;
    use std::time::Duration;

    /// Hosts, user, database of a DSN that is understood.
    fn read(text: &str) -> (Vec<(String, u16)>, String, String) {
        let (place, _) = parse(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
        (place.hosts, place.user, place.database)
    }

    fn hosts(list: &[(&str, u16)]) -> Vec<(String, u16)> {
        list.iter()
            .map(|&(host, port)| (host.to_owned(), port))
            .collect()
    }

    #[test]
    fn both_forms_say_the_same() {
        for (text, expected) in [
            ("postgresql://me@db/ib", &[("db", 5432)][..]),
            ("postgres://me@db:5433/ib?", &[("db", 5433)]),
            ("postgresql://me@[::1]/ib", &[("::1", 5432)]),
            (
                "postgresql://me@[2001:db8::7]:6000/ib",
                &[("2001:db8::7", 6000)],
            ),
            ("postgresql://me@%2Frun%2Fx/ib", &[("/run/x", 5432)]),
            ("postgresql:///ib?host=/run/x&user=me", &[("/run/x", 5432)]),
            ("postgresql://me@:6000/ib?host=/run/x", &[("/run/x", 6000)]),
            (
                "postgresql://me@a:1,b:2,[::1]/ib",
                &[("a", 1), ("b", 2), ("::1", 5432)],
            ),
            (
                "postgresql://me@a,b/ib?port=6000",
                &[("a", 6000), ("b", 6000)],
            ),
            ("postgresql://m%65@d%62/%69b", &[("db", 5432)]),
            ("host=db user=me dbname=ib", &[("db", 5432)]),
            (
                "  host = '/run/x'\tport=6000 user=m\\e dbname='ib' ",
                &[("/run/x", 6000)],
            ),
            ("host=a,b port=1,2 user=me dbname=ib", &[("a", 1), ("b", 2)]),
        ] {
            let me = ("me".to_owned(), "ib".to_owned());
            assert_eq!(read(text), (hosts(expected), me.0, me.1), "{text}");
        }
        let (_, user, database) = read(r"host=db user='it\'s \\ me' dbname=a\ b");
        assert_eq!((&*user, &*database), (r"it's \ me", "a b"));
    }

    #[test]
    fn mysqls_own_words_are_understood() {
        for (text, expected) in [
            ("mysql://me@db/ib", &[("db", 3306)][..]),
            ("mariadb://me@[::1]:3307/ib", &[("::1", 3307)]),
            (
                "mysql://me@localhost/ib?socket=/run/x.sock",
                &[("/run/x.sock", 3306)],
            ),
            (
                "mysql://me@/ib?socket=%2Frun%2Fx.sock",
                &[("/run/x.sock", 3306)],
            ),
        ] {
            let (place, is_mysql) =
                parse(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
            assert_eq!((place.hosts, is_mysql), (hosts(expected), true), "{text}");
        }
        let text = "mysql://me@db/ib?ssl-mode=verify_identity&ssl-ca=/x&connect-timeout=7";
        let (place, _) = parse(text).expect("understood");
        let tls = place.tls.expect("asked for");
        assert_eq!(tls.mode, TlsMode::VerifyFull);
        assert_eq!(tls.root_certificate, Some(PathBuf::from("/x")));
        assert_eq!(place.connect_timeout, Some(Duration::from_secs(7)));
        for text in ["mysql://me@db/ib", "mysql://me@db/ib?ssl-mode=preferred"] {
            let (place, _) = parse(text).expect("understood");
            assert_eq!(
                place.tls.map(|tls| tls.mode),
                Some(TlsMode::Prefer),
                "{text}"
            );
        }
        for (text, words) in [
            (
                "mysql://me@db",
                "names no database; write mysql://user@host/DATABASE",
            ),
            (
                "mysql://me@db/ib?sslmode=require",
                "`sslmode` is not understood",
            ),
            ("mysql://me@db/ib?ssl-mode=on", "VERIFY_IDENTITY"),
            ("mysql://me@db/ib?socket=/run/x", "leave one of them out"),
            ("mysql://me@/ib?socket=x", "is no path"),
            (
                "mysql://me@/ib?socket=/x&ssl-mode=REQUIRED",
                "a unix socket has no TLS",
            ),
            ("mysql://me:hush@db/ib", "`server.password`"),
        ] {
            let problem = parse(text).expect_err(text);
            assert!(problem.contains(words), "{text}: {problem}");
        }
    }

    #[test]
    fn further_keys_are_taken() {
        let text = "postgresql://me@db/ib?application_name=my%20run&connect_timeout=7\
                    &sslmode=verify-full&sslrootcert=%2Fetc%2Froot.crt";
        let (place, _) = parse(text).expect("understood");
        assert_eq!(place.application_name.as_deref(), Some("my run"));
        assert_eq!(place.connect_timeout, Some(Duration::from_secs(7)));
        let tls = place.tls.expect("asked for");
        assert_eq!(tls.mode, TlsMode::VerifyFull);
        assert_eq!(tls.root_certificate, Some(PathBuf::from("/etc/root.crt")));
        for (parameters, mode) in [
            ("", Some(TlsMode::Prefer)),
            ("sslmode=prefer", Some(TlsMode::Prefer)),
            ("sslmode=disable", None),
            ("sslmode=require", Some(TlsMode::Require)),
            (
                "sslmode=verify-ca&sslrootcert=system",
                Some(TlsMode::VerifyCa),
            ),
        ] {
            let (place, _) =
                parse(&format!("postgresql://me@db/ib?{parameters}")).expect(parameters);
            assert_eq!(
                place.tls,
                mode.map(|mode| Tls {
                    mode,
                    root_certificate: None
                })
            );
        }
    }

    #[test]
    fn what_is_missing_unclear_or_unknown_is_refused_with_the_remedy() {
        for (text, words) in [
            ("", "names no host"),
            ("db", "write postgresql://"),
            ("oracle://me@db/ib", "say postgresql://"),
            ("postgresql://", "names no host"),
            ("postgresql://me@/ib", "names no host"),
            ("postgresql://db/ib", "names no user"),
            ("postgresql://me@db", "names no dbname"),
            ("postgresql://me@a,,b/ib", "hosts is empty"),
            ("postgresql://me@a,b,c/ib?port=1,2", "3 hosts and 2 ports"),
            ("postgresql://me@db:0/ib", "1 to 65535"),
            ("postgresql://me@db:65536/ib", "1 to 65535"),
            ("postgresql://me@::1/ib", "in brackets"),
            ("postgresql://me@[::1/ib", "close its bracket"),
            ("postgresql://me@[::1]x/ib", "behind an IPv6"),
            ("postgresql://me@db/ib?user=you", "`user` stands twice"),
            ("postgresql://me@db/ib?host", "without `=`"),
            ("postgresql://me@db/i%b", "write % as %25"),
            ("postgresql://me@db/i%ff", "write % as %25"),
            ("postgresql://me@db/i%00", "`dbname` has a NUL"),
            (
                "postgresql://me@db/ib?a%0Ab=%",
                r"a\nb is not percent-encoded",
            ),
            (
                "postgresql://me@db/ib?sslmode=allow",
                "say disable, prefer, require, verify-ca or verify-full",
            ),
            (
                "postgresql://me@db/ib?sslmode=disable&sslrootcert=/x",
                "of no use without `sslmode`",
            ),
            (
                "postgresql://me@db/ib?sslmode=prefer&sslrootcert=/x",
                "looks at no certificate",
            ),
            (
                "postgresql://me@db/ib?sslrootcert=/x",
                "of no use without `sslmode`",
            ),
            (
                "postgresql://me@db/ib?sslmode=require&sslrootcert=/x",
                "looks at no certificate",
            ),
            (
                "postgresql://me@%2Frun/ib?sslmode=require",
                "a unix socket has no TLS",
            ),
            (
                "postgresql://me@a,%2Frun/ib?sslmode=require",
                "a unix socket has no TLS",
            ),
            ("postgresql://me@db/ib?connect_timeout=0", "1 or more"),
            (
                "postgresql://me@db/ib?hostaddr=::1",
                "`hostaddr` is not understood",
            ),
            ("host=db user=me dbname='ib", "close its quote"),
            ("host=db user", "write postgresql://"),
        ] {
            let problem = parse(text).expect_err(text);
            assert!(problem.contains(words), "{text}: {problem}");
        }
    }

    #[test]
    fn a_password_is_refused_and_not_repeated() {
        for text in [
            "postgresql://me:hush@db/ib",
            "postgresql://me:@db/ib",
            "postgresql://me@db/ib?password=hush",
            "host=db user=me dbname=ib password=hush",
            "host=db user=me password='hush",
            "postgresql://me:hu%sh@db/ib",
            "postgresql://me:hush@[db/ib",
        ] {
            let problem = parse(text).expect_err(text);
            assert!(!problem.contains("hu"), "{problem}");
        }
        let problem = parse("postgresql://me:hush@db/ib").expect_err("a password");
        assert!(problem.contains("`server.password`"), "{problem}");
    }

    #[test]
    fn a_value_may_look_like_a_scheme() {
        let (place, _) = parse("host=db user=me dbname='a://b'").expect("understood");
        assert_eq!(place.database, "a://b");
        assert!(parse("oracle://me@db/ib").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_place_or_one_line(text in "((postgres(ql)?|mysql|mariadb)://)?[ a-c@:/?&=%,'\\\\\\[\\]0-9é]{0,30}") {
            if let Err(problem) = parse(&text) {
                prop_assert!(!problem.contains('\n') && !problem.is_empty());
            }
        }

        #[test]
        fn quoted_values_read_back(user in "[^\0]{1,20}", database in "[^\0]{1,20}") {
            let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
            let text = format!("host=db user='{}' dbname = '{}'", quoted(&user), quoted(&database));
            let (place, _) = parse(&text).expect("understood");
            prop_assert_eq!((place.user, place.database), (user, database));
        }
    }
}
