//! Why a client's call failed.

use interweave_wire::mip::Address;
use interweave_wire::protocol::ErrorCode;
use interweave_wire::Rejection;
use std::fmt;
use std::io;

#[derive(Debug)]
pub enum ClientError {
    /// The server refused, or it sent bytes that are not a message of the protocol.
    Refused(Rejection),
    /// The server's certificate is for those hosts, and not for the one that was wanted.
    NotNamed { wanted: String, names: Vec<String> },
    /// The connection could not be made.
    Unreachable(io::Error),
    /// The connection is lost.
    Io(io::Error),
    /// No answer came in time.
    TimedOut,
    /// Nothing was heard of the server for many heartbeats [SES-3].
    Silent,
    /// A message that answers something else.
    Unexpected(String),
    /// No server of several welcomed the client: those that were asked, one at least, in turn
    /// [SPACE-46].
    NotWelcomed(Vec<(Address, ClientError)>),
}

impl ClientError {
    /// The server's code, if the server refused.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            ClientError::Refused(rejection) => Some(rejection.code),
            ClientError::NotNamed { .. } => Some(ErrorCode::Denied),
            ClientError::NotWelcomed(servers) => servers.last()?.1.code(),
            _ => None,
        }
    }

    /// The server's refusal, with more words.
    pub fn with_advice(self, advice: Option<String>) -> ClientError {
        match (self, advice) {
            (ClientError::Refused(mut rejection), Some(advice)) => {
                rejection.text += &advice;
                ClientError::Refused(rejection)
            }
            (error, _) => error,
        }
    }

    /// There is no connection, and another attempt may do better.
    pub fn is_lost(&self) -> bool {
        match self {
            ClientError::Unreachable(_) | ClientError::Io(_) | ClientError::Silent => true,
            ClientError::Refused(rejection) => {
                matches!(rejection.code, ErrorCode::Stopping | ErrorCode::Unreachable)
            }
            // Only the last one may have said something that does not pass.
            ClientError::NotWelcomed(servers) => servers.iter().all(|(_, why)| why.is_lost()),
            ClientError::NotNamed { .. } | ClientError::TimedOut | ClientError::Unexpected(_) => {
                false
            }
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Refused(rejection) => rejection.fmt(f),
            ClientError::NotNamed { wanted, names } => write!(
                f,
                "the server's certificate is for {}, not for {wanted}; write a host in the URL \
                 that the certificate has, or give the certificate that name",
                listed(names)
            ),
            ClientError::Unreachable(error) => write!(f, "no connection to the server: {error}"),
            ClientError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                f.write_str("the server closed the connection")
            }
            ClientError::Io(error) => write!(f, "the connection to the server: {error}"),
            ClientError::TimedOut => f.write_str("the server did not answer in time"),
            ClientError::Silent => f.write_str("the server has fallen silent"),
            ClientError::Unexpected(text) => f.write_str(text),
            ClientError::NotWelcomed(servers) => {
                f.write_str("no server of the list can be used: ")?;
                for (number, (server, why)) in servers.iter().enumerate() {
                    let gap = if number > 0 { "; " } else { "" };
                    let why: &dyn fmt::Display = match why {
                        // The others say it, too.
                        ClientError::Unreachable(error) => error,
                        other => other,
                    };
                    write!(f, "{gap}{server}: {why}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for ClientError {}

/// The names of a certificate, as people write them.
pub fn listed(names: &[String]) -> String {
    match names {
        [] => "no host".to_string(),
        [only] => only.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

impl From<Rejection> for ClientError {
    fn from(rejection: Rejection) -> Self {
        ClientError::Refused(rejection)
    }
}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> Self {
        ClientError::Io(error)
    }
}
