//! Does what time and commands ask of a worker: the start, ticks, pauses, the window's close.

use super::state::{Course, State, Waiting};
use super::{Mode, Worker};
use crate::event::{Event, ThreadUse};
use crate::message::{Closed, Command, Note, Output};
use crate::pace::Pacing;
use crate::session::Sessions;
use crate::shared::{End, Phase};
use crate::timeline::{ActiveTime, Cut, Timeline};

/// The CPU that counts, of the process and of the worker's thread: from the start on, without what pauses took.
#[derive(Debug, Default)]
pub(super) struct Cpu {
    clocks: [ActiveTime; 2],
    /// What the clocks said when all was quiet, until what follows the pause has settled.
    paused_ns: Option<[u64; 2]>,
}

impl Cpu {
    fn new(spent_ns: [u64; 2]) -> Self {
        Self {
            clocks: spent_ns.map(ActiveTime::new),
            paused_ns: None,
        }
    }

    /// Skips what was spent since a pause began, if there was one.
    fn settle(&mut self, spent_ns: [u64; 2]) {
        let pause = self.paused_ns.take().into_iter().flatten().zip(spent_ns);
        for (clock, (paused_ns, spent_ns)) in self.clocks.iter_mut().zip(pause) {
            clock.skip(paused_ns, spent_ns);
        }
    }
}

impl<S: Sessions> Worker<S> {
    /// Does what the caller wants, where that has changed.
    pub(super) fn obey(&mut self) {
        let (phase, at_ns) = (self.shared.phase(), self.shared.command_ns());
        match (self.mode, phase) {
            // A command that follows `go` closely takes effect after the start.
            (Mode::Waiting, Phase::Running | Phase::Pausing | Phase::Stopping) => {
                let go_ns = self.shared.go_ns();
                if self.now_ns >= go_ns || S::COMMANDS_AT_TICKS {
                    self.start(go_ns);
                }
            }
            (Mode::Running, Phase::Pausing) => {
                // Until now operations have begun; what the pause shifts comes after it.
                let at_ns = self.sessions.command_ns(Command::Pause, at_ns);
                let pause_ns = at_ns.max(self.now_ns);
                self.stood_ns = Some(pause_ns);
                self.counted_until_ns = pause_ns;
                self.mode = Mode::Pausing;
                for group in 0..self.groups.len() {
                    self.count_unsent(group, pause_ns);
                    self.wake_group(group);
                }
            }
            (Mode::Paused, Phase::Running) if self.code.renews() => self.renew(),
            (Mode::Paused, Phase::Running) => self.resume(at_ns),
            (Mode::Renewing, Phase::Running) => {
                if let Some(renewed_ns) = self.shared.renewed_ns() {
                    self.resume(renewed_ns);
                }
            }
            (Mode::Running | Mode::Pausing | Mode::Paused | Mode::Renewing, Phase::Stopping) => {
                let end_ns = self
                    .sessions
                    .command_ns(Command::Stop, at_ns)
                    .max(self.start_ns);
                self.shared
                    .end(end_ns, End::Stopped("stopped by the caller".to_owned()));
                self.close_window();
            }
            _ => {}
        }
    }

    fn start(&mut self, at_ns: u64) {
        self.start_ns = self.sessions.command_ns(Command::Go, at_ns);
        self.now_ns = self.start_ns;
        self.timeline = Timeline::new(&self.stop, self.start_ns);
        self.cpu = Cpu::new(self.spent_ns());
        self.runnable_ns = self.sessions.thread_runnable_ns().unwrap_or_default();
        self.mode = Mode::Running;
        self.counted_from_ns = Some(self.start_ns);
        if self.index == 0 {
            let unix_ns = self.start_ns + self.shared.unix_ahead_ns;
            self.write(Event::Started {
                mono_ns: self.start_ns,
                unix_ns,
            });
            if self.timeline.opens_at_once() {
                self.write(Event::WindowOpen {
                    mono_ns: self.start_ns,
                });
            }
        }
        self.start_waiting(self.start_ns);
        self.start_due();
    }

