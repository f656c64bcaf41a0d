//! The places that a job names, with their passwords and certificates.

use super::error::SessionError;
use super::password;
use super::target::Target;
use super::tls::Tls;
use crate::job::{Job, Server};
use crate::wire::Wire;
use std::sync::Arc;

/// What the server shows of a session.
const APPLICATION_NAME: &str = "dyno-loadgen";

impl Target {
    /// Where a job's server is; none where the job has none.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_job(job: &Job) -> Result<Option<Self>, SessionError> {
        match (&job.server, Wire::of(job)) {
            (Some(server), Some(wire)) => Self::new(server, wire).map(Some),
            _ => Ok(None),
        }
    }

    /// Where a server is, with its password and the certificates that are trusted.
    ///
    /// # Errors
    /// The password or the certificates that are not where the job says.
    pub fn new(server: &Server, wire: Wire) -> Result<Self, SessionError> {
        let tls = server.tls.as_ref().map(|tls| Tls::load(tls, wire));
        let tls = tls.transpose()?;
        let password = server.password.as_ref();
        let mut target = Self {
            wire,
            host: server.host.clone(),
            ip: server.ip,
            port: server.port,
            user: server.user.clone(),
            database: server.database.clone(),
            options: server.options.clone().unwrap_or_default(),
            password: None,
            insecure: password.is_some_and(|password| password.insecure),
            application_name: APPLICATION_NAME.to_owned(),
            // TLS that is only preferred means nothing over a unix socket.
            tls: tls.filter(|_| !server.host.starts_with('/')),
        };
        target.password = password::resolve(password, &target)?;
        Ok(target)
    }
}

/// Where the sessions of each role go: to the job's server, or to the endpoint that the role names.
#[derive(Debug)]
pub struct Targets {
    server: Target,
    /// By name.
    endpoints: Vec<(String, Target)>,
    /// By role: the index of its endpoint; none: the server.
    roles: Vec<Option<usize>>,
}

impl Targets {
    /// The places of a job's sessions; none where the job has no server.
    ///
    /// # Errors
    /// As [`Target::new`].
    pub fn of_job(job: &Job) -> Result<Option<Arc<Self>>, SessionError> {
        let (Some(server), Some(wire)) = (Target::of_job(job)?, Wire::of(job)) else {
            return Ok(None);
        };
        let endpoints = job.endpoints.iter();
        let endpoints: Result<Vec<_>, SessionError> = endpoints
            .map(|(name, endpoint)| Ok((name.clone(), Target::new(endpoint, wire)?)))
            .collect();
        let endpoints = endpoints?;
        let roles = job.roles.iter().map(|role| {
            let name = role.endpoint.as_ref()?;
            endpoints.iter().position(|(other, _)| other == name)
        });
        let roles = roles.collect();
        Ok(Some(Arc::new(Self {
            server,
            endpoints,
            roles,
        })))
    }

    /// The places of sessions that all go to one server.
    #[must_use]
    pub fn of_server(server: Target) -> Arc<Self> {
        Arc::new(Self {
            server,
            endpoints: Vec::new(),
            roles: Vec::new(),
        })
    }

    /// Where a role's sessions go; those of no role read cursors, from the server.
    pub(super) fn of_role(&self, role: Option<usize>) -> &Target {
        match self.place(role) {
            Some(endpoint) => &self.endpoints[endpoint].1,
            None => &self.server,
        }
    }

    /// The index of a role's endpoint; none: the server.
    pub(super) fn place(&self, role: Option<usize>) -> Option<usize> {
        role.and_then(|role| self.roles.get(role).copied().flatten())
    }

    /// Tells whether any of them may be spoken to in TLS.
    pub(super) fn any_tls(&self) -> bool {
        let mut places = self.all();
        places.any(|(_, target)| target.tls.is_some())
    }

    /// All places with their indexes, the server first.
    pub(super) fn all(&self) -> impl Iterator<Item = (Option<usize>, &Target)> {
        let endpoints = self.endpoints.iter().enumerate();
        let of_endpoints = endpoints.map(|(index, (_, target))| (Some(index), target));
        std::iter::once((None, &self.server)).chain(of_endpoints)
    }
}
