//! Plays a job against the fake and gives its events back.

#![allow(
    unreachable_pub,
    reason = "shared by test programs, each with its own copy"
)]
#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it stands"
)]
#![allow(dead_code, reason = "not every test program uses all of it")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dyno_loadgen::event::{Event, InTicks, Status, Tick};
use dyno_loadgen::job::Job;
use dyno_loadgen::message::{Command, Message};
use dyno_loadgen::run::run;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use std::io::{self, Write};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// What a job's run wrote.
pub struct Played {
    pub events: Vec<Event>,
    pub status: Status,
}

/// A buffer that several owners write to and read.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    fn events(&self) -> Vec<Event> {
        let bytes = self.0.lock().unwrap().clone();
        let lines = String::from_utf8(bytes).unwrap();
        lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An example of the contract by its name.
pub fn example(name: &str) -> Job {
    Job::parse(&text(&format!("job-{name}.json"))).unwrap()
}

/// A file of the contract.
pub fn text(file: &str) -> String {
    std::fs::read_to_string(format!("{}/contract/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// An example made to run by itself against a fake of that description.
pub fn fake(name: &str, description: &str) -> Job {
    let mut job = serde_json::to_value(example(name)).unwrap();
    job["engine"] = "fake".into();
    job["server"] = serde_json::Value::Null;
    job["fake"] = serde_json::from_str(description).unwrap();
    job["autostart"] = true.into();
    Job::parse(&job.to_string()).unwrap()
}

/// Plays a job whose commands are there from the start.
pub fn play_with(job: &Job, messages: impl IntoIterator<Item = Message>) -> Played {
    job.check().unwrap();
    let (sender, receiver) = channel();
    for message in messages {
        sender.send(message).unwrap();
    }
    let sink = Sink::default();
    let status = run(job, (sender, &receiver), Box::new(sink.clone()));
    Played {
        events: sink.events(),
        status,
    }
    .added_up()
}

/// Plays a job that starts by itself.
pub fn play(job: &Job) -> Played {
    play_with(job, [])
}

/// Plays a job that pauses as soon as it runs, resumes, and stops when its window closes. By the fake's clock it may be
/// at its end before the command reaches it: then it is played again.
pub fn play_with_a_pause(job: &Job) -> Played {
    let script = [
        ("ready", Command::Go),
        ("ready", Command::Pause),
        ("ready", Command::Resume),
        ("window_close", Command::Stop),
    ];
    std::iter::repeat_with(|| converse(job, &script))
        .take(100)
        .find(|played| {
            let mut events = played.events.iter();
            events.any(|event| matches!(event, Event::Resumed { .. }))
        })
        .expect("a pause that comes in time is made")
}

/// Plays a job by commands, each given as soon as an event of that name is there.
pub fn converse(job: &Job, script: &[(&str, Command)]) -> Played {
    let mut job = job.clone();
    job.autostart = false;
    let (sender, receiver) = channel();
    let sink = Sink::default();
    std::thread::scope(|scope| {
        let (seen, commands) = (sink.clone(), sender.clone());
        scope.spawn(move || {
            for (event, command) in script {
                let mark = format!("{{\"event\":\"{event}\"");
                while !String::from_utf8_lossy(&seen.0.lock().unwrap()).contains(&mark) {
                    std::thread::sleep(std::time::Duration::from_micros(100));
                }
                commands.send(Message::Command(*command)).unwrap();
            }
        });
        let status = run(&job, (sender, &receiver), Box::new(sink.clone()));
        Played {
            events: sink.events(),
            status,
        }
        .added_up()
    })
}

/// A histogram as it stands in events.
pub fn decode(text: &str) -> Histogram<u64> {
    let bytes = STANDARD.decode(text).unwrap();
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .unwrap()
}

/// The ticks of a role among events, of the window.
fn measured<'a>(events: impl Iterator<Item = &'a Event>, role: &str) -> Vec<&'a Tick> {
    let ticks = events.filter_map(|event| match event {
        Event::Tick(tick) if tick.role == role && tick.measured => Some(tick),
        _ => None,
    });
    ticks.collect()
}

impl Played {
    /// The same, once the ticks of a step that ended well add up to what the generator counted in them.
    fn added_up(self) -> Self {
        if self.status != Status::Ok {
            return self;
        }
        let totals = self.find(|event| match event {
            Event::Done { totals, .. } => Some(totals.clone()),
            _ => None,
        });
        for (role, whole) in totals {
            let Some(in_ticks) = whole.in_ticks else {
                continue; // of a fill
            };
            let mut sums = InTicks::default();
            for event in &self.events {
                if let Event::Tick(tick) = event
                    && tick.role == role
                {
                    for [count, rows, errors, _] in &tick.per_client {
                        sums.count += count;
                        sums.rows += rows;
                        sums.errors += errors;
                    }
                    let counts = tick.operations.values().map(|operation| operation.count);
                    sums.operations += counts.sum::<u64>();
                }
            }
            assert_eq!(in_ticks, sums, "of {role}");
        }
        self
    }

    /// The ticks of a role in the window.
    pub fn ticks(&self, role: &str) -> Vec<&Tick> {
        let closed = |event: &&Event| !matches!(event, Event::WindowClose { .. });
        measured(self.events.iter().take_while(closed), role)
    }

    /// What a role had in flight as the window closed: a tick without time, after it.
    pub fn drained(&self, role: &str) -> &Tick {
        let open = |event: &&Event| !matches!(event, Event::WindowClose { .. });
        let [tick] = measured(self.events.iter().skip_while(open), role)[..] else {
            panic!("one tick follows the window")
        };
        tick
    }

    /// Counted operations of a role in the window, by tick.
    pub fn counts(&self, role: &str) -> Vec<u64> {
        let ticks = self.ticks(role);
        ticks
            .iter()
            .map(|tick| tick.per_client.iter().map(|client| client[0]).sum())
            .collect()
    }

    /// The first event that `find` finds something in.
    pub fn find<T>(&self, find: impl FnMut(&Event) -> Option<T>) -> T {
        self.events
            .iter()
            .find_map(find)
            .expect("the event is there")
    }

    /// When the step started.
    pub fn start_ns(&self) -> u64 {
        self.find(|event| match event {
            Event::Started { mono_ns, .. } => Some(*mono_ns),
            _ => None,
        })
    }

    /// When the step paused first.
    pub fn paused_ns(&self) -> u64 {
        self.find(|event| match event {
            Event::Paused { mono_ns } => Some(*mono_ns),
            _ => None,
        })
    }

    /// The window's length from `window_close`.
    pub fn active_ns(&self) -> u64 {
        self.find(|event| match event {
            Event::WindowClose { active_ns, .. } => Some(*active_ns),
            _ => None,
        })
    }

    /// The reason in `done`.
    pub fn reason(&self) -> Option<String> {
        self.find(|event| match event {
            Event::Done { reason, .. } => Some(reason.clone()),
            _ => None,
        })
    }

    /// What `done` says of a role: count, rows, errors, retries.
    pub fn totals(&self, role: &str) -> [u64; 4] {
        self.find(|event| match event {
            Event::Done { totals, .. } => totals
                .get(role)
                .map(|totals| [totals.count, totals.rows, totals.errors, totals.retries]),
            _ => None,
        })
    }
}
