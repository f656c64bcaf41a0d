//! A step that fills tables: runs the fill in a thread of its own and reports its progress as ticks.

use super::close::early;
use super::{Ending, Step, Turn};
use crate::clock::{monotonic_ns, process_cpu_ns, unix_ahead_ns};
use crate::event::{Event, OperationTick, Tick, Totals};
use crate::fill;
use crate::job::{Engine, Fill, Job, nanoseconds};
use crate::message::{FillGave, FillNote, FillProgress, Message};
use crate::record;
use crate::session::Target;
use crate::session::fake::CPU_NS_PER_REPLY;
use crate::shared::End;
use crate::timeline::{Cut, Timeline};
use crate::writer;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// The role and operation that a fill reports as.
const ROLE: &str = "fill";
const OPERATION: &str = "row";

/// What a fill has come to.
struct Account {
    timeline: Timeline,
    /// Rows by fill, table and stream.
    rows: BTreeMap<(usize, usize, usize), u64>,
    connected: BTreeSet<u32>,
    told: u64,
    cpu_ns: u64,
}

impl Account {
    fn rows(&self) -> u64 {
        self.rows.values().sum()
    }
}

impl Step<'_> {
    /// Runs the fills of a job.
    pub(crate) fn fill(&mut self) -> Ending {
        let target = match Target::of_job(self.job) {
            Ok(target) => target,
            Err(error) => return Ending::before_start(End::Failed(error.to_string())),
        };
        self.write(Event::Ready {
            mono_ns: monotonic_ns(),
            connections: 0,
            threads: 0,
            setup_us: 0,
            histogram_bytes_max: 0,
        });
        let Some(start_ns) = self.wait_for_go() else {
            return Ending::before_start(End::Stopped("stopped before the start".to_owned()));
        };
        std::thread::sleep(Duration::from_nanos(
            start_ns.saturating_sub(monotonic_ns()),
        ));
        self.write(Event::Started {
            mono_ns: start_ns,
            unix_ns: start_ns + unix_ahead_ns(),
        });
        self.write(Event::WindowOpen { mono_ns: start_ns });
        let mut account = Account {
            timeline: Timeline::new(&self.job.stop, start_ns),
            rows: BTreeMap::new(),
            connected: BTreeSet::new(),
            told: 0,
            cpu_ns: process_cpu_ns(),
        };
        let (end, end_ns) = match target {
            Some(target) => (self.fill_server(target, &mut account), monotonic_ns()),
            None => self.fill_fake(&mut account, start_ns),
        };
        if let Some(cut) = account.timeline.close(end_ns) {
            self.fill_tick(&mut account, cut);
        }
        let done = (end == End::Done).then_some(end_ns);
        self.write(Event::WindowClose {
            mono_ns: end_ns,
            active_ns: account.timeline.window_ns(),
            ended: BTreeMap::from([(ROLE.to_owned(), vec![done])]),
            clients_end_ns: vec![done; self.job.clients as usize],
            status: early(&end),
        });
        while !self.caller.stop && !self.job.autostart {
            if let Turn::Abort = self.turn(None) {
                break;
            }
        }
        let rows = account.rows();
        let totals = Totals {
            count: rows,
            rows,
            ..Totals::default()
        };
        let fake = self.job.engine == Engine::Fake;
        Ending {
            end,
            mono_ns: if fake { end_ns } else { monotonic_ns() },
            totals: BTreeMap::from([(ROLE.to_owned(), totals)]),
            cpu_us: if fake {
                rows * CPU_NS_PER_REPLY / 1000
            } else {
                process_cpu_ns() / 1000
            },
            threads: Vec::new(),
        }
    }

    /// Fills over a server's connections.
    fn fill_server(&mut self, target: Target, account: &mut Account) -> End {
        let stop = Arc::new(AtomicBool::new(false));
        let (job, messages, stopped) = (self.job.clone(), self.sender.clone(), Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("fill".to_owned());
        if let Err(error) = thread.spawn(move || fill_all(&job, &target, &stopped, &messages)) {
            return End::Failed(error.to_string());
        }
        let mut drained_until = None;
        loop {
            let left_ns = account.timeline.wake_ns().saturating_sub(monotonic_ns());
            let tick = Instant::now() + Duration::from_nanos(left_ns);
            match self.turn(Some(drained_until.unwrap_or(tick).min(tick))) {
                Turn::Fill(FillNote::Progress(fill, progress)) => {
                    self.progress(account, fill, progress);
                }
                Turn::Fill(FillNote::Gave(gave)) => self.gave(gave),
                Turn::Fill(FillNote::End(Err(reason))) => return End::Failed(reason),
                Turn::Fill(FillNote::End(Ok(_))) if stop.load(Ordering::Relaxed) => {
                    return End::Stopped("stopped by the caller".to_owned());
                }
                Turn::Fill(FillNote::End(Ok(rows))) => return verdict(rows),
                Turn::Abort => return End::Stopped("given up by a signal".to_owned()),
                _ => {}
            }
            let now_ns = monotonic_ns();
            while account.timeline.boundary_ns() <= now_ns {
                let cut = account.timeline.cut();
                self.fill_tick(account, cut);
            }
            let limit = account
                .timeline
                .limit_ns()
                .is_some_and(|limit_ns| limit_ns <= now_ns);
            if self.caller.stop || limit {
                stop.store(true, Ordering::Relaxed);
                let until = *drained_until
                    .get_or_insert_with(|| Instant::now() + self.job.stop.drain_max());
                if until <= Instant::now() {
                    return self.never_drained();
                }
            }
        }
    }

    fn gave(&self, gave: FillGave) {
        let FillGave {
            table,
            part,
            rows,
            bytes,
            sha256,
        } = gave;
        self.write(Event::Gave {
            mono_ns: monotonic_ns(),
            table,
            part,
            rows,
            bytes,
            sha256,
        });
    }

    fn progress(&self, account: &mut Account, fill: usize, progress: FillProgress) {
        let FillProgress {
            table,
            stream,
            rows,
            server_pid,
        } = progress;
        account.rows.insert((fill, table, stream), rows);
        if account.connected.insert(server_pid) {
            let connection = u32::try_from(account.connected.len() - 1).unwrap_or(u32::MAX);
            self.write(Event::Connected {
                mono_ns: monotonic_ns(),
                role: ROLE.to_owned(),
                client: 0,
                connection,
                server_pid,
                server_tid: None,
                processor: None,
            });
        }
    }

    fn fill_tick(&self, account: &mut Account, cut: Cut) {
        let rows = account.rows();
        let new = rows - account.told;
        let cpu_ns = match self.job.engine {
            Engine::Fake => account.cpu_ns + new * CPU_NS_PER_REPLY,
            Engine::Postgres | Engine::Mysql | Engine::Mariadb => process_cpu_ns(),
        };
        let empty = writer::serialized(&record::no_counts(false));
        let operation = OperationTick {
            count: new,
            rows: new,
            response: empty.clone(),
            service: empty.clone(),
            ..OperationTick::default()
        };
        self.write(Event::Tick(Tick {
            mono_ns: cut.end_ns,
            tick: cut.number,
            active_ns: cut.active_ns,
            measured: cut.measured,
            role: ROLE.to_owned(),
            per_client: vec![[new, new, 0, 0]],
            operations: BTreeMap::from([(OPERATION.to_owned(), operation)]),
            late_us_max: 0,
            backlog: 0,
            cpu_us: (cpu_ns - account.cpu_ns) / 1000,
            lag: empty.clone(),
            queue: empty,
            connection_ns: None,
            connects: None,
        }));
        (account.told, account.cpu_ns) = (rows, cpu_ns);
    }

    /// The fake's fill: rows at the rate of its service time, on its clock.
    fn fill_fake(&self, account: &mut Account, start_ns: u64) -> (End, u64) {
        let fake = self.job.fake.clone().unwrap_or_default();
        let row_us = *fake.service_us.get(OPERATION).unwrap_or(&fake.default_us);
        let (mut done, mut began_ns) = (0, start_ns);
        for fill in &self.job.fills {
            let rows = fill.expected_rows() * u64::from(self.job.table_count(&fill.table));
            let all_ns =
                nanoseconds(rows as f64 * row_us / 1e6 / f64::from(fill.streams.max(1))).max(1);
            let end_ns = began_ns + all_ns;
            while account.timeline.boundary_ns() < end_ns {
                let cut = account.timeline.cut();
                let part =
                    u128::from(rows) * u128::from(cut.end_ns - began_ns) / u128::from(all_ns);
                account
                    .rows
                    .insert((0, 0, 0), done + u64::try_from(part).unwrap_or(rows));
                self.fill_tick(account, cut);
            }
            done += rows;
            account.rows.insert((0, 0, 0), done);
            began_ns = end_ns;
        }
        (End::Done, began_ns)
    }
}

