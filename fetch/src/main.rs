//! dyno-fetch
fn main() {}
