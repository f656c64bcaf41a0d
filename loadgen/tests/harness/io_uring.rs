//! Whether tests over io_uring can run here: containers often forbid it.

use std::sync::OnceLock;

/// Says so once on standard error where they cannot.
pub(crate) fn allowed() -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    *ALLOWED.get_or_init(|| match io_uring::IoUring::new(1) {
        Ok(_) => true,
        Err(error) => {
            eprintln!("tests over io_uring are skipped, as it is not allowed here: {error}");
            false
        }
    })
}
