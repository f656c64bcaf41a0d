//! A password encrypted with the server's public key, where nothing else keeps it from being read on its way.
//!
//! RSAES-OAEP with SHA-1 and an empty label (RFC 8017, section 7.1.1), which is what MySQL decrypts; only the public
//! operation, so that no secret key is ever near.

use crate::session::der::element;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use num_bigint::BigUint;
use rustls::crypto::ring;
use sha1::{Digest, Sha1};

/// The length of a hash by SHA-1.
const HASH_BYTES: usize = 20;
/// The longest modulus that is taken, 16,384 bits: the work grows with its cube.
const MODULUS_BYTES_MAX: usize = 2048;
const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;

/// Encrypts with a public key in PEM form.
///
/// # Errors
/// What is wrong with the key, to go on behind its name.
pub(super) fn encrypt(secret: &[u8], pem: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut seed = [0; HASH_BYTES];
    ring::default_provider()
        .secure_random
        .fill(&mut seed)
        .map_err(|_| "cannot be used: the system gives no random numbers")?;
    encrypt_with(secret, pem, seed)
}

fn encrypt_with(
    secret: &[u8],
    pem: &[u8],
    seed: [u8; HASH_BYTES],
) -> Result<Vec<u8>, &'static str> {
    let (modulus, exponent) = key(pem).ok_or("is none in PEM form")?;
    let bytes = modulus.len();
    if bytes > MODULUS_BYTES_MAX || exponent.len() > size_of::<u64>() {
        return Err("is longer than any that is in use");
    }
    let block = pad(secret, bytes, seed).ok_or("is too short for the password")?;
    let number = BigUint::from_bytes_be(&block).modpow(
        &BigUint::from_bytes_be(&exponent),
        &BigUint::from_bytes_be(&modulus),
    );
    let digits = number.to_bytes_be();
    let mut secret = vec![0; bytes.saturating_sub(digits.len())];
    secret.extend_from_slice(&digits);
    Ok(secret)
}

/// The encoding of a message for a modulus of so many bytes; none where it does not fit.
fn pad(message: &[u8], bytes: usize, mut seed: [u8; HASH_BYTES]) -> Option<Vec<u8>> {
    let zeros = bytes.checked_sub(message.len() + 2 * HASH_BYTES + 2)?;
    let mut data = Sha1::digest(b"").to_vec();
    data.resize(HASH_BYTES + zeros, 0);
    data.push(1);
    data.extend_from_slice(message);
    mask(&mut data, &seed);
    mask(&mut seed, &data);
    Some([&[0], &seed[..], &data].concat())
}

/// XORs with the bytes that MGF1 makes of a seed (RFC 8017, appendix B.2.1).
fn mask(bytes: &mut [u8], seed: &[u8]) {
    for (counter, chunk) in (0_u32..).zip(bytes.chunks_mut(HASH_BYTES)) {
        let hash = Sha1::new()
            .chain_update(seed)
            .chain_update(counter.to_be_bytes())
            .finalize();
        for (byte, mask) in chunk.iter_mut().zip(hash) {
            *byte ^= mask;
        }
    }
}

/// Modulus and exponent of a `SubjectPublicKeyInfo` in PEM form (RFC 5280, section 4.1; RFC 8017, appendix A.1.1),
/// without zeros in front.
fn key(pem: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let text = std::str::from_utf8(pem).ok()?;
    let (_, rest) = text.split_once("-----BEGIN PUBLIC KEY-----")?;
    let (body, _) = rest.split_once("-----END PUBLIC KEY-----")?;
    let body: String = body.split_whitespace().collect();
    let der = STANDARD.decode(body).ok()?;
    let (info, _) = element(&der, SEQUENCE)?;
    let (_, after) = element(info, SEQUENCE)?;
    let (bits, _) = element(after, BIT_STRING)?;
    let (numbers, _) = element(bits.strip_prefix(&[0])?, SEQUENCE)?;
    let (modulus, after) = element(numbers, INTEGER)?;
    let (exponent, _) = element(after, INTEGER)?;
    let plain = |number: &[u8]| {
        let zeros = number.iter().take_while(|&&byte| byte == 0).count();
        let plain = &number[zeros..];
        (!plain.is_empty()).then(|| plain.to_vec())
    };
    Some((plain(modulus)?, plain(exponent)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Made by openssl.
    const KEY: &str = "-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCwXp2hYzMLkejkSPCpPyLRNPeS
gzf00aOblA6PoJGfZDfYOYfkU6GstRZbXzPHy5ZWVLNJl99tC9v7emaTKxPIAjjw
XefIl2XX3/71ulS0WmvHdWin/Vq1dZcdf503D/aim4mJxXtcLazhIuLIyOOfqc9W
2LbW6moJE98tCwuTzQIDAQAB
-----END PUBLIC KEY-----
";
    /// `secret` and a NUL under the key with the bytes 0 to 19 for a seed; openssl decrypts it.
    const SECRET: &str = "mVemWGw641VvDUTfe6EGjZyRKUNTkm9MKQEIisv65eUtRb3NACYblnoQbYKfwdgwCA/s9Bp9Zemhuy9mVhn1WFaA\
        D5HzHH4ZfOSLDwrbVsky9sEexQ+JOmHorxSRSye/ShTk/rPrkT1q+9gkfqVo4UAKT+D9V1903eo7hRKQNqQ=";

    fn seed() -> [u8; HASH_BYTES] {
        std::array::from_fn(|place| u8::try_from(place).expect("short"))
    }

    #[test]
    fn a_secret_is_encrypted_as_openssl_decrypts_it() {
        let secret = encrypt_with(b"secret\0", KEY.as_bytes(), seed()).expect("encrypted");
        assert_eq!(STANDARD.encode(secret), SECRET);
        let again = encrypt(b"secret\0", KEY.as_bytes()).expect("encrypted");
        let anew = encrypt(b"secret\0", KEY.as_bytes()).expect("encrypted");
        assert_ne!(again, anew, "the seed is drawn");
    }

    #[test]
    fn a_key_that_is_none_or_too_short_is_refused() {
        for pem in [
            "",
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
        ] {
            assert_eq!(encrypt(b"x", pem.as_bytes()), Err("is none in PEM form"));
        }
        let long = [b'x'; 87];
        assert_eq!(
            encrypt(&long, KEY.as_bytes()),
            Err("is too short for the password")
        );
        assert!(encrypt(&long[..86], KEY.as_bytes()).is_ok());
    }

    proptest! {
        #[test]
        fn any_key_is_taken_or_refused(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        ) {
            let (front, rest) = KEY.split_once('\n').expect("lines");
            let (body, end) = rest.split_once("\n-----").expect("an end");
            let mut der = STANDARD.decode(body.replace('\n', "")).expect("base64");
            for (place, byte) in changes {
                let length = der.len();
                der[place.index(length)] = byte;
            }
            let pem = format!("{front}\n{}\n-----{end}", STANDARD.encode(der));
            let _ = encrypt_with(b"secret\0", pem.as_bytes(), seed());
        }
    }
}
