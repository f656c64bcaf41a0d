//! What binds a password's proof to the certificate that the server showed.

use crate::session::der::element;
use sha2::{Digest, Sha256, Sha384, Sha512};

/// The binding `tls-server-end-point` of a certificate in DER: its hash by the hash function of
/// its signature, SHA-256 in place of MD5 and SHA-1 (RFC 5929, section 4.1). `None` where the
/// signature has none of its own, for which the RFC says nothing: Ed25519.
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let (algorithm, parameters) = signature_algorithm(certificate)?;
    Some(match hash_of(algorithm, parameters)? {
        Hash::Sha256 => Sha256::digest(certificate).to_vec(),
        Hash::Sha384 => Sha384::digest(certificate).to_vec(),
        Hash::Sha512 => Sha512::digest(certificate).to_vec(),
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

/// PKCS #1 (1.2.840.113549.1.1) and ECDSA (1.2.840.10045.4), as RFC 3279 and RFC 5758 number them.
fn hash_of(algorithm: &[u8], parameters: &[u8]) -> Option<Hash> {
    const PKCS1: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: [u8; 6] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
    let rsa = algorithm.strip_prefix(&PKCS1);
    let ecdsa = algorithm.strip_prefix(&ECDSA);
    match (rsa, ecdsa) {
        (Some([4 | 5 | 11]), _) | (_, Some([1] | [3, 2])) => Some(Hash::Sha256),
        (Some([12]), _) | (_, Some([3, 3])) => Some(Hash::Sha384),
        (Some([13]), _) | (_, Some([3, 4])) => Some(Hash::Sha512),
        (Some([10]), _) => hash_of_pss(parameters),
        _ => None,
    }
}

/// The hash function of RSA-PSS, which stands in its parameters: `SEQUENCE { [0] SEQUENCE { OBJECT IDENTIFIER, … }, … }`;
/// SHA-1 where it does not (RFC 4055, section 3.1).
fn hash_of_pss(parameters: &[u8]) -> Option<Hash> {
    const SHA2: [u8; 8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];
    const HASH: u8 = 0xa0;
    let (fields, _) = element(parameters, SEQUENCE)?;
    let Some((hash, _)) = element(fields, HASH) else {
        return Some(Hash::Sha256);
    };
    let (hash, _) = element(hash, SEQUENCE)?;
    match element(hash, OBJECT_IDENTIFIER)?.0.strip_prefix(&SHA2)? {
        [1] => Some(Hash::Sha256),
        [2] => Some(Hash::Sha384),
        [3] => Some(Hash::Sha512),
        _ => None,
    }
}

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 6;

/// The object identifier of a certificate's signature, and its parameters: `SEQUENCE { SEQUENCE what is signed,
/// SEQUENCE { OBJECT IDENTIFIER, … }, … }` (RFC 5280, section 4.1).
fn signature_algorithm(certificate: &[u8]) -> Option<(&[u8], &[u8])> {
    let (whole, _) = element(certificate, SEQUENCE)?;
    let (_, after) = element(whole, SEQUENCE)?;
    let (algorithm, _) = element(after, SEQUENCE)?;
    element(algorithm, OBJECT_IDENTIFIER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    /// Made by openssl: ECDSA on P-384 with SHA-384.
    const REAL: &str = "MIIBrDCCATKgAwIBAgIUVngIa5clVzsTJ9vInZESUnc6mF0wCgYIKoZIzj0EAwMwDDEKMAgGA1UEAwwB\
        eDAgFw0yNjExMjAxMzQzMzRaGA8yMTI2MTAyNzEzNDMzNFowDDEKMAgGA1UEAwwBeDB2MBAGByqGSM49\
        AgEGBSuBBAAiA2IABCJLSzHQ9/xobM4DHn9zZo1XZF37EmE9izYgmxp65D7s8sYwFKGExipllQfo8YgE\
        NMTs3tvZbJtvQF7hvThOM36Xw+FW8XcgKF2X4wtaywdEbwoAButSdF9DtA1jF3o9S6NTMFEwHQYDVR0O\
        BBYEFOX8ZoAI3xpnwWQv84aHbFGXXTwBMB8GA1UdIwQYMBaAFOX8ZoAI3xpnwWQv84aHbFGXXTwBMA8G\
        A1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwMDaAAwZQIxAN9W73X7zTBmc0GuSR73IEWQc54ePTyhUcKs\
        Okpmf3A8zFsgUPEobgIy/Thnru/rNQIwRp0ewC0kVHklEbg22OpvE36fUT2VQTnGPW0OpdOy/1mnU099\
        ZM6NCX3Zs8ILVGB+";
    /// Its hash by openssl, in base64.
    const REAL_HASH: &str = "9t3ZhO7Tg+bNFCPJhRF5yfEM7///kkdfdHz5um6IKUfG8T1dD2pRs0yDM+gjpovD";

    const SHA256_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
    const ED25519: &[u8] = &[0x2b, 0x65, 0x70];

    /// A DER element with its length in as many bytes as it needs.
    fn element_of(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = u32::try_from(content.len()).expect("short").to_be_bytes();
        let digits = &length[length.iter().take_while(|&&digit| digit == 0).count()..];
        let mut bytes = vec![tag];
        if content.len() >= 0x80 {
            bytes.push(0x80 | u8::try_from(digits.len()).expect("few"));
            bytes.extend_from_slice(digits);
        } else {
            bytes.push(length[3]);
        }
        [&bytes, content].concat()
    }

    fn certificate(signed_bytes: usize, algorithm: &[u8]) -> Vec<u8> {
        let algorithm = element_of(0x30, &element_of(6, algorithm));
        let signed = element_of(0x30, &vec![7; signed_bytes]);
        let signature = element_of(3, &[0; 64]);
        element_of(0x30, &[signed, algorithm, signature].concat())
    }

    #[test]
    fn a_real_certificate_has_the_hash_that_openssl_says() {
        let der = STANDARD.decode(REAL).expect("base64");
        let hash = end_point(&der).expect("a hash");
        assert_eq!(STANDARD.encode(hash), REAL_HASH);
    }

    #[test]
    fn the_signature_is_found_behind_lengths_of_any_size() {
        for signed_bytes in [0, 1, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000] {
            let certificate = certificate(signed_bytes, SHA256_WITH_RSA);
            let found = signature_algorithm(&certificate);
            assert_eq!(found, Some((SHA256_WITH_RSA, &b""[..])));
            let hash = Sha256::digest(&certificate).to_vec();
            assert_eq!(end_point(&certificate), Some(hash));
        }
    }

    #[test]
    fn the_hash_is_that_of_the_signature_and_never_a_weak_one() {
        let rsa = |last: u8| [&SHA256_WITH_RSA[..8], &[last]].concat();
        let ecdsa = |last: &[u8]| [&[0x2a, 0x86, 0x48, 0xce, 0x3d, 4][..], last].concat();
        for (algorithm, hash) in [
            (rsa(4), Some(Hash::Sha256)),
            (rsa(5), Some(Hash::Sha256)),
            (rsa(11), Some(Hash::Sha256)),
            (rsa(12), Some(Hash::Sha384)),
            (rsa(13), Some(Hash::Sha512)),
            (ecdsa(&[1]), Some(Hash::Sha256)),
            (ecdsa(&[3, 2]), Some(Hash::Sha256)),
            (ecdsa(&[3, 3]), Some(Hash::Sha384)),
            (ecdsa(&[3, 4]), Some(Hash::Sha512)),
            (ED25519.to_vec(), None),
        ] {
            assert_eq!(hash_of(&algorithm, &[]), hash, "{algorithm:x?}");
        }
        for (last, hash) in [
            (1, Some(Hash::Sha256)),
            (2, Some(Hash::Sha384)),
            (3, Some(Hash::Sha512)),
            (4, None),
        ] {
            let sha = [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, last];
            let named = element_of(0xa0, &element_of(0x30, &element_of(6, &sha)));
            assert_eq!(hash_of(&rsa(10), &element_of(0x30, &named)), hash, "{last}");
        }
        let sha1 = element_of(0x30, &[]);
        assert_eq!(hash_of(&rsa(10), &sha1), Some(Hash::Sha256));
        assert_eq!(hash_of(&rsa(10), &[]), None);
        assert_eq!(end_point(&certificate(9, ED25519)), None);
    }

    proptest! {
        #[test]
        fn a_certificate_that_is_cut_or_changed_never_panics(
            cut in any::<prop::sample::Index>(),
            place in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut bytes = certificate(200, SHA256_WITH_RSA);
            let length = bytes.len();
            prop_assert_eq!(signature_algorithm(&bytes[..cut.index(length)]), None);
            bytes[place.index(length)] = byte;
            let _ = end_point(&bytes);
        }
    }
}
