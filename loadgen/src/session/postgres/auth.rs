//! The first exchange of a session: the server asks who we are, we prove it.

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};

use crate::job;
use crate::session::error::{ServerError, SessionError};
use crate::session::fields::Fields;
use crate::session::password::{Privacy, exposed, not_let_in};
use crate::wire::postgres;

/// The exchange from the startup message to the first `ReadyForQuery`.
pub struct Handshake<'a> {
    user: &'a str,
    password: Option<&'a str>,
    /// Who else can read what is sent.
    pub privacy: Privacy,
    /// What a proof by SCRAM can be bound to; none without TLS.
    pub(super) binding: Option<Vec<u8>>,
    /// What the job says of it.
    pub(super) wish: job::ChannelBinding,
    /// Whether the proof that was begun is bound.
    is_bound: bool,
    /// The proof of the password, until the server has proved that it knows it, too.
    scram: Option<ScramSha256>,
    let_in: bool,
    /// Whether a backslash in a literal has a meaning there: its `standard_conforming_strings` is off.
    pub(super) escapes: bool,
    /// The process number of the server's backend.
    pub server_pid: u32,
    /// What it wants to hear of who cancels its statements.
    pub(super) secret: u32,
}

/// How a server says that a backslash in a literal has a meaning.
const STRINGS_ESCAPE: &[u8] = b"standard_conforming_strings\0off\0";

impl<'a> Handshake<'a> {
    /// Begins the exchange of a user whose startup message has been sent, where others can read it.
    #[must_use]
    pub fn new(user: &'a str, password: Option<&'a str>) -> Self {
        Self {
            user,
            password,
            privacy: Privacy::Open,
            binding: None,
            wish: job::ChannelBinding::default(),
            is_bound: false,
            scram: None,
            let_in: false,
            escapes: false,
            server_pid: 0,
            secret: 0,
        }
    }

    /// Takes a message and appends what is to be sent to `out`; true when the session is ready.
    ///
    /// # Errors
    /// The server's refusal, a method that is not supported, or what is no such exchange.
    pub fn take(&mut self, tag: u8, body: &[u8], out: &mut Vec<u8>) -> Result<bool, SessionError> {
        match tag {
            b'R' if !self.let_in => self.authenticate(body, out)?,
            b'E' => return Err(self.refused(ServerError::parse(body)?)),
            b'K' if self.let_in => {
                let mut fields = Fields(body);
                (self.server_pid, self.secret) = (fields.be_u32()?, fields.be_u32()?);
            }
            b'Z' if self.let_in => return Ok(true),
            b'S' if body == STRINGS_ESCAPE => self.escapes = true,
            // Other settings, notices, and a lower minor version of the protocol.
            b'S' | b'N' | b'v' => (),
            _ => {
                let tag = tag.escape_ascii();
                let text = format!("message `{tag}` does not belong to the start of a session");
                return Err(SessionError::Protocol(text));
            }
        }
        Ok(false)
    }

