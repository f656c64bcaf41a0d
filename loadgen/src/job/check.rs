//! Reading a job and everything that makes one valid, so that nothing of it has to be checked again.

mod fill;
mod load;
mod script;
mod server;
mod session;
mod source;
mod sql;
mod think;
mod value;

use super::{CharacterSet, Engine, Fake, Job, Log, PROTOCOL, Stop};
use rustix::thread::CpuSet;
use std::collections::BTreeSet;
use std::fmt;
use std::io::Read;

/// A job that cannot be run: which key, what is wrong and what to do. One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobError {
    /// The path of the key, such as `roles[1].pace.to`.
    pub key: String,
    /// What is wrong with it and what would be right.
    pub problem: String,
}

impl fmt::Display for JobError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "job: `{}`: {}", self.key, self.problem)
    }
}

impl std::error::Error for JobError {}

/// A check's result: nothing, or what is wrong.
type Check = Result<(), JobError>;

fn refuse(key: impl Into<String>, problem: impl Into<String>) -> JobError {
    JobError {
        key: key.into(),
        problem: problem.into(),
    }
}

fn ensure(valid: bool, key: impl Into<String>, problem: impl Into<String>) -> Check {
    if valid {
        Ok(())
    } else {
        Err(refuse(key, problem))
    }
}

/// Refuses an index beyond a list of `length` entries called `list`.
fn ensure_index(index: usize, length: usize, key: String, list: &str) -> Check {
    ensure(
        index < length,
        key,
        format!("{index} is not an index of `{list}`, which has {length}"),
    )
}

/// Refuses names that are empty or stand twice in the list called `list`.
fn ensure_names<'a>(list: &str, names: impl Iterator<Item = &'a str>) -> Check {
    let mut seen = BTreeSet::new();
    for (index, name) in names.enumerate() {
        let key = format!("{list}[{index}].name");
        ensure(!name.is_empty(), &key, "is empty; give it a name")?;
        ensure(
            seen.insert(name),
            key,
            format!("`{name}` stands twice; give each a name of its own"),
        )?;
    }
    Ok(())
}

/// Refuses what is neither a SQLSTATE nor, with MySQL, the number of an error.
fn ensure_retry(code: &str, engine: Engine, key: String) -> Check {
    if engine.is_mysql() && code.len() < 5 {
        return ensure(
            code.parse::<u16>().is_ok_and(|number| number > 0),
            key,
            format!(
                "`{code}` is neither a SQLSTATE such as 40001 nor an error's number such as 1205"
            ),
        );
    }
    ensure_sqlstate(code, key)
}

/// Refuses anything but a five-character SQLSTATE.
fn ensure_sqlstate(code: &str, key: String) -> Check {
    ensure(
        code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        key,
        format!("`{code}` is no SQLSTATE, which has five letters or digits such as 40001"),
    )
}

/// Refuses what is not a finite number above zero.
fn ensure_positive(number: f64, key: &str) -> Check {
    ensure(
        number.is_finite() && number > 0.0,
        key,
        format!("{number} is not above 0"),
    )
}

/// A day in seconds, the longest that a step may be waited for after its end.
const DAY_S: f64 = 86_400.0;

/// The longest that may count for nothing after a pause, in seconds.
const SETTLE_S_MAX: f64 = 10.0;

/// The longest that a step, or its warm-up, may take: 30 days. Times in nanoseconds hold far more.
const STEP_S_MAX: f64 = 30.0 * DAY_S;

/// The most digits that a table's number is filled up to.
const DIGITS_MAX: usize = 9;

/// The most worker threads of a generator; each has a stack and, by its roles, histograms.
const THREADS_MAX: u32 = 1024;

/// Refuses what is not above zero, or more than a step may take.
fn ensure_step_s(seconds: f64, key: &str) -> Check {
    ensure_positive(seconds, key)?;
    ensure(
        seconds <= STEP_S_MAX,
        key,
        format!("{seconds} s; at most {STEP_S_MAX}, 30 days"),
    )
}

impl Job {
    /// Reads one JSON object, leaves what follows it, and checks all of it.
    ///
    /// # Errors
    /// Names the key that does not fit, and the remedy.
    pub fn read(input: impl Read) -> Result<Self, JobError> {
        Self::take(&mut serde_json::Deserializer::from_reader(input))
    }