    /// Starts the roles whose predecessors have ended on all clients: when the last of them did, or so much later as their
    /// client begins, but not before `from_ns`.
    #[inline]
    pub(super) fn start_waiting(&mut self, from_ns: u64) {
        self.starts_ns = u64::MAX;
        let mut index = 0;
        while index < self.waiting.len() {
            let delay_ns = self.waiting[index].delay_ns;
            let start_ns = self
                .ended_ns(&self.waiting[index])
                .map_or(u64::MAX, |ended_ns| (ended_ns + delay_ns).max(from_ns));
            if start_ns < u64::MAX && (delay_ns == 0 || start_ns <= self.now_ns) {
                let waiting = self.waiting.swap_remove(index);
                self.start_pacing(&waiting, start_ns);
            } else {
                self.starts_ns = self.starts_ns.min(start_ns);
                index += 1;
            }
        }
    }

    /// Returns when the last of what a pacing waits for ended on all clients; none where something has not.
    #[inline]
    fn ended_ns(&self, waiting: &Waiting) -> Option<u64> {
        let mut ended = waiting
            .after
            .iter()
            .map(|role| self.shared.role_ended_ns(*role));
        ended.try_fold(self.start_ns, |latest, ended| Some(latest.max(ended?)))
    }

    /// Lets delays of clients that have not begun stand still in a pause.
    fn delay_further(&mut self, stood_ns: u64, resumed_ns: u64) {
        for index in 0..self.waiting.len() {
            if let Some(ended_ns) = self.ended_ns(&self.waiting[index]) {
                let still_ns = resumed_ns.saturating_sub(stood_ns.max(ended_ns));
                self.waiting[index].delay_ns += still_ns;
            }
        }
    }

    fn start_pacing(&mut self, waiting: &Waiting, start_ns: u64) {
        self.pacings[waiting.pacing].begin(start_ns);
        for index in waiting.groups.iter().copied() {
            for member in 0..self.groups[index].connections.len() {
                let connection = &mut self.connections[self.groups[index].connections[member]];
                (connection.completed_ns, connection.free_ns) = (start_ns, start_ns);
                // With a quota of nothing it has nothing to begin, but has to be counted as done.
                if connection.quota == 0 {
                    self.one_done(index);
                }
            }
            self.think_first(index);
            self.due_groups.push(index);
        }
    }

    /// Counts a connection of a group that will begin nothing more.
    pub(super) fn one_done(&mut self, index: usize) {
        let group = &mut self.groups[index];
        group.left -= 1;
        if group.left > 0 || group.course.ended() {
            return;
        }
        let stopping = group.course == Course::Stopping;
        group.course = if stopping {
            Course::Stopped
        } else {
            Course::Done
        };
        if matches!(self.mode, Mode::Draining | Mode::Holding) {
            return;
        }
        let (role, client) = (group.role, group.client);
        let ended_ns = group.last_ns.unwrap_or(self.now_ns);
        self.shared.group_ended(role, ended_ns);
        let left = &mut self.client_ends[client as usize].left;
        if self.shared.stops(role) && !stopping && *left > 0 {
            *left -= 1;
            if *left == 0 {
                self.stop_client(client);
            }
        }
    }

    /// Stops the roles of a client that have no quota, as the roles that the step is about have ended for it.
    fn stop_client(&mut self, client: u32) {
        for index in std::mem::take(&mut self.client_ends[client as usize].stops) {
            self.stop_group(index);
        }
    }

    fn stop_group(&mut self, index: usize) {
        if self.groups[index].course == Course::Going {
            self.count_unsent(index, self.now_ns);
            self.groups[index].course = Course::Stopping;
        }
        while let Some(connection) = self.groups[index].idle.pop_front() {
            self.connections[connection].state = State::Done;
            self.one_done(index);
        }
        self.stop_thinking(index);
        self.wake_group(index);
    }

    /// Ends the ticks, and the window, whose time has come: before `now_ns`, or at it too.
    #[inline]
    pub(super) fn pass_time(&mut self, now_ns: u64, inclusive: bool) {
        if self
            .settles_ns()
            .is_some_and(|settles_ns| settles_ns <= now_ns)
        {
            let spent_ns = self.spent_ns();
            self.cpu.settle(spent_ns);
        }
        loop {
            let end_ns = self.shared.end_ns();
            let next_ns = self.timeline.wake_ns().min(end_ns);
            if next_ns > now_ns || (next_ns == now_ns && !inclusive) {
                break;
            }
            if end_ns == next_ns {
                self.close_window();
                return;
            }
            if self.timeline.close_ns() == Some(next_ns) {
                self.shared.end(next_ns, End::Done);
            } else if self.timeline.limit_ns() == Some(next_ns) {
                let reason = "`seconds_max` had passed before the quotas were done";
                self.shared.end(next_ns, End::Stopped(reason.to_owned()));
            } else {
                self.tick();
                if S::COMMANDS_AT_TICKS {
                    self.obey();
                }
                if !matches!(self.mode, Mode::Running | Mode::Pausing) {
                    return;
                }
            }
        }
    }

