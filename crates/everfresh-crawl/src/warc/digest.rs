use data_encoding::BASE32;
use sha1::{Digest as _, Sha1};

/// The digest that stands in `WARC-Payload-Digest` and `WARC-Block-Digest`: `sha1:` and 32 letters of base32.
///
/// SHA-1 because the indexes and players of other archives compare digests letter by letter, and it is what they have. What
/// is a change does not hang on it: see [`crate::content::Digest`].
///
/// ```
/// use everfresh_crawl::warc::payload_digest;
/// assert_eq!(payload_digest(b""), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
/// ```
pub fn payload_digest(bytes: &[u8]) -> String {
    format!("sha1:{}", BASE32.encode(&Sha1::digest(bytes)))
}
