//! Sessions: what answers a job's statements.

pub mod postgres;