/// Whether the server has kept all rows: those that it has kept, and those that it was to keep.
fn verdict((rows, planned): (u64, u64)) -> End {
    if rows == planned {
        End::Done
    } else {
        End::Failed(format!("the server kept {rows} of {planned} rows"))
    }
}

/// Runs the fills one after the other, each over all its tables.
fn fill_all(job: &Job, target: &Target, stop: &AtomicBool, messages: &Sender<Message>) {
    let tell = |note| {
        // Where the step has given the fill up, nobody listens.
        let _ = messages.send(Message::Fill(note));
    };
    let (mut rows, mut planned) = (0, 0);
    for (index, fill) in job.fills.iter().enumerate() {
        let progress = |progress| tell(FillNote::Progress(index, progress));
        match fill::run(
            fill,
            &job.values,
            target,
            job.seed,
            &names(job, fill),
            stop,
            progress,
        ) {
            Ok(totals) => {
                if fill.from.is_none() {
                    rows += totals.rows;
                    planned += totals.planned;
                }
                for gave in totals.gave {
                    tell(FillNote::Gave(gave));
                }
            }
            Err(error) => {
                tell(FillNote::End(Err(error.to_string())));
                return;
            }
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    tell(FillNote::End(Ok((rows, planned))));
}

fn names(job: &Job, fill: &Fill) -> Vec<String> {
    (0..job.table_count(&fill.table))
        .map(|number| job.table_name(&fill.table, number))
        .collect()
}