    /// Returns when what follows a pause has settled; none where there is no such time to wait for.
    #[inline]
    pub(super) fn settles_ns(&self) -> Option<u64> {
        self.cpu.paused_ns.and(self.timeline.settled_ns())
    }

    /// Returns the CPU of the process and of this thread.
    fn spent_ns(&mut self) -> [u64; 2] {
        [
            self.sessions.process_cpu_ns(),
            self.sessions.thread_cpu_ns(),
        ]
    }

    fn tick(&mut self) {
        let cut = self.timeline.cut();
        let opens = cut.number == 0;
        self.cut(cut, opens);
        if opens {
            self.count_from(cut.end_ns);
        }
    }

    /// Ends the record, with whose end the window may open, and counts in it what is late and behind by then.
    ///
    /// The writer gets the full one only when what is due now has been sent: it wakes up for it, and may take our
    /// processor.
    fn cut(&mut self, cut: Cut, opens: bool) {
        self.hand_over();
        // What is due at the very end belongs to the next tick.
        let before_ns = self.schedule_ns(cut.end_ns).saturating_sub(1);
        for index in 0..self.groups.len() {
            self.count_unsent(index, cut.end_ns);
            let group = &self.groups[index];
            let pacing = self.pacings[group.pacing].begun_mut();
            if let (Course::Going, Some(pacing)) = (group.course, pacing) {
                self.record.roles[group.role].backlog += pacing.backlog(group.member, before_ns);
            }
        }
        self.end_record(cut, opens);
    }

    /// Ends the record as it is, and takes an empty one: one that has come back, or a new one.
    pub(super) fn end_record(&mut self, cut: Cut, opens: bool) {
        self.record.cut = cut;
        if self.index == 0 {
            let spent_ns = self.sessions.process_cpu_ns();
            self.record.process_cpu_ns = self.cpu.clocks[0].at(spent_ns);
        }
        let mut empty = self.empty_record(cut.end_ns);
        empty.make_room_as(&self.record);
        self.full = Some((std::mem::replace(&mut self.record, empty), opens));
    }

    /// Gives the writer the record of a tick that has ended, if there is one.
    #[inline]
    pub(super) fn hand_over(&mut self) {
        let Some((full, opens)) = self.full.take() else {
            return;
        };
        for (totals, role) in self.totals.iter_mut().zip(&full.roles) {
            totals.in_ticks.get_or_insert_default().add(role);
        }
        let mono_ns = full.cut.end_ns;
        let _ = self.channels.output.send(Output::Tick(self.index, full));
        if opens && self.index == 0 {
            self.write(Event::WindowOpen { mono_ns });
        }
    }

    /// Counts how late already is what a group has due and has not sent, where `at_ns` counts.
    pub(super) fn count_unsent(&mut self, index: usize, at_ns: u64) {
        if !self.timeline.counts(at_ns) {
            return;
        }
        let stands_ns = self.schedule_ns(at_ns);
        let group = &self.groups[index];
        let role = &mut self.record.roles[group.role];
        for connection in &group.connections {
            if let Some(due_ns) = self.connections[*connection].unsent_due_ns(group.closed) {
                role.late(due_ns, at_ns);
            }
        }
        let pacing = self.pacings[group.pacing].begun();
        let due_ns = pacing.and_then(|pacing| pacing.next_due_ns(group.member));
        if let (Course::Going, Some(due_ns)) = (group.course, due_ns) {
            role.late(due_ns, stands_ns);
        }
    }

    /// Returns how far schedules have come at `at_ns`: in a pause not beyond its beginning.
    fn schedule_ns(&self, at_ns: u64) -> u64 {
        self.stood_ns.map_or(at_ns, |stood_ns| at_ns.min(stood_ns))
    }

