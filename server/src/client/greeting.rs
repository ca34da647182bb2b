//! What a client says of itself, and what it makes of a server's refusal.

use super::ClientError;
use interweave_wire::fields::{field, fitting, readable, Fields};
use interweave_wire::protocol::*;
use interweave_wire::{Message, Rejection};

/// What a client tells and wants when it connects.
#[derive(Debug, Clone)]
pub struct Greeting {
    /// All zeros: a new session.
    pub session: SessionId,
    pub token: String,
    /// For people: program and language.
    pub client: String,
    /// The client follows [`Notification::SegmentMoved`](super::Notification::SegmentMoved), and
    /// requests that are answered REDIRECTED. Otherwise the server closes the connection where a
    /// segment moves [SPACE-23].
    pub follows_moves: bool,
    /// Where the server is to pass the connection on to [SPACE-48]. None: nowhere.
    pub relay: Option<RedirectField>,
}

impl Default for Greeting {
    fn default() -> Self {
        Greeting {
            session: [0; 16],
            token: String::new(),
            client: "interweave-client (Rust)".to_string(),
            follows_moves: false,
            relay: None,
        }
    }
}

/// Which program this is, where it runs, as far as the system says, and what it wants.
pub fn own_fields(greeting: &Greeting) -> Vec<HeaderField> {
    let label = |key, text: &str| {
        let label = fitting(text);
        field(key, &LabelField { label })
    };
    let program = std::env::current_exe().ok();
    let program = program.as_ref().and_then(|path| path.file_name());
    let host = rustix::system::uname();
    let pid = u64::from(std::process::id());
    let mut fields = vec![
        label(FieldKey::Host, &host.nodename().to_string_lossy()),
        field(FieldKey::Pid, &PidField { pid }),
    ];
    fields.extend(program.map(|name| label(FieldKey::Program, &name.to_string_lossy())));
    if greeting.follows_moves {
        let follows_moves = true;
        fields.push(field(FieldKey::Moving, &MovingField { follows_moves }));
    }
    let relay = greeting.relay.as_ref();
    fields.extend(relay.map(|to| field(FieldKey::Redirect, to)));
    fields
}

/// What an ERROR says, in either of its forms [SES-5], as it may be shown [FIELD-8].
pub fn refusal(message: &Message) -> Result<ClientError, Rejection> {
    let reply: ErrorReply = match message.decode() {
        Ok(reply) => reply,
        Err(error) => {
            let plain: PlainError = message.decode().map_err(|_| error)?;
            ErrorReply {
                code: plain.code,
                text: plain.text,
                fields: Vec::new(),
            }
        }
    };
    let redirect: Option<RedirectField> = Fields::of(&reply.fields)?.get(FieldKey::Redirect)?;
    let mut refusal = Rejection::new(reply.code, readable(&reply.text));
    if let Some(to) = redirect {
        refusal.text += &format!("; ask the server at {}", readable(&to.address));
        refusal.field = Some(Box::new(field(FieldKey::Redirect, &to)));
    }
    Ok(ClientError::Refused(refusal))
}

/// A server of version 1 takes this version's hello for something else [SES-5].
pub fn refused_hello(error: ClientError) -> ClientError {
    match error {
        ClientError::Refused(why) if why.code == ErrorCode::NotOpen => {
            let text = format!(
                "this client speaks protocol versions {PROTOCOL_VERSION_MIN} to \
                 {PROTOCOL_VERSION_MAX}; the server does not understand its hello, as servers of \
                 version 1 do not; update the older program (the server said: {})",
                why.text
            );
            ClientError::Refused(Rejection::new(ErrorCode::VersionMismatch, text))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn error(body: &impl xdr::Xdr) -> Message {
        Message::new(MessageType::Error, 1, body, Bytes::new())
    }

    #[test]
    fn field_9_an_error_says_where_to_ask_instead() {
        let to = RedirectField {
            address: "b.example:7747".to_string(),
            tls_name: String::new(),
            relay: false,
        };
        let reply = ErrorReply {
            code: ErrorCode::Redirected,
            text: "/a is not here".to_string(),
            fields: vec![field(FieldKey::Redirect, &to)],
        };
        let refused = refusal(&error(&reply)).unwrap();
        assert_eq!(refused.code(), Some(ErrorCode::Redirected));
        let text = refused.to_string();
        assert!(
            text.contains("/a is not here; ask the server at b.example:7747"),
            "{text}"
        );
    }

    #[test]
    fn field_8_an_error_is_shown_without_its_control_characters() {
        let reply = Rejection::new(ErrorCode::NoSegment, "none\u{1b}]0;title\u{7}").reply();
        let refused = refusal(&error(&reply)).unwrap().to_string();
        assert!(refused.contains("none?]0;title?"), "{refused}");
    }

    #[test]
    fn ses_5_the_error_of_another_version_is_read() {
        let plain = PlainError {
            code: ErrorCode::VersionMismatch,
            text: "this server speaks 3".to_string(),
        };
        let refused = refusal(&error(&plain)).unwrap();
        assert_eq!(refused.code(), Some(ErrorCode::VersionMismatch));
    }

    #[test]
    fn ses_5_a_server_of_version_1_is_told_from_others() {
        let not_hello = Rejection::new(ErrorCode::NotOpen, "the first message must be HELLO");
        let told = refused_hello(not_hello.into());
        assert_eq!(told.code(), Some(ErrorCode::VersionMismatch));
        let text = told.to_string();
        assert!(
            text.contains("versions 2 to 3") && text.contains("version 1"),
            "{text}"
        );
    }
}
