//! What the caller learns of a window that has closed: when each role and each client ended.

use crate::event::{Event, Status};
use crate::job::{Job, Per, Stop};
use crate::message::Closed;
use crate::shared::{End, Shared};
use std::collections::BTreeMap;

/// The event of the window's close.
pub(super) fn window_close(job: &Job, shared: &Shared, closed: &[Closed], end_ns: u64) -> Event {
    let clients = job.clients as usize;
    let mut ended = BTreeMap::new();
    let mut clients_end_ns: Vec<Option<u64>> = vec![Some(0); clients];
    for (index, role) in job.roles.iter().enumerate() {
        let places = if role.per == Per::Client { clients } else { 1 };
        let last: &mut Vec<Option<u64>> = ended
            .entry(role.name.clone())
            .or_insert_with(|| vec![None; places]);
        for (_, client, last_ns, _) in groups(closed, index) {
            let place = &mut last[*client as usize];
            *place = (*place).max(*last_ns);
        }
    }
    for role in (0..job.roles.len()).filter(|role| shared.stops(*role)) {
        for (_, client, last_ns, done) in groups(closed, role) {
            let of_step = job.roles[role].per == Per::Step;
            let own = if of_step {
                0..clients
            } else {
                *client as usize..*client as usize + 1
            };
            // Where a role has not done its quota, the client has no end.
            let last_ns = last_ns.filter(|_| *done);
            for end_ns in &mut clients_end_ns[own] {
                *end_ns = end_ns
                    .zip(last_ns)
                    .map(|(latest, last_ns)| last_ns.max(latest));
            }
        }
    }
    for end_ns in &mut clients_end_ns {
        *end_ns = end_ns.filter(|end_ns| *end_ns > 0);
    }
    let active_ns = closed
        .iter()
        .map(|closed| closed.active_ns)
        .max()
        .unwrap_or_default();
    Event::WindowClose {
        mono_ns: end_ns,
        active_ns,
        ended,
        clients_end_ns,
        status: shared.ended().as_ref().and_then(early),
    }
}

/// How a step ended that did not end as the job said.
pub(super) fn early(end: &End) -> Option<Status> {
    match end {
        End::Done => None,
        End::Stopped(_) => Some(Status::Stopped),
        End::Failed(_) | End::Unread => Some(Status::Failed),
    }
}

/// How the step ended: as failed where all of its work was done before the window was to open.
pub(super) fn in_window(end: End, closed: &[Closed], stop: &Stop) -> End {
    let opened = stop.warmup_s == 0.0 || closed.iter().any(|closed| closed.active_ns > 0);
    if opened || end != End::Done {
        return end;
    }
    End::Failed(format!(
        "its work was done within the {} s of the warm-up, before the window; give it more work",
        stop.warmup_s
    ))
}

/// What workers said of the groups of a role.
fn groups(
    closed: &[Closed],
    role: usize,
) -> impl Iterator<Item = &(usize, u32, Option<u64>, bool)> {
    closed
        .iter()
        .flat_map(|closed| &closed.groups)
        .filter(move |group| group.0 == role)
}
