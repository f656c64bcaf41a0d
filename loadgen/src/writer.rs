//! Writes events, on a thread of its own: it merges the workers' ticks, serialises them and gives the records back.

use crate::event::{ConnectsTick, Event, OperationTick, SumsTick, Tick};
use crate::message::Output;
use crate::program::Compiled;
use crate::record::{
    self, Code, Histogram, OperationRecord, RoleRecord, Shape, Sums, TickRecord, code_text,
};
use crate::transaction_log::TransactionLog;
use crate::worker::ERRORS_WRITTEN_MAX;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// Writes the events of a step.
pub struct Writer {
    code: Arc<Compiled>,
    shape: Shape,
    output: Box<dyn Write + Send>,
    /// By worker: where its records go back to.
    spares: Vec<Sender<Box<TickRecord>>>,
    /// Ticks that some worker has not reached yet.
    pending: BTreeMap<i64, Pending>,
    /// A record of the writer's own that no tick needs at the moment.
    idle: Option<TickRecord>,
    /// A histogram of nothing, as most are.
    nothing: String,
    process_cpu_ns: u64,
    log: Option<TransactionLog>,
    errors: BTreeMap<(String, String), u32>,
}

/// The part of a tick that is there.
struct Pending {
    record: TickRecord,
    /// How many workers' parts are in it.
    parts: usize,
}

impl Writer {
    /// Makes a writer for as many workers as there are `spares`.
    #[must_use]
    pub fn new(
        code: Arc<Compiled>,
        shape: Shape,
        output: Box<dyn Write + Send>,
        spares: Vec<Sender<Box<TickRecord>>>,
        log: Option<TransactionLog>,
    ) -> Self {
        Self {
            code,
            shape,
            output,
            spares,
            pending: BTreeMap::new(),
            idle: None,
            nothing: serialized(&record::no_counts(false)),
            process_cpu_ns: 0,
            log,
            errors: BTreeMap::new(),
        }
    }

    /// Writes everything up to [`Output::End`].
    ///
    /// # Errors
    /// Returns the output's error: then nobody reads any more.
    pub fn run(mut self, input: &Receiver<Output>) -> io::Result<()> {
        while let Ok(output) = input.recv() {
            match output {
                Output::Event(event) => self.event(&event)?,
                Output::Tick(worker, record) => self.tick(worker, record)?,
                Output::End => break,
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        if let Event::Error {
            role, code, fatal, ..
        } = event
        {
            let written = self.errors.entry((role.clone(), code.clone())).or_default();
            *written += 1;
            if *written > ERRORS_WRITTEN_MAX && !fatal {
                return Ok(());
            }
        }
        event.write(&mut self.output)
    }

    /// Merges a worker's part into the tick, gives its record back, and writes the tick if that was the last part.
    fn tick(&mut self, worker: usize, mut part: Box<TickRecord>) -> io::Result<()> {
        let number = part.cut.number;
        let pending = self.pending.entry(number).or_insert_with(|| {
            let idle = self.idle.take();
            let mut record = idle.unwrap_or_else(|| TickRecord::new(&self.shape));
            record.cut = part.cut;
            Pending { record, parts: 0 }
        });
        pending.record.merge(&mut part);
        pending.parts += 1;
        let whole = pending.parts == self.spares.len();
        part.clear();
        // A worker that has ended needs it no more.
        let _ = self.spares[worker].send(part);
        let complete = whole.then(|| self.pending.remove(&number)).flatten();
        let Some(Pending { mut record, .. }) = complete else {
            return Ok(());
        };
        let outcome = self.write_tick(&record);
        record.clear();
        self.idle = Some(record);
        outcome
    }

    fn write_tick(&mut self, record: &TickRecord) -> io::Result<()> {
        let code = Arc::clone(&self.code);
        for trace in &record.trace {
            let role = &code.roles[trace.role];
            let event = Event::Operation {
                mono_ns: trace.end_ns,
                role: role.name.clone(),
                client: trace.client,
                connection: trace.connection,
                operation: role.operations[trace.operation].clone(),
                number: trace.number,
                due_ns: trace.due_ns,
                start_ns: trace.start_ns,
                end_ns: trace.end_ns,
                rows: trace.rows,
                error: trace.error.map(code_text),
            };
            self.event(&event)?;
        }
        if let Some(log) = &mut self.log {
            log.write(&code, &record.log)?;
        }
        let cpu_us = record.process_cpu_ns.saturating_sub(self.process_cpu_ns) / 1000;
        self.process_cpu_ns = record.process_cpu_ns;
        for (role, counted) in code.roles.iter().zip(&record.roles) {
            let names = role.operations.iter();
            let operations = names
                .zip(&counted.operations)
                .map(|(name, operation)| (name.clone(), self.operation(operation)))
                .collect();
            let tick = self.role(&role.name, record, counted, operations, cpu_us);
            self.event(&Event::Tick(tick))?;
        }
        Ok(())
    }

    fn role(
        &self,
        name: &str,
        record: &TickRecord,
        counted: &RoleRecord,
        operations: BTreeMap<String, OperationTick>,
        cpu_us: u64,
    ) -> Tick {
        let clients = counted.per_client.iter();
        Tick {
            mono_ns: record.cut.end_ns,
            tick: record.cut.number,
            active_ns: record.cut.active_ns,
            measured: record.cut.measured,
            role: name.to_owned(),
            per_client: clients
                .map(|client| [client.count, client.rows, client.errors, client.max_us])
                .collect(),
            operations,
            late_us_max: counted.late_us_max,
            backlog: counted.backlog,
            cpu_us,
            lag: self.histogram(&counted.lag),
            queue: self.histogram(&counted.queue),
            connection_ns: counted.connection_ns,
            connects: (counted.connects.count > 0).then(|| {
                Box::new(ConnectsTick {
                    count: counted.connects.count,
                    sum_us: counted.connects.sum_us,
                    max_us: counted.connects.max_us,
                })
            }),
        }
    }

    fn operation(&self, record: &OperationRecord) -> OperationTick {
        OperationTick {
            count: record.count,
            rows: record.rows,
            empty: record.empty,
            max_us: record.max_us,
            errors: by_code(&record.errors),
            retries: record.retries,
            retried: record.retried,
            failed: by_code(&record.failed),
            rolled_back: record.rolled_back,
            skipped: record.skipped,
            over_limit: record.over_limit,
            response: self.histogram(&record.response),
            service: self.histogram(&record.service),
            sums_us: (record.count > 0).then(|| sums(&record.sums)),
        }
    }

    fn histogram<const FINE: bool>(&self, histogram: &Histogram<FINE>) -> String {
        histogram
            .counts()
            .map_or_else(|| self.nothing.clone(), serialized)
    }
}

/// Returns counts by code in the form of events.
fn by_code(counts: &[(Code, u64)]) -> BTreeMap<String, u64> {
    let counts = counts.iter();
    counts
        .map(|(code, count)| (code_text(*code), *count))
        .collect()
}

/// Returns sums in the form of events.
fn sums(sums: &Sums) -> SumsTick {
    let [response, service, late] =
        [sums.response, sums.service, sums.late].map(|sum| [sum.whole, sum.squares]);
    SumsTick {
        response,
        service,
        late,
    }
}

/// Returns a histogram in the form of events.
pub(crate) fn serialized(counts: &hdrhistogram::Histogram<u32>) -> String {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    let _ = V2DeflateSerializer::new().serialize(counts, &mut bytes);
    STANDARD.encode(bytes)
}
