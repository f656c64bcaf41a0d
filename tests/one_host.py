"""One host of several on this machine: what it has of its own, how it starts and ends."""

import os
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import own_lab
import python_script
from hosts_network import SYSTEM_PATH, program

SSH_PORT = 22
STEP_S_MAX = 10.0
"""So long a step of a start or an end may take, on a machine that is busy."""
PROGRAMS = {
    "ip": "iproute2",
    "sshd": "openssh-server",
    "ssh": "openssh-client",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
}
HANDED_ON = ("DYNO_MYSQL",)
"""What of this process's environment is set on the hosts: where a shared program lies."""
CHECKOUT = Path(__file__).resolve().parents[1]
NAMESPACES = ("--fork", "--pid", "--mount-proc", "--mount", "--uts", "--ipc", "--time")
BEGIN = """
echo {name} >/proc/sys/kernel/hostname
echo {process_ids} >/proc/sys/kernel/ns_last_pid
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -m 755 /run/sshd
mkdir -m 1777 /run/lock
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t sysfs sysfs {folder}/sys # that of its network, with the groups of this machine
[ ! -d /sys/fs/cgroup ] || mount --rbind /sys/fs/cgroup {folder}/sys/fs/cgroup
umount --recursive --lazy /sys
mount --move {folder}/sys /sys
mkdir -p /var/lib/dyno
mount --bind {folder}/data /var/lib/dyno
if [ -n "{below_tmp}" ]; then
    mkdir -p {folder}/tmp/{below_tmp}
    mount --bind {checkout} {folder}/tmp/{below_tmp}
fi
mount --rbind {folder}/tmp /tmp # with the checkout, where it lies there
for file in passwd shadow hosts; do mount --bind {folder}/etc/$file /etc/$file; done
for other in {others}; do mount -t tmpfs -o mode=755 tmpfs $other; done
cd /
exec {sshd} -D -e -f {folder}/sshd_config
"""
"""What a host's first process does, once it is in its namespaces: no folder that a test or a lab
writes to is that of another host."""
SSHD = """
ListenAddress {address}
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
UseDNS no
PrintMotd no
PrintLastLog no
MaxStartups 100
MaxSessions 100
KexAlgorithms curve25519-sha256 # takes half as long as the default
Subsystem sftp internal-sftp
SetEnv {environment}
"""


@dataclass(frozen=True, kw_only=True)
class Host:
    """One host, whether it runs or not."""

    name: str
    address: str
    folder: Path  # what it has of its own; the others do not see it
    clock_offset_s: int
    process_ids: int
    link: str  # its end of the bridge here, and its network's name

    @property
    def lab(self) -> Path:
        """The folder that its `dyno` takes for its lock, register (`run`) and data (`data`)."""
        return self.folder / "lab"

    @property
    def dyno(self) -> Path:
        """Its command, first in its PATH. Without it only what is installed there is found."""
        return self.folder / "bin" / "dyno"

    @property
    def home(self) -> Path:
        """The home of root there."""
        return self.folder / "home"


@dataclass(frozen=True)
class Running:
    """What ends with a host: the program that made its namespaces, and its world of processes."""

    maker: subprocess.Popen[bytes]
    namespace: str

    def end(self) -> None:
        """Ends all of it, and waits until nothing of it is left."""
        self.maker.kill()  # the kernel then kills the host's first process, and with it all others
        self.maker.wait()
        wait_until(lambda: not processes_in(self.namespace), "a host does not end")


def refusal() -> str | None:
    """Why no hosts can be made here; None: they can."""
    if os.geteuid() != 0:
        return "several hosts on one machine need root: `sudo make test-all`"
    missing = {PROGRAMS[name] for name in PROGRAMS if not program(name)}
    if missing:
        return f"several hosts on one machine: `apt-get install {' '.join(sorted(missing))}`"
    bridge = f"dyno{os.getpid()}try"
    make = f"ip link add {bridge} type bridge && ip link add type veth && mount -t sysfs x /sys"
    tried = subprocess.run(
        [program("unshare"), "--net", *NAMESPACES, "--monotonic", "1", "sh", "-euc", make],
        check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env={"PATH": SYSTEM_PATH},
    )  # fmt: skip
    return f"no namespaces here: {tried.stderr.strip()}" if tried.returncode else None


