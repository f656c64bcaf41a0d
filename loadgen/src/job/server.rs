//! Where the server is and who asks.

use super::tls::Tls;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::net::IpAddr;
use std::path::PathBuf;

/// Where the server is and who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// A host name or address; where it begins with `/`, the folder of a unix socket, with MySQL and MariaDB its file.
    pub host: String,
    /// The address that the host's name stands for, so that all sessions go to one server; null: what it says then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<IpAddr>,
    /// The TCP port; also the end of the name of PostgreSQL's unix socket.
    pub port: u16,
    /// The database user.
    pub user: String,
    /// The database.
    pub database: String,
    /// What libpq calls `options`: settings of each session from its start on; PostgreSQL's only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<String>,
    /// Where the password is to be found; null for none.
    #[serde(default)]
    pub password: Option<Password>,
    /// Whether the connection is encrypted; null: it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
}

/// Where a password is to be found, and how far it may go; a job never holds one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Json")]
pub struct Password {
    /// Its place.
    #[serde(flatten)]
    pub place: PasswordPlace,
    /// Whether it may be sent so that others on the way can learn it, where the server wants that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
}

/// A place that holds a password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PasswordPlace {
    /// The name of an environment variable.
    Env(String),
    /// A file in libpq's format.
    Passfile(PathBuf),
}

const NAME_ITS_PLACE: &str = r#"a job holds no password; name its place by {"env": NAME} or {"passfile": PATH}, with "insecure": true beside it where it may be exposed"#;

/// By hand, because serde would quote what stands there instead: that may be a password.
impl TryFrom<Json> for Password {
    type Error = &'static str;

    fn try_from(json: Json) -> Result<Self, Self::Error> {
        let Json::Object(mut keys) = json else {
            return Err(NAME_ITS_PLACE);
        };
        let insecure = match keys.remove("insecure") {
            None => false,
            Some(Json::Bool(insecure)) => insecure,
            Some(_) => return Err("`insecure` is true or false"),
        };
        let mut keys = keys.into_iter();
        let place = match (keys.next(), keys.next()) {
            (Some((key, Json::String(name))), None) if key == "env" => PasswordPlace::Env(name),
            (Some((key, Json::String(path))), None) if key == "passfile" => {
                PasswordPlace::Passfile(path.into())
            }
            _ => return Err(NAME_ITS_PLACE),
        };
        Ok(Self { place, insecure })
    }
}
