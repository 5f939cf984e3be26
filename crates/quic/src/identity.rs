//! Identities of endpoints: raw public keys (RFC 7250), identified by their fingerprints.
//!
//! There are no certificates and no authorities. A program has one key pair, and its peers store the fingerprint of its
//! public key.

use std::str::FromStr;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, SignatureScheme};

use levelflow_host::Error;

/// BLAKE3 hash of a public key (its SubjectPublicKeyInfo), printed as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub struct Fingerprint(blake3::Hash);

impl Fingerprint {
    /// Computes the fingerprint of a public key.
    #[must_use]
    pub fn of(key: &[u8]) -> Self {
        Self(blake3::hash(key))
    }
}

impl FromStr for Fingerprint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::input(format!("key fingerprint {text:?}: 64 hexadecimal digits are allowed"));
        blake3::Hash::from_hex(text).map(Self).map_err(|_| wrong())
    }
}

/// Key pair.
#[derive(Debug, Clone)]
pub struct Identity {
    key: Arc<CertifiedKey>,
    fingerprint: Fingerprint,
}

impl Identity {
    /// Generates a key pair for this process.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn generate() -> Result<Self, Error> {
        let pair = rcgen::KeyPair::generate().map_err(|e| Error::failed(format!("cannot generate a key: {e}")))?;
        Self::of(&pair)
    }

    /// Reads a key pair from the text of a PEM file.
    ///
    /// # Errors
    /// When the text is not a private key that TLS 1.3 supports.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        let pair = rcgen::KeyPair::from_pem(text).map_err(|_| Error::input("key: not a private key in PEM"))?;
        Self::of(&pair)
    }

    fn of(pair: &rcgen::KeyPair) -> Result<Self, Error> {
        let broken = || Error::input("key: TLS 1.3 does not support its type");
        let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pair.serialize_der()));
        let signing = ring::sign::any_supported_type(&der).map_err(|_| broken())?;
        let public = signing.public_key().ok_or_else(broken)?.to_vec();
        Ok(Self {
            fingerprint: Fingerprint::of(&public),
            key: Arc::new(CertifiedKey::new(vec![CertificateDer::from(public)], signing)),
        })
    }

    /// Returns the fingerprint, by which peers identify the key.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}

/// Trusted peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Any peer.
    Anyone,
    /// The holders of these keys.
    Keys(Vec<Fingerprint>),
}

/// Verifier of peers. A peer must present a trusted public key, and must have its private key.
#[derive(Debug)]
struct Verifier {
    trust: Trust,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    fn check(&self, key: &CertificateDer<'_>) -> Result<(), rustls::Error> {
        let known = match &self.trust {
            Trust::Anyone => true,
            Trust::Keys(keys) => keys.contains(&Fingerprint::of(key)),
        };
        let refused = CertificateError::ApplicationVerificationFailure;
        if known { Ok(()) } else { Err(refused.into()) }
    }
}

/// Signature verification for client and server: TLS 1.3 with raw public keys.
macro_rules! signatures {
    () => {
        /// Rejects TLS 1.2, which is never offered.
        fn verify_tls12_signature(
            &self,
            _message: &[u8],
            _key: &CertificateDer<'_>,
            _signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            Err(rustls::Error::General("TLS 1.3 is needed".into()))
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            key: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            let key = SubjectPublicKeyInfoDer::from(key.as_ref());
            let algorithms = &self.provider.signature_verification_algorithms;
            verify_tls13_signature_with_raw_key(message, &key, signed, algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.provider
                .signature_verification_algorithms
                .supported_schemes()
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ServerCertVerifier for Verifier {
    signatures!();

    fn verify_server_cert(
        &self,
        key: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.check(key).map(|()| ServerCertVerified::assertion())
    }
}

impl ClientCertVerifier for Verifier {
    signatures!();

    fn client_auth_mandatory(&self) -> bool {
        self.trust != Trust::Anyone
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        key: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.check(key).map(|()| ClientCertVerified::assertion())
    }
}

/// Returns the QUIC configuration of a client.
pub(super) fn client(
    identity: &Identity,
    trust: Trust,
    protocol: &[u8],
) -> Result<Arc<noq::crypto::rustls::QuicClientConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(Verifier {
        trust,
        provider: Arc::clone(&provider),
    });
    let resolver = rustls::client::AlwaysResolvesClientRawPublicKeys::new(Arc::clone(&identity.key));
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(Error::failed)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_cert_resolver(Arc::new(resolver));
    tls.alpn_protocols = vec![protocol.to_vec()];
    let quic = noq::crypto::rustls::QuicClientConfig::try_from(tls).map_err(Error::failed)?;
    Ok(Arc::new(quic))
}

/// Returns the QUIC configuration of a server.
pub(super) fn server(
    identity: &Identity,
    trust: Trust,
    protocol: &[u8],
) -> Result<Arc<noq::crypto::rustls::QuicServerConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(Verifier {
        trust,
        provider: Arc::clone(&provider),
    });
    let resolver = rustls::server::AlwaysResolvesServerRawPublicKeys::new(Arc::clone(&identity.key));
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(Error::failed)?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(Arc::new(resolver));
    tls.alpn_protocols = vec![protocol.to_vec()];
    let quic = noq::crypto::rustls::QuicServerConfig::try_from(tls).map_err(Error::failed)?;
    Ok(Arc::new(quic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_fingerprint_and_any_other_text_is_refused() {
        let pem = rcgen::KeyPair::generate().unwrap().serialize_pem();
        let fingerprint = Identity::from_pem(&pem).unwrap().fingerprint();
        assert_eq!(Identity::from_pem(&pem).unwrap().fingerprint(), fingerprint);
        assert_ne!(Identity::generate().unwrap().fingerprint(), fingerprint);
        assert_eq!(fingerprint.to_string().parse::<Fingerprint>().unwrap(), fingerprint);
        assert_eq!(Identity::from_pem("hello").unwrap_err().status(), 2);
    }

    #[test]
    fn a_fingerprint_is_64_hexadecimal_digits() {
        assert!("abc".parse::<Fingerprint>().is_err());
        assert!("g".repeat(64).parse::<Fingerprint>().is_err());
        assert!("0".repeat(64).parse::<Fingerprint>().is_ok());
    }
}