    /// Ends the last tick and says what the caller needs of the window; no operation begins any more.
    pub(super) fn close_window(&mut self) {
        let mut end_ns = self.shared.end_ns();
        let spent_ns = self.spent_ns();
        self.cpu.settle(spent_ns);
        if matches!(self.mode, Mode::Paused | Mode::Renewing) && self.shared.all_quiet() {
            // Nothing has happened since.
            end_ns = end_ns.min(self.shared.paused_ns());
        }
        while self.timeline.boundary_ns() < end_ns {
            self.tick();
        }
        if let Some(cut) = self.timeline.close(end_ns) {
            self.cut(cut, false);
        }
        self.hand_over();
        self.mode = Mode::Draining;
        self.counted_until_ns = self.counted_until_ns.min(end_ns);
        let groups = self.groups.iter();
        let groups = groups.map(|group| {
            let done = group.course == Course::Done;
            (group.role, group.client, group.last_ns, done)
        });
        let spent_ns = self.cpu.clocks[1].at(self.sessions.thread_cpu_ns());
        let passed_ns = self.timeline.active_ns(end_ns);
        let (wait, refused) = self.sessions.ways().unzip();
        let share = |time_ns: u64| match passed_ns {
            0 => 0.0,
            _ => time_ns as f64 / passed_ns as f64,
        };
        let runnable_ns = self.sessions.thread_runnable_ns();
        let runnable_ns = runnable_ns.map(|now_ns| now_ns.saturating_sub(self.runnable_ns));
        let closed = Closed {
            end_ns,
            active_ns: self.timeline.window_ns(),
            groups: groups.collect(),
            thread: ThreadUse {
                cpu_us: spent_ns / 1000,
                busy_share: share(spent_ns),
                wait,
                runnable_share: runnable_ns.map(share),
                no_buffers: self.sessions.no_buffers(),
                io_uring_refused: refused.flatten().map(str::to_owned),
            },
        };
        self.note(Note::Closed(closed));
        for index in 0..self.groups.len() {
            self.stop_group(index);
        }
    }

    /// Notices that nothing is in flight any more.
    #[inline]
    pub(super) fn quieten(&mut self) {
        if self.busy > 0 {
            return;
        }
        if self.mode == Mode::Pausing {
            self.mode = Mode::Paused;
            self.count_connections();
            // In a pause before the last one has settled, nothing has counted since that.
            let spent_ns = self.spent_ns();
            self.cpu.paused_ns.get_or_insert(spent_ns);
            if let Some(paused_ns) = self.shared.quiet(self.now_ns) {
                self.write(Event::Paused { mono_ns: paused_ns });
                self.note(Note::Paused);
            }
            // In the fake, the command that ends the pause may be there already.
            self.obey();
        } else if self.mode == Mode::Draining {
            self.mode = Mode::Holding;
            self.count_connections();
            self.note(Note::Drained);
        }
    }

    fn resume(&mut self, at_ns: u64) {
        let paused_ns = self.shared.paused_ns();
        let resumed_ns = self
            .sessions
            .command_ns(Command::Resume, at_ns)
            .max(paused_ns);
        self.timeline.resume(paused_ns, resumed_ns);
        (self.counted_from_ns, self.counted_until_ns) = (self.timeline.settled_ns(), u64::MAX);
        let stood_ns = self.stood_ns.take().unwrap_or(resumed_ns);
        let shift_ns = resumed_ns.saturating_sub(stood_ns);
        for pacing in self.pacings.iter_mut().filter_map(Pacing::begun_mut) {
            pacing.shift(shift_ns);
        }
        self.think_on(|ended_ns| (ended_ns + shift_ns).min(resumed_ns));
        for connection in &mut self.connections {
            // What was in flight as the pause began completed in it: to what follows that is the pause's end.
            connection.completed_ns = (connection.completed_ns + shift_ns).min(resumed_ns);
            connection.free_ns = connection.completed_ns.max(connection.free_ns);
        }
        self.mode = Mode::Running;
        self.now_ns = resumed_ns;
        self.note(Note::Resumed);
        if self.index == 0 {
            self.write(Event::Resumed {
                mono_ns: resumed_ns,
            });
        }
        // To a role that waits, what ended in the pause ended with it.
        self.delay_further(stood_ns, resumed_ns);
        self.start_waiting(resumed_ns);
        for index in 0..self.groups.len() {
            self.due_groups.push(index);
        }
        self.start_due();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_of_a_pause_counts_for_nothing_whether_it_goes_on_or_the_step_ends() {
        let mut cpu = Cpu::new([100, 10]);
        let counted =
            |cpu: &Cpu, spent_ns| [0, 1].map(|clock: usize| cpu.clocks[clock].at(spent_ns));
        cpu.settle([150, 15]);
        assert_eq!(counted(&cpu, 150), [50, 140], "there was no pause");
        cpu.paused_ns = Some([150, 15]);
        cpu.settle([180, 16]);
        assert_eq!(counted(&cpu, 200), [70, 189]);
        assert_eq!(cpu.paused_ns, None);
    }
}
