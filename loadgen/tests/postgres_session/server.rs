//! A PostgreSQL server for tests: a cluster of its own in a temporary folder, ended with the test.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use dyno_loadgen::job;
use dyno_loadgen::session::postgres::PostgresSession;
use dyno_loadgen::session::{Target, Tls};
use dyno_loadgen::wire::Wire;

/// The account that servers run as when the tests are run by root, whom PostgreSQL refuses.
const SERVER_ACCOUNT: &str = "postgres";

/// Who has to prove over TCP who they are; everybody else is trusted.
const RULES: &str = "local all all trust\n\
                     host all by_scram 127.0.0.1/32 scram-sha-256\n\
                     host all by_text 127.0.0.1/32 password\n\
                     host all by_md5 127.0.0.1/32 md5\n\
                     host all nobody_else 127.0.0.1/32 reject\n\
                     host all all 127.0.0.1/32 trust\n";

/// What openssl shall write into certificates, whatever its own configuration says.
const CERTIFICATES: &str = "[req]\ndistinguished_name = name\nprompt = no\n\
                            [name]\nCN = dyno\n\
                            [root]\nbasicConstraints = critical,CA:TRUE\n\
                            [server]\nsubjectAltName = DNS:localhost\n";

/// A running server.
pub(crate) struct Server {
    bin: PathBuf,
    folder: PathBuf,
    port: u16,
}

/// The server that tests of this process share; it ends when the last of them does.
static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

/// The same with TLS.
static ENCRYPTED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

/// The shared server, started if it is not there. `None`, with a printed reason, where no server
/// is installed.
pub(crate) fn shared() -> Option<Arc<Server>> {
    share(&SHARED, "ssl=off")
}

/// The shared server with TLS: its certificate is for `localhost`, it listens on 127.0.0.1.
pub(crate) fn encrypted() -> Option<Arc<Server>> {
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("skipped: there is no `openssl` to make certificates");
        return None;
    }
    share(&ENCRYPTED, "ssl=on")
}

fn share(place: &Mutex<Weak<Server>>, setting: &str) -> Option<Arc<Server>> {
    let mut shared = place
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(server) = shared.upgrade() {
        return Some(server);
    }
    let Some(bin) = find_bin() else {
        eprintln!("skipped: no PostgreSQL server is installed; set DYNO_TEST_POSTGRES to its bin");
        return None;
    };
    let server = Arc::new(Server::start(bin, setting));
    *shared = Arc::downgrade(&server);
    Some(server)
}

/// `$DYNO_TEST_POSTGRES`, else the newest server that Debian's packages have installed.
fn find_bin() -> Option<PathBuf> {
    if let Some(bin) = std::env::var_os("DYNO_TEST_POSTGRES") {
        return Some(PathBuf::from(bin));
    }
    let majors = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut bins: Vec<(u32, PathBuf)> = majors
        .flatten()
        .filter_map(|major| {
            let number = major.file_name().to_str()?.parse().ok()?;
            Some((number, major.path().join("bin")))
        })
        .filter(|(_, bin)| bin.join("postgres").exists() && bin.join("initdb").exists())
        .collect();
    bins.sort();
    bins.pop().map(|(_, bin)| bin)
}

