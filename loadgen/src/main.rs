//! dyno-loadgen
fn main() {}
