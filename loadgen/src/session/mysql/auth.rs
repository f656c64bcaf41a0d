//! How a user proves who they are: the methods by name, and the exchange that they make.
//!
//! (MySQL documentation, "Connection Phase" and the pages of each method.)

use super::greeting::{Greeting, SCRAMBLE_BYTES};
use super::reader::Done;
use super::rsa;
use crate::session::error::{ServerError, SessionError, one_line};
use crate::session::fields::Fields;
use crate::session::password::{Privacy, exposed, not_let_in};
use sha1::Sha1;
use sha2::{Digest, Sha256};

const NATIVE: &str = "mysql_native_password";
const CACHING: &str = "caching_sha2_password";
const SHA256: &str = "sha256_password";

const OK: u8 = 0x00;
const MORE: u8 = 0x01;
const SWITCH: u8 = 0xfe;
const ERROR: u8 = 0xff;

/// What the server says about a proof by caching_sha2_password: it knew the hash, or wants the password itself.
const KNOWN: u8 = 3;
const WANTS_PASSWORD: u8 = 4;
/// Asks for the server's public key; sha256_password has a number of its own for it.
const KEY_PLEASE: u8 = 2;
const KEY_PLEASE_SHA256: u8 = 1;

/// The SQLSTATE of those who are not let in.
const DENIED: &[u8; 5] = b"28000";

/// What follows a packet of the server.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing is to be sent.
    Wait,
    /// This is to be sent as one packet.
    Send(Vec<u8>),
    /// The session is ready.
    LetIn {
        /// The server's flags.
        status: u16,
    },
}

/// The methods that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Native,
    Caching,
    Sha256,
}

impl Method {
    fn of(name: &str) -> Option<Self> {
        match name {
            NATIVE => Some(Self::Native),
            CACHING => Some(Self::Caching),
            SHA256 => Some(Self::Sha256),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Native => NATIVE,
            Self::Caching => CACHING,
            Self::Sha256 => SHA256,
        }
    }
}

/// The exchange from the answer to the greeting until the user is let in.
#[derive(Debug)]
pub struct Handshake<'a> {
    user: &'a str,
    password: Option<&'a str>,
    privacy: Privacy,
    method: Method,
    scramble: [u8; SCRAMBLE_BYTES],
    /// Whether a public key has been asked for.
    awaits_key: bool,
}

impl<'a> Handshake<'a> {
    /// Begins the exchange with a server that greets so, by the first proof; with a method that is not known, the one that
    /// every server knows, which may switch then.
    ///
    /// # Errors
    /// `Auth` where a password is wanted and none is there.
    pub fn begin(
        greeting: &Greeting,
        user: &'a str,
        password: Option<&'a str>,
        privacy: Privacy,
    ) -> Result<(Self, Vec<u8>), SessionError> {
        let method = Method::of(&greeting.method);
        // What the server thinks of before it knows the account shall not be refused for that.
        let method = method.filter(|&method| method != Method::Sha256 || privacy != Privacy::Open);
        let mut handshake = Self {
            user,
            password,
            privacy,
            method: method.unwrap_or(Method::Native),
            scramble: greeting.scramble,
            awaits_key: false,
        };
        let proof = handshake.proof()?;
        Ok((handshake, proof))
    }