    fn authenticate(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<(), SessionError> {
        let mut fields = Fields(body);
        let must_bind = self.wish == job::ChannelBinding::Require;
        match fields.be_u32()? {
            0..10 if must_bind && !self.is_bound => Err(self.auth(NOT_BOUND)),
            0 if self.scram.is_some() => {
                Err(self.auth("it did not prove that it knows the password"))
            }
            0 => {
                self.let_in = true;
                Ok(())
            }
            3 => {
                let password = [self.password()?.as_bytes(), &[0]].concat();
                if self.privacy == Privacy::Open {
                    return Err(exposed(self.user, "in clear text", "sslmode=require"));
                }
                postgres::password(out, &password);
                Ok(())
            }
            5 => {
                let salt = fields.0.first_chunk().ok_or_else(|| {
                    SessionError::Protocol("an MD5 challenge without its salt".to_owned())
                })?;
                let password = self.password()?.as_bytes();
                let mut hash = md5_hash(self.user.as_bytes(), password, *salt).into_bytes();
                hash.push(0);
                postgres::password(out, &hash);
                Ok(())
            }
            10 => self.begin_scram(fields.0, out),
            11 => self.go_on_scram(fields.0, out),
            12 => self.end_scram(fields.0),
            method => Err(self.auth(&format!(
                "it asks for authentication method {method}{}, which is not supported: use \
                 scram-sha-256, md5, password, cert or trust in pg_hba.conf",
                match method {
                    7 | 8 => " (GSSAPI, Kerberos)",
                    9 => " (SSPI)",
                    _ => "",
                }
            ))),
        }
    }

    fn begin_scram(&mut self, mechanisms: &[u8], out: &mut Vec<u8>) -> Result<(), SessionError> {
        let offers = |mechanism: &str| {
            let mut names = mechanisms.split(|&byte| byte == 0);
            names.any(|name| name == mechanism.as_bytes())
        };
        // Bound where both sides can; else we say which side it is that cannot, so that a third
        // between the two who strikes the offer out is found by the server (RFC 5802, section 6).
        let (mechanism, binding) = match &self.binding {
            Some(hash) if offers(SCRAM_SHA_256_PLUS) => (
                SCRAM_SHA_256_PLUS,
                ChannelBinding::tls_server_end_point(hash.clone()),
            ),
            _ if self.wish == job::ChannelBinding::Require => return Err(self.auth(NOT_BOUND)),
            Some(_) => (SCRAM_SHA_256, ChannelBinding::unrequested()),
            None => (SCRAM_SHA_256, ChannelBinding::unsupported()),
        };
        if !offers(mechanism) {
            return Err(self.auth("it does not offer SCRAM-SHA-256"));
        }
        self.is_bound = mechanism == SCRAM_SHA_256_PLUS;
        let scram = ScramSha256::new(self.password()?.as_bytes(), binding);
        postgres::sasl_initial(out, mechanism, scram.message());
        self.scram = Some(scram);
        Ok(())
    }

    fn go_on_scram(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<(), SessionError> {
        let Some(scram) = &mut self.scram else {
            return Err(out_of_order());
        };
        match scram.update(data) {
            Ok(()) => {
                postgres::password(out, scram.message());
                Ok(())
            }
            Err(error) => Err(self.auth(&format!("its SCRAM challenge is not valid: {error}"))),
        }
    }

    fn end_scram(&mut self, data: &[u8]) -> Result<(), SessionError> {
        let Some(scram) = &mut self.scram else {
            return Err(out_of_order());
        };
        let proved = scram.finish(data);
        proved.map_err(|error| self.auth(&format!("its SCRAM proof: {error}")))?;
        self.scram = None;
        Ok(())
    }

    fn password(&self) -> Result<&'a str, SessionError> {
        self.password.ok_or_else(|| {
            self.auth(
                "it asks for a password: set `server.password` to {\"env\": NAME} or {\"passfile\": \
                 PATH}",
            )
        })
    }

    /// Returns the server's error; those of SQLSTATE class 28 are about who we are.
    fn refused(&self, error: ServerError) -> SessionError {
        if error.code.starts_with(b"28") {
            return self.auth(&error.to_string());
        }
        SessionError::Server(error)
    }

    fn auth(&self, text: &str) -> SessionError {
        not_let_in(self.user, text)
    }
}

const NOT_BOUND: &str = "it asks for no proof of the password that is bound to its certificate: use \
     scram-sha-256 in pg_hba.conf, or leave out `channel_binding=require`";

fn out_of_order() -> SessionError {
    SessionError::Protocol("the server's SCRAM messages are out of order".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(method: u32, data: &[u8]) -> Vec<u8> {
        [&method.to_be_bytes(), data].concat()
    }

    #[test]
    fn a_trusting_server_is_ready_after_its_pid() {
        let (mut handshake, mut out) = (Handshake::new("dyno", None), Vec::new());
        assert!(
            !handshake
                .take(b'R', &request(0, b""), &mut out)
                .expect("ok")
        );
        assert!(
            !handshake
                .take(b'K', &[0, 0, 1, 0, 9, 9, 9, 9], &mut out)
                .expect("key")
        );
        assert!(handshake.take(b'Z', b"I", &mut out).expect("ready"));
        assert_eq!(handshake.server_pid, 256);
        assert!(out.is_empty());
    }

    #[test]
    fn a_server_that_skips_its_proof_is_refused() {
        let (mut handshake, mut out) = (Handshake::new("dyno", Some("secret")), Vec::new());
        handshake
            .take(b'R', &request(10, b"SCRAM-SHA-256\0\0"), &mut out)
            .expect("offered");
        assert!(!out.windows(6).any(|bytes| bytes == b"secret"));
        let refused = handshake.take(b'R', &request(0, b""), &mut out);
        assert!(matches!(refused, Err(SessionError::Auth(_))));
    }

    #[test]
    fn an_md5_password_is_hashed_with_the_users_name_and_the_salt() {
        let (mut handshake, mut out) = (Handshake::new("dyno", Some("secret")), Vec::new());
        handshake
            .take(b'R', &request(5, b"\x01\x02\x03\x04"), &mut out)
            .expect("asked");
        // md5(md5("secretdyno") as hexadecimal digits, then the salt), by md5sum.
        let hash = b"p\0\0\0\x28md58e4f591de37d57f87ab393f723b2247c\0";
        assert_eq!(out, hash);
    }

    #[test]
    fn a_password_goes_in_clear_text_only_where_nobody_reads_it_or_the_job_says_so() {
        for (privacy, sent) in [
            (Privacy::Open, &b""[..]),
            (Privacy::Insecure, b"p\0\0\0\x0bsecret\0"),
            (Privacy::Socket, b"p\0\0\0\x0bsecret\0"),
            (Privacy::Tls, b"p\0\0\0\x0bsecret\0"),
        ] {
            let (mut handshake, mut out) = (Handshake::new("dyno", Some("secret")), Vec::new());
            handshake.privacy = privacy;
            let outcome = handshake.take(b'R', &request(3, b""), &mut out);
            assert_eq!(out, sent, "{privacy:?}");
            let told = outcome.map_err(|error| error.to_string());
            assert_eq!(told.is_err(), sent.is_empty(), "{told:?}");
            for words in ["in clear text", "`sslmode=require`", "`insecure = true`"] {
                assert!(
                    told.as_ref()
                        .map_or_else(|text| text.contains(words), |_| true)
                );
            }
        }
    }

    /// What is sent where the server offers these mechanisms.
    fn offered(binding: Option<&[u8]>, mechanisms: &[u8]) -> Vec<u8> {
        let (mut handshake, mut out) = (Handshake::new("dyno", Some("secret")), Vec::new());
        handshake.binding = binding.map(<[u8]>::to_vec);
        handshake
            .take(b'R', &request(10, mechanisms), &mut out)
            .expect("offered");
        out
    }

    #[test]
    fn a_proof_is_bound_to_the_certificate_where_both_sides_can() {
        let (both, plain) = (
            &b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"[..],
            &b"SCRAM-SHA-256\0\0"[..],
        );
        for (binding, mechanisms, mechanism, header) in [
            (
                Some(&b"hash"[..]),
                both,
                &b"SCRAM-SHA-256-PLUS\0"[..],
                &b"p=tls-server-end-point,,n="[..],
            ),
            (Some(b"hash"), plain, b"SCRAM-SHA-256\0", b"y,,n="),
            (None, both, b"SCRAM-SHA-256\0", b"n,,n="),
            (None, plain, b"SCRAM-SHA-256\0", b"n,,n="),
        ] {
            let sent = offered(binding, mechanisms);
            let rest = sent[5..].strip_prefix(mechanism).expect("the mechanism");
            assert!(rest[4..].starts_with(header), "{}", sent.escape_ascii());
        }
    }

    #[test]
    fn who_has_to_bind_is_let_in_by_a_bound_proof_alone() {
        let plain = &b"SCRAM-SHA-256\0\0"[..];
        for (method, data) in [(0, &b""[..]), (3, b""), (5, b"salt"), (7, b""), (10, plain)] {
            let (mut handshake, mut out) = (Handshake::new("dyno", Some("secret")), Vec::new());
            handshake.binding = Some(b"hash".to_vec());
            handshake.wish = job::ChannelBinding::Require;
            let refused = handshake.take(b'R', &request(method, data), &mut out);
            let text = refused.expect_err("not bound").to_string();
            assert!(text.contains("`channel_binding=require`"), "{text}");
            assert_eq!(out, b"", "{method}");
        }
    }

    #[test]
    fn a_server_that_asks_for_kerberos_is_refused_with_what_to_do() {
        for (method, name) in [(7, "GSSAPI"), (8, "GSSAPI"), (9, "SSPI")] {
            let body = request(method, b"");
            let refused = Handshake::new("dyno", Some("x")).take(b'R', &body, &mut Vec::new());
            let text = refused.expect_err("Kerberos").to_string();
            assert!(
                text.contains(name) && text.contains("scram-sha-256"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_password_that_is_asked_for_and_missing_names_the_key() {
        for body in [
            request(3, b""),
            request(5, b"salt"),
            request(10, b"SCRAM-SHA-256\0\0"),
        ] {
            let refused = Handshake::new("dyno", None).take(b'R', &body, &mut Vec::new());
            let Err(SessionError::Auth(text)) = refused else {
                panic!("let in")
            };
            assert!(
                text.contains("`dyno`") && text.contains("`server.password`"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_not_supported_or_not_in_order_is_an_error() {
        for body in [
            request(5, b"sal"),
            request(7, b""),
            request(10, b"SCRAM-SHA-256-PLUS\0\0"),
            request(11, b"r=x"),
            request(12, b"v=x"),
            b"\0\0".to_vec(),
        ] {
            let refused = Handshake::new("dyno", Some("x")).take(b'R', &body, &mut Vec::new());
            assert!(refused.is_err(), "{body:?}");
        }
        assert!(
            Handshake::new("dyno", None)
                .take(b'Z', b"I", &mut Vec::new())
                .is_err()
        );
    }

    proptest! {
        #[test]
        fn any_exchange_ends_without_a_panic(
            messages in prop::collection::vec(
                (
                    prop::sample::select(&b"REKZSv"[..]),
                    prop::sample::select(&[0_u32, 3, 5, 10, 11, 12][..]),
                    prop::collection::vec(any::<u8>(), 0..40),
                ),
                0..8,
            ),
        ) {
            let (mut handshake, mut out) = (Handshake::new("dyno", Some("x")), Vec::new());
            for (tag, method, data) in messages {
                let _ = handshake.take(tag, &request(method, &data), &mut out);
            }
        }
    }
}