    /// Reads a job from a text that holds nothing else.
    ///
    /// # Errors
    /// As [`Job::read`].
    pub fn parse(text: &str) -> Result<Self, JobError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let job = Self::take(&mut json)?;
        json.end().map_err(|error| refuse(".", error.to_string()))?;
        Ok(job)
    }

    fn take<'de, R: serde_json::de::Read<'de>>(
        json: &mut serde_json::Deserializer<R>,
    ) -> Result<Self, JobError> {
        let job: Self = serde_path_to_error::deserialize(json)
            .map_err(|error| refuse(error.path().to_string(), error.into_inner().to_string()))?;
        job.check()?;
        Ok(job)
    }

    /// Checks everything that can be known before connecting.
    ///
    /// # Errors
    /// Names the first key that does not fit, and the remedy.
    pub fn check(&self) -> Check {
        ensure(
            self.protocol == PROTOCOL,
            "protocol",
            format!("{} is not spoken here; use {PROTOCOL}", self.protocol),
        )?;
        self.check_engine()?;
        self.check_table_digits()?;
        ensure(self.clients >= 1, "clients", "is 0; give at least 1")?;
        if let Some(apart) = self.apart {
            ensure_step_s(apart.first_s, "apart.first_s")?;
            ensure_step_s(apart.each_s, "apart.each_s")?;
        }
        ensure(
            self.threads <= THREADS_MAX,
            "threads",
            format!("{}; at most {THREADS_MAX}", self.threads),
        )?;
        self.check_processors()?;
        self.check_values()?;
        self.check_cursors()?;
        self.check_variables()?;
        self.check_statements()?;
        self.check_programs()?;
        if self.fills.is_empty() {
            self.check_roles()?;
            self.check_queued()?;
        } else {
            ensure(
                self.roles.is_empty(),
                "roles",
                "a job has `roles` or `fills`, not both; make two jobs",
            )?;
            self.check_fills()?;
        }
        self.stop.check(self)?;
        self.check_segment()?;
        self.log.as_ref().map_or(Ok(()), |log| log.check(self))?;
        self.fake.as_ref().map_or(Ok(()), |fake| fake.check(self))
    }

    fn check_processors(&self) -> Check {
        let mut seen = BTreeSet::new();
        for (index, processor) in self.processors.iter().enumerate() {
            let key = format!("processors[{index}]");
            let is_known = (*processor as usize) < CpuSet::MAX_CPU;
            let most = format!("{processor}; at most {}", CpuSet::MAX_CPU - 1);
            ensure(is_known, &key, most)?;
            let twice = format!("{processor} stands twice; a thread has each for itself");
            ensure(seen.insert(processor), key, twice)?;
        }
        ensure(
            self.processors.is_empty() || (self.threads == 0 && self.fills.is_empty()),
            "processors",
            "are a thread each, of roles; remove `threads`, and give a job of fills none",
        )
    }

    fn check_table_digits(&self) -> Check {
        for (name, digits) in &self.table_digits {
            let key = format!("table_digits.{name}");
            ensure(
                self.tables.get(name).is_some_and(|count| *count > 0),
                key.clone(),
                "there are no such tables with numbers; leave it out",
            )?;
            ensure(
                (1..=DIGITS_MAX).contains(digits),
                key,
                format!("{digits}; give 1 to {DIGITS_MAX}"),
            )?;
        }
        Ok(())
    }

    fn check_server(&self) -> Check {
        let engine = self.engine.name();
        ensure(
            self.server.is_some(),
            "server",
            format!("the engine `{engine}` needs a server; give host, port, user and database"),
        )?;
        ensure(
            self.engine.is_mysql() || self.character_set == CharacterSet::default(),
            "character_set",
            "is for the engines `mysql` and `mariadb`; leave it out",
        )?;
        ensure(
            self.engine.is_mysql() || !self.found_rows,
            "found_rows",
            "is for the engines `mysql` and `mariadb`; leave it out",
        )
    }

    /// Each endpoint is whole, of the job's engine, and there for each role that names it.
    fn check_endpoints(&self) -> Check {
        ensure(
            self.endpoints.is_empty() || !matches!(self.engine, Engine::Fake),
            "endpoints",
            "the engine `fake` has one server; leave them out",
        )?;
        for (name, server) in &self.endpoints {
            let key = format!("endpoints.{name}");
            server.check().map_err(|error| {
                let place = error.key.replacen("server", &key, 1);
                refuse(place, error.problem)
            })?;
        }
        for (index, role) in self.roles.iter().enumerate() {
            if let Some(name) = &role.endpoint {
                ensure(
                    self.endpoints.contains_key(name),
                    format!("roles[{index}].endpoint"),
                    format!(
                        "`{name}` is none of the job's `endpoints`; add it there, or leave it out"
                    ),
                )?;
            }
        }
        Ok(())
    }

    fn check_engine(&self) -> Check {
        if let Some(server) = &self.server {
            server.check()?;
        }
        self.check_endpoints()?;
        match self.engine {
            Engine::Postgres | Engine::Mysql | Engine::Mariadb => self.check_server(),
            Engine::Fake => ensure(
                self.fake.is_some(),
                "fake",
                "the engine `fake` needs its description; give at least `default_us`",
            ),
        }
    }
}