    /// Returns the name of the method.
    #[must_use]
    pub fn method(&self) -> &'static str {
        self.method.name()
    }

    /// Takes a packet of the server.
    ///
    /// # Errors
    /// The server's refusal, a method that is not supported, or what is no such exchange.
    pub fn take(&mut self, body: &[u8]) -> Result<Step, SessionError> {
        let Some((&first, rest)) = body.split_first() else {
            return Err(out_of_order());
        };
        match first {
            OK => Ok(Step::LetIn {
                status: Done::of_packet(body)?.status,
            }),
            ERROR => Err(self.refused(ServerError::of_packet(body)?)),
            SWITCH => self.switch(rest),
            MORE => self.more(rest),
            _ => Err(out_of_order()),
        }
    }

    /// Takes the server's wish for another method.
    fn switch(&mut self, rest: &[u8]) -> Result<Step, SessionError> {
        let mut fields = Fields(rest);
        let name = fields.until_nul();
        let name = one_line(name);
        self.method = Method::of(&name).ok_or_else(|| self.unsupported(&name))?;
        if let Some(scramble) = fields.0.first_chunk() {
            self.scramble = *scramble;
        }
        self.awaits_key = false;
        self.proof().map(Step::Send)
    }

    /// Takes what the server says further within the method.
    fn more(&mut self, rest: &[u8]) -> Result<Step, SessionError> {
        if std::mem::take(&mut self.awaits_key) {
            let secret = rsa::encrypt(&self.hidden_password()?, rest)
                .map_err(|problem| self.auth(&format!("its public key {problem}")))?;
            return Ok(Step::Send(secret));
        }
        match (self.method, rest) {
            (Method::Caching, [KNOWN]) => Ok(Step::Wait),
            (Method::Caching, [WANTS_PASSWORD]) => self.whole_password(),
            _ => Err(out_of_order()),
        }
    }

    /// Answers with the password itself, where nobody else can read it; else asks for the key to encrypt it with.
    fn whole_password(&mut self) -> Result<Step, SessionError> {
        let password = self.password()?;
        match self.privacy {
            Privacy::Tls | Privacy::Socket => {
                return Ok(Step::Send([password.as_bytes(), &[0]].concat()));
            }
            Privacy::Insecure => {}
            Privacy::Open => return Err(self.exposed()),
        }
        self.awaits_key = true;
        Ok(Step::Send(vec![KEY_PLEASE]))
    }

    /// Returns the error of a key that nobody vouches for: whoever stands between can send one of their own.
    fn exposed(&self) -> SessionError {
        let asked = "under a public key that nobody vouches for";
        exposed(self.user, asked, "ssl-mode=REQUIRED")
    }

    /// Returns the first proof by the method; empty without a password.
    fn proof(&mut self) -> Result<Vec<u8>, SessionError> {
        let password = self.password.unwrap_or_default();
        Ok(match self.method {
            Method::Sha256 if password.is_empty() => vec![0],
            // To the server a socket is not private enough for this one.
            Method::Sha256 if self.privacy == Privacy::Tls => [password.as_bytes(), &[0]].concat(),
            Method::Sha256 if self.privacy == Privacy::Open => return Err(self.exposed()),
            Method::Sha256 => {
                self.awaits_key = true;
                vec![KEY_PLEASE_SHA256]
            }
            Method::Native | Method::Caching if password.is_empty() => Vec::new(),
            Method::Native => native(password, &self.scramble),
            Method::Caching => caching(password, &self.scramble),
        })
    }

    /// Returns the password and its end, under the random text, as they are encrypted.
    fn hidden_password(&self) -> Result<Vec<u8>, SessionError> {
        let password = [self.password()?.as_bytes(), &[0]].concat();
        let scramble = self.scramble.iter().cycle();
        Ok(password.iter().zip(scramble).map(|(a, b)| a ^ b).collect())
    }

    fn password(&self) -> Result<&'a str, SessionError> {
        self.password.ok_or_else(|| self.auth(&wants_password()))
    }

    /// Returns the server's error; those of user and password are about who we are.
    fn refused(&self, error: ServerError) -> SessionError {
        if error.code != *DENIED {
            return SessionError::Server(error);
        }
        if self.password.is_none() {
            return self.auth(&format!("{error}; {}", wants_password()));
        }
        self.auth(&error.to_string())
    }

    fn unsupported(&self, name: &str) -> SessionError {
        self.auth(&format!(
            "it asks for authentication method `{name}`, which is not supported: give the account {CACHING} or {NATIVE}"
        ))
    }

    fn auth(&self, text: &str) -> SessionError {
        not_let_in(self.user, text)
    }
}

fn wants_password() -> String {
    "to give a password, set `server.password` to {\"env\": NAME} or {\"passfile\": PATH}"
        .to_owned()
}

fn out_of_order() -> SessionError {
    SessionError::Protocol("its packets of authentication are out of order".to_owned())
}

