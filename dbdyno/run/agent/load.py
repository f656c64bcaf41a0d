"""Generators of an agent: shares of a step's load on a server that runs elsewhere."""

import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from dbdyno.engine.access import PASSWORD
from dbdyno.model.error import DynoError, disk_errors_named
from dbdyno.model.job import Job
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.run.agent import wire
from dbdyno.run.driver.loadgen import Generator


class Loads:
    """The generators that run; each in a thread that passes on its lines."""

    def __init__(self, send: Callable[[wire.Reply], None]) -> None:
        self._send = send
        self._generators: dict[int, Generator] = {}
        self._threads: list[threading.Thread] = []
        self._over = False

    def begin(self, number: int, request: wire.GenerateRequest) -> None:
        """Starts a generator with a job; its lines, and how it ended, are answers."""
        thread = threading.Thread(target=self._run, args=(number, request), daemon=True)
        self._threads.append(thread)
        thread.start()

    def command(self, command: wire.Command) -> None:
        """Gives a generator an order. One that has ended does nothing."""
        generator = self._generators.get(command.number)
        if generator is None:
            return
        match command.order:
            case "go":
                generator.go(command.at_ns)
            case "pause":
                generator.pause()
            case "resume":
                generator.resume()
            case "stop":
                generator.stop()
            case "hang_up":
                generator.hang_up()
            case "kill":
                generator.kill()

    def end(self) -> None:
        """Ends them all, and waits until they have."""
        self._over = True
        for generator in list(self._generators.values()):
            generator.hang_up()
        for thread in self._threads:
            thread.join()

    def _run(self, number: int, request: wire.GenerateRequest) -> None:
        def keep(line: str) -> None:
            self._send(wire.Reply(number, wire.GeneratorLine(line.rstrip("\n"))))

        job, environment = request.job, {}
        try:
            with disk_errors_named(), tempfile.TemporaryDirectory(prefix="dyno-load-") as folder:
                if request.secrets is not None:
                    environment = {PASSWORD: request.secrets.password}
                    job = with_certificate(job, request.secrets.certificate, Path(folder))
                job = with_samples(job, request.samples, Path(folder))
                with Generator(job, keep, cpus=request.cpus, environment=environment) as generator:
                    self._generators[number] = generator
                    if self._over:
                        generator.hang_up()
                    for _ in generator.events():
                        pass
            self._send(wire.Reply(number, wire.DoneAnswer(wire.EmptyAnswer())))
        except DynoError as error:
            self._send(wire.Reply(number, wire.FailureAnswer("GeneratorError", str(error))))
        finally:
            self._generators.pop(number, None)


def with_samples(job: Job, samples: Mapping[str, bytes], folder: Path) -> Job:
    """The job with the files that its values are drawn from in this folder, for nobody else."""
    paths = {sha256: folder / f"{sha256}.jsonl" for sha256 in job.samples}
    for sha256, path in paths.items():
        path.touch(mode=0o600)
        path.write_bytes(samples[sha256])
    return replace(job, samples={sha256: str(path) for sha256, path in paths.items()})


def with_certificate(job: Job, certificate: str | None, folder: Path) -> Job:
    """The job with the certificate that it trusts in a file here; as it is without one."""
    if certificate is None:
        return job
    path = folder / "server.pem"
    path.write_text(certificate)

    def trusting(server: Endpoint) -> Endpoint:
        if server.tls is None:
            return server
        return replace(server, tls=replace(server.tls, root_certificate=str(path)))

    server = trusting(job.server) if isinstance(job.server, Endpoint) else job.server
    endpoints = {name: trusting(endpoint) for name, endpoint in job.endpoints.items()}
    return replace(job, server=server, endpoints=endpoints)