impl Log {
    fn check(&self, job: &Job) -> Check {
        ensure(
            !self.prefix.is_empty() && !self.prefix.contains('\0'),
            "log.prefix",
            "give the path with which the files' names begin",
        )?;
        ensure(
            self.share > 0.0 && self.share <= 1.0,
            "log.share",
            format!("must be above 0 and at most 1, not {}", self.share),
        )?;
        for (index, role) in job.roles.iter().enumerate() {
            ensure(
                !role.name.contains(['/', '\0']),
                format!("roles[{index}].name"),
                "is part of a file's name, as there is a `log`; leave `/` out",
            )?;
        }
        ensure(
            job.fills.is_empty(),
            "log",
            "is of roles, and fills have none; leave it out",
        )
    }
}

impl Stop {
    fn check(&self, job: &Job) -> Check {
        ensure(
            (0.0..=STEP_S_MAX).contains(&self.warmup_s),
            "stop.warmup_s",
            format!("{} s; give 0 to {STEP_S_MAX}, 30 days", self.warmup_s),
        )?;
        ensure(
            self.warmup_s == 0.0 || job.fills.is_empty(),
            "stop.warmup_s",
            "a fill has no warm-up; give 0",
        )?;
        if let Some(seconds) = self.seconds {
            ensure_step_s(seconds, "stop.seconds")?;
            ensure(
                self.roles.is_empty(),
                "stop.roles",
                "a step ends after `seconds` or with `roles`; give one of them",
            )?;
        } else {
            ensure(
                !self.roles.is_empty() || !job.fills.is_empty(),
                "stop",
                "the step would never end; give `roles` or `seconds`",
            )?;
        }
        if let Some(seconds) = self.seconds_max {
            ensure_step_s(seconds, "stop.seconds_max")?;
        }
        if let Some(seconds) = self.settle_s {
            ensure(
                (0.0..=SETTLE_S_MAX).contains(&seconds),
                "stop.settle_s",
                format!("must be from 0 to {SETTLE_S_MAX}, not {seconds}"),
            )?;
        }
        if let Some(seconds) = self.drain_s_max {
            ensure_positive(seconds, "stop.drain_s_max")?;
            ensure(seconds <= DAY_S, "stop.drain_s_max", "is more than a day")?;
        }
        ensure(
            job.fills.is_empty() || (self.roles.is_empty() && self.seconds.is_none()),
            "stop",
            "fills end with their rows; give no `roles` and no `seconds`",
        )?;
        for (index, name) in self.roles.iter().enumerate() {
            let key = format!("stop.roles[{index}]");
            let role = job.role(name, &key)?;
            ensure(
                job.quota_of(role).is_some(),
                key,
                format!("role `{name}` would never end; give it `stop.operations`"),
            )?;
        }
        Ok(())
    }
}

impl Fake {
    fn check(&self, job: &Job) -> Check {
        let known = |name: &str, list: &str| {
            let exists = job
                .statements
                .iter()
                .any(|statement| statement.name == name)
                || job.cursors.iter().any(|cursor| cursor.name == name)
                || (name == "row" && !job.fills.is_empty());
            ensure(
                exists,
                format!("fake.{list}.{name}"),
                "names no statement and no cursor of the job",
            )
        };
        for (name, service_us) in &self.service_us {
            known(name, "service_us")?;
            ensure_positive(*service_us, &format!("fake.service_us.{name}"))?;
        }
        ensure_positive(self.default_us, "fake.default_us")?;
        ensure(
            (0.0..1.0).contains(&self.jitter),
            "fake.jitter",
            "must be at least 0 and below 1",
        )?;
        for name in self.rows.keys() {
            known(name, "rows")?;
        }
        for name in self.cursor.keys() {
            known(name, "cursor")?;
        }
        for (index, stall) in self.stalls.iter().enumerate() {
            ensure(
                stall.at_s >= 0.0 && stall.for_s >= 0.0,
                format!("fake.stalls[{index}]"),
                "`at_s` and `for_s` must be at least 0",
            )?;
        }
        for (index, error) in self.errors.iter().enumerate() {
            known(&error.statement, "errors")?;
            ensure(
                error.every >= 1,
                format!("fake.errors[{index}].every"),
                "is 0; give at least 1",
            )?;
            ensure_sqlstate(&error.code, format!("fake.errors[{index}].code"))?;
        }
        Ok(())
    }
}