/// Computes SHA1(password) XOR SHA1(random text, SHA1(SHA1(password))).
fn native(password: &str, scramble: &[u8]) -> Vec<u8> {
    let once = Sha1::digest(password);
    let twice = Sha1::digest(once);
    let mask = Sha1::new()
        .chain_update(scramble)
        .chain_update(twice)
        .finalize();
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// Computes SHA256(password) XOR SHA256(SHA256(SHA256(password)), random text).
fn caching(password: &str, scramble: &[u8]) -> Vec<u8> {
    let once = Sha256::digest(password);
    let twice = Sha256::digest(once);
    let mask = Sha256::new()
        .chain_update(twice)
        .chain_update(scramble)
        .finalize();
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SCRAMBLE: &[u8; SCRAMBLE_BYTES] = b"abcdefghijklmnopqrst";

    fn greeting(method: &str) -> Greeting {
        let mut body = b"\x0a9.7.0\0\x07\0\0\0".to_vec();
        body.extend_from_slice(&SCRAMBLE[..8]);
        body.extend_from_slice(b"\0\xff\xff\x08\x02\0\xff\xff\x15");
        body.extend_from_slice(&[0; 10]);
        body.extend_from_slice(&SCRAMBLE[8..]);
        body.extend_from_slice(&[0]);
        body.extend_from_slice(method.as_bytes());
        body.push(0);
        Greeting::of_packet(&body).expect("a greeting")
    }

    fn begin(
        method: &str,
        password: Option<&'static str>,
        privacy: Privacy,
    ) -> (Handshake<'static>, Vec<u8>) {
        Handshake::begin(&greeting(method), "dyno", password, privacy).expect("begun")
    }

    const LET_IN: &[u8] = b"\0\0\0\x02\0\0\0";

    #[test]
    fn proofs_are_those_of_the_reference() {
        use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;
        use mysql_common::auth::plugins::mysql_native_password::scramble_native;
        let (_, proof) = begin(NATIVE, Some("secret"), Privacy::Open);
        assert_eq!(
            Some(proof),
            scramble_native(SCRAMBLE, b"secret").map(Vec::from)
        );
        let (_, proof) = begin(CACHING, Some("secret"), Privacy::Open);
        assert_eq!(
            Some(proof),
            scramble_sha256(SCRAMBLE, b"secret").map(Vec::from)
        );
        for method in [NATIVE, CACHING, "something new"] {
            assert_eq!(begin(method, None, Privacy::Tls).1, b"");
        }
    }

    #[test]
    fn a_password_goes_in_clear_only_where_nobody_else_can_read_it() {
        let (mut insecure, _) = begin(CACHING, Some("secret"), Privacy::Insecure);
        assert_eq!(
            insecure.take(b"\x01\x04").expect("asked"),
            Step::Send(vec![KEY_PLEASE])
        );
        assert_eq!(
            begin(SHA256, Some("secret"), Privacy::Insecure).1,
            [KEY_PLEASE_SHA256]
        );
        let (mut private, _) = begin(CACHING, Some("secret"), Privacy::Socket);
        let clear = Step::Send(b"secret\0".to_vec());
        assert_eq!(private.take(b"\x01\x04").expect("asked"), clear);
        assert_eq!(
            begin(SHA256, Some("secret"), Privacy::Socket).1,
            [KEY_PLEASE_SHA256]
        );
        assert_eq!(begin(SHA256, Some("secret"), Privacy::Tls).1, b"secret\0");
    }

    #[test]
    fn a_key_that_nobody_vouches_for_is_not_asked_for_unless_the_job_says_so() {
        let switch = [b"\xfe", SHA256.as_bytes(), b"\0", SCRAMBLE, b"\0"].concat();
        for (method, asked) in [
            (CACHING, &b"\x01\x04"[..]),
            (CACHING, &switch),
            (NATIVE, &switch),
            (SHA256, &switch),
        ] {
            let (mut handshake, proof) = begin(method, Some("secret"), Privacy::Open);
            assert!(proof.len() >= 20, "{method}: a proof of the password");
            let Err(SessionError::Auth(text)) = handshake.take(asked) else {
                panic!("{method}: asked for a key")
            };
            for words in ["public key", "`ssl-mode=REQUIRED`", "`insecure = true`"] {
                assert!(text.contains(words), "{text}");
            }
        }
    }

    #[test]
    fn a_server_may_switch_the_method_and_lets_in_at_the_end() {
        let (mut handshake, _) = begin(CACHING, Some("secret"), Privacy::Open);
        let switch = [b"\xfe", NATIVE.as_bytes(), b"\0", SCRAMBLE, b"\0"].concat();
        let step = handshake.take(&switch).expect("switched");
        assert_eq!(step, Step::Send(native("secret", SCRAMBLE)));
        assert_eq!(
            handshake.take(LET_IN).expect("in"),
            Step::LetIn { status: 2 }
        );
        let (mut handshake, _) = begin(CACHING, Some("secret"), Privacy::Open);
        assert_eq!(handshake.take(b"\x01\x03").expect("known"), Step::Wait);
    }

    #[test]
    fn refusals_and_what_is_out_of_order_are_errors() {
        let (mut handshake, _) = begin(CACHING, None, Privacy::Open);
        let denied = b"\xff\x15\x04#28000Access denied";
        let Err(SessionError::Auth(text)) = handshake.take(denied) else {
            panic!("let in")
        };
        assert!(
            text.contains("`dyno`") && text.contains("`server.password`"),
            "{text}"
        );
        let full = handshake.take(b"\xff\x10\x04#08004Too many connections");
        assert!(matches!(full, Err(SessionError::Server(_))));
        for packet in [
            &b""[..],
            b"\x01",
            b"\x01\x05",
            b"\x01\x04",
            b"\x07",
            b"\xfe",
            b"\xfeclient_ed25519\0abc",
            b"\0",
        ] {
            let (mut handshake, _) = begin(CACHING, None, Privacy::Tls);
            assert!(handshake.take(packet).is_err(), "{packet:?}");
        }
    }

    proptest! {
        #[test]
        fn any_exchange_ends_without_a_panic(
            privacy in prop::sample::select(&[Privacy::Open, Privacy::Tls][..]),
            packets in prop::collection::vec(
                (
                    prop::sample::select(&[0_u8, 1, 2, 0xfe, 0xff][..]),
                    prop::collection::vec(any::<u8>(), 0..40),
                ),
                0..6,
            ),
        ) {
            let (mut handshake, _) = begin(SHA256, Some("x"), privacy);
            for (first, rest) in packets {
                let _ = handshake.take(&[&[first], &rest[..]].concat());
            }
        }
    }
}