def make_keys(paths: Sequence[Path]) -> None:
    """Makes pairs of keys without a password."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "dyno-test", "-f"]
    made = [subprocess.Popen([*command, path]) for path in paths]
    assert [one.wait() for one in made] == [0] * len(made)


def furnish(host: Host, everyone: Iterable[Host], *, user_key: Path) -> None:
    """Writes what a host has of its own: its command, its sshd's settings, its files in /etc."""
    for name in ("bin", "data", "etc", "home", "lab", "sys", "tmp"):
        (host.folder / name).mkdir(mode=0o755)
    (host.folder / "tmp").chmod(0o1777)
    code = own_lab.COMMAND.format(tests=str(Path(__file__).parent), folder=str(host.lab))
    python_script.write(host.dyno, code)
    (host.folder / "authorized_keys").write_text(user_key.with_suffix(".pub").read_text())
    environment = {"PATH": f"{host.dyno.parent}:{SYSTEM_PATH}"}
    environment |= {name: os.environ[name] for name in HANDED_ON if name in os.environ}
    words = " ".join(f'"{name}={value}"' for name, value in environment.items())
    (host.folder / "sshd_config").write_text(
        SSHD.format(address=host.address, port=SSH_PORT, folder=host.folder, environment=words)
    )
    for name, text in files_in_etc(host, everyone).items():
        path = host.folder / "etc" / name
        path.touch(mode=0o600 if name == "shadow" else 0o644)
        path.write_text(text)


def files_in_etc(host: Host, everyone: Iterable[Host]) -> dict[str, str]:
    """Its accounts are those of this machine, with another home of root; it knows all hosts."""
    accounts = Path("/etc/passwd").read_text()
    passwords = Path("/etc/shadow").read_text()
    names = [f"{other.address} {other.name}\n" for other in everyone]
    return {
        "passwd": re.sub(r"^(root:.*):[^:]*(:[^:]*)$", rf"\1:{host.home}\2", accounts, flags=re.M),
        "shadow": re.sub(r"^root:[^:]*:", "root:*:", passwords, flags=re.M),  # not a locked account
        "hosts": f"127.0.0.1 localhost\n{''.join(names)}",
    }


def make_namespaces(host: Host, everyone: Iterable[Host]) -> subprocess.Popen[bytes]:
    """Starts a host; all that runs there ends when the program does, or the test's process."""
    script = BEGIN.format(
        name=host.name,
        folder=host.folder,
        process_ids=host.process_ids,
        others=" ".join(str(x.folder) for x in everyone if x != host),
        sshd=program("sshd"),
        checkout=CHECKOUT,
        below_tmp=CHECKOUT.relative_to("/tmp") if CHECKOUT.is_relative_to("/tmp") else "",
    )
    offset = str(own_clock_offset_s() + host.clock_offset_s)
    command = ["setpriv", "--pdeathsig", "KILL", "nsenter", f"--net=/run/netns/{host.link}"]
    command += ["unshare", *NAMESPACES, "--monotonic", offset, "--boottime", offset]
    command += ["--kill-child", "sh", "-eu", str(host.folder / "begin")]
    (host.folder / "begin").write_text(script)
    with (host.folder / "sshd.log").open("ab") as said:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )


def own_clock_offset_s() -> int:
    """Seconds by which this process's clocks are ahead of the machine's.

    A new namespace counts from the machine's clocks, not from those of the process that makes it.
    """
    offsets = Path("/proc/self/timens_offsets").read_text().split()
    return int(offsets[offsets.index("monotonic") + 1])


def namespace_made_by(maker: subprocess.Popen[bytes]) -> str:
    """The name of the processes' namespace, once it is made."""
    link, own = Path(f"/proc/{maker.pid}/ns/pid_for_children"), os.readlink("/proc/self/ns/pid")

    def name() -> str | None:
        with suppress(FileNotFoundError):  # until there is a first process
            return found if (found := os.readlink(link)) != own else None
        return None

    wait_until(name, "a host does not begin")
    made = name()
    assert made is not None
    return made


def processes_in(namespace: str) -> dict[int, int]:
    """The processes of a host that have not ended: their ids here, and there."""
    assert namespace != os.readlink("/proc/self/ns/pid")
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, KeyError):  # those that end meanwhile
            if os.readlink(path / "ns" / "pid") == namespace:
                lines = (path / "status").read_text().splitlines()
                status = dict(line.split(":", 1) for line in lines)
                if status["State"].split()[0] != "Z":
                    found[int(path.name)] = int(status["NSpid"].split()[-1])
    return found


def command_line(pid: int) -> str:
    """The words of a process, with blanks between; nothing where it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def answers(address: str) -> bool:
    """Whether an sshd is there and says so."""
    with suppress(OSError), socket.create_connection((address, SSH_PORT), timeout=1) as connection:
        return connection.recv(4) == b"SSH-"
    return False


def wait_until(true: Callable[[], object], otherwise: str | Callable[[], str]) -> None:
    """Waits for a step of the start or the end of a host; says what is wrong where it fails."""
    end_s = time.monotonic() + STEP_S_MAX
    while not true():
        problem = otherwise if isinstance(otherwise, str) else otherwise()
        assert time.monotonic() < end_s, problem
        time.sleep(0.005)
