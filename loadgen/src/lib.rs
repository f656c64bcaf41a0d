//! The load generator of dbdyno: reads a job, makes load, writes events.