impl Server {
    fn start(bin: PathBuf, setting: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("dyno-session-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        run(Path::new("mkdir"), &["-p", &text(&folder)]);
        let port = free_port();
        let mut server = Self { bin, folder, port };
        let data = text(&server.data());
        let initdb = [
            "-D",
            &data,
            "-U",
            "dyno",
            "-A",
            "trust",
            "-N",
            "--no-locale",
            "-E",
            "UTF8",
        ];
        run(&server.bin.join("initdb"), &initdb);
        write(&server.data().join("pg_hba.conf"), RULES);
        if setting == "ssl=on" {
            server.make_certificates();
        }
        server.listen(setting);
        server
    }

    /// Starts it; on another port where somebody has taken the free one meanwhile.
    fn listen(&mut self, setting: &str) {
        let (data, log) = (text(&self.data()), text(&self.folder.join("log")));
        let pg_ctl = self.bin.join("pg_ctl");
        for port in [self.port, free_port(), free_port()] {
            self.port = port;
            let settings = format!(
                "-p {port} -k {} -c listen_addresses=127.0.0.1 -c fsync=off \
                 -c max_connections=40 -c {setting}",
                self.folder.display()
            );
            let start = [
                "-D", &data, "-s", "-l", &log, "-w", "-o", &settings, "start",
            ];
            if attempt(&pg_ctl, &start).is_ok() {
                return;
            }
        }
        let told = std::fs::read_to_string(&log).unwrap_or_default();
        panic!("the server does not start: {told}");
    }

    /// Makes a root, the server's certificate that it signs, and another root that signs nothing.
    fn make_certificates(&self) {
        let (config, data) = (text(&self.folder.join("openssl.conf")), text(&self.data()));
        write(Path::new(&config), CERTIFICATES);
        let script = format!(
            "umask 077 && cd {data} \
             && openssl req -x509 -config {config} -extensions root -newkey rsa:2048 -nodes \
                -keyout root.key -out root.crt -days 2 \
             && openssl req -x509 -config {config} -extensions root -newkey rsa:2048 -nodes \
                -subj /CN=other -keyout other.key -out other.crt -days 2 \
             && openssl req -config {config} -newkey rsa:2048 -nodes -keyout server.key \
                -out server.csr \
             && openssl x509 -req -in server.csr -CA root.crt -CAkey root.key -CAcreateserial \
                -days 2 -extfile {config} -extensions server -out server.crt"
        );
        run(Path::new("sh"), &["-c", &script]);
    }

    /// The way to the server in TLS: `mode` as in a job, what is trusted as `root.crt` (the
    /// server's root), `other.crt`, or the system's store.
    pub(crate) fn tls(&self, host: &str, mode: job::TlsMode, root: Option<&str>) -> Target {
        let root_certificate = root.map(|name| self.data().join(name));
        let tls = job::Tls {
            mode,
            root_certificate,
            certificate: None,
            key: None,
            direct: false,
            channel_binding: job::ChannelBinding::default(),
        };
        Target {
            wire: Wire::Postgres,
            host: host.to_owned(),
            tls: Some(Tls::load(&tls, Wire::Postgres).expect("certificates")),
            ..self.tcp("dyno", None)
        }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The way to the server over its Unix socket, as its superuser.
    pub(crate) fn target(&self) -> Target {
        Target {
            wire: Wire::Postgres,
            host: text(&self.folder),
            port: self.port,
            user: "dyno".to_owned(),
            database: "postgres".to_owned(),
            password: None,
            insecure: false,
            application_name: "dyno-test".to_owned(),
            ip: None,
            options: String::new(),
            tls: None,
        }
    }

    /// The way to the server over TCP.
    pub(crate) fn tcp(&self, user: &str, password: Option<&str>) -> Target {
        Target {
            wire: Wire::Postgres,
            host: "127.0.0.1".to_owned(),
            user: user.to_owned(),
            password: password.map(str::to_owned),
            ..self.target()
        }
    }

    /// A new session over the Unix socket.
    pub(crate) fn session(&self) -> PostgresSession {
        PostgresSession::connect(&self.target(), Duration::from_secs(10)).expect("a session")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = text(&self.data());
        let stop = ["-D", &data, "-s", "-m", "immediate", "-w", "stop"];
        let _ = command(&self.bin.join("pg_ctl"), &stop).status();
        let _ = command(Path::new("rm"), &["-rf", &text(&self.folder)]).status();
    }
}

/// A port that nothing listens on now.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port()
}

/// Writes a file through the account's own process, whose folder it is.
fn write(path: &Path, content: &str) {
    let mut tee = command(Path::new("tee"), &[&text(path)])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("tee runs");
    tee.stdin
        .take()
        .expect("a pipe")
        .write_all(content.as_bytes())
        .expect("written");
    assert!(tee.wait().expect("ended").success());
}

fn text(path: &Path) -> String {
    path.to_str().expect("a plain path").to_owned()
}

/// A command, as the server's account where we are root.
fn command(program: &Path, arguments: &[&str]) -> Command {
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", SERVER_ACCOUNT, "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.args(arguments).current_dir("/");
    command
}

fn run(program: &Path, arguments: &[&str]) {
    if let Err(told) = attempt(program, arguments) {
        panic!("{told}");
    }
}

/// Runs a program; else what it was, and how it ended.
fn attempt(program: &Path, arguments: &[&str]) -> Result<(), String> {
    // A server that is started keeps its standard output: it must not be a pipe that we wait for.
    let status = command(program, arguments)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .expect("it runs");
    if status.success() {
        return Ok(());
    }
    Err(format!("{} {arguments:?}: {status}", program.display()))
}
