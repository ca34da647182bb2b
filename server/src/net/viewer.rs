//! The viewer's files, and the page /status.
//!
//! The viewer is a page on which people watch segments and change values. It asks for /status in
//! addition to the protocol. `make/web.sh` builds the files from web/viewer. They are committed, so
//! that cargo needs no npm.

use super::pages::Listed;
use crate::session::{OpenClient, Origin, SegmentStatistics, Statistics};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use interweave_access::Login;
use interweave_wire::{json, Json};

const PAGE: &[u8] = include_bytes!("../../../web/viewer/built/index.html");
const SCRIPT: &[u8] = include_bytes!("../../../web/viewer/built/viewer.js");
const LOGIN_SCRIPT: &[u8] = include_bytes!("../../../web/viewer/built/login.js");
const STYLE: &[u8] = include_bytes!("../../../web/viewer/built/viewer.css");

/// The page runs its own script, and speaks with its own server only.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'";

const LOGIN: &str = include_str!("../../../web/viewer/built/login.html");
/// In that page, the place of a notice.
const NOTICE: &str = "<!--notice-->";

fn file(kind: &'static str, bytes: impl IntoResponse) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        // Another version of the server has another viewer.
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, bytes).into_response()
}

pub async fn page() -> Response {
    file("text/html; charset=utf-8", PAGE)
}

/// The page at which people log in. `notice`: "", or why the last attempt failed.
pub fn login(notice: &str) -> Response {
    let notice = match notice {
        "" => String::new(),
        _ => format!("<p class=\"bad\" role=\"alert\">{notice}</p>"),
    };
    file("text/html; charset=utf-8", LOGIN.replace(NOTICE, &notice))
}

pub async fn script() -> Response {
    file("text/javascript; charset=utf-8", SCRIPT)
}

pub async fn login_script() -> Response {
    file("text/javascript; charset=utf-8", LOGIN_SCRIPT)
}

pub async fn style() -> Response {
    file("text/css; charset=utf-8", STYLE)
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    let named = |(name, value): (&str, Json)| (name.to_string(), value);
    Json::from_iter(members.map(named))
}

/// Where a client runs, as far as it said.
fn origin(o: &Origin) -> Json {
    object([
        ("program", Json::from(o.program.clone())),
        ("host", Json::from(o.host.clone())),
        ("pid", Json::from(o.pid)),
    ])
}

fn reader(r: &OpenClient) -> Json {
    object([
        ("client", Json::from(r.label.as_str())),
        ("runs", origin(&r.origin)),
        ("version", Json::from(r.version)),
        ("behind", Json::from(r.behind)),
        ("stale_ms", Json::from(r.stale_ns.map(|ns| ns / 1_000_000))),
    ])
}

fn segment(s: &SegmentStatistics) -> Json {
    let readers: Vec<Json> = s.readers.iter().map(reader).collect();
    object([
        ("path", Json::from(s.path.as_str())),
        ("writer", Json::from(s.writer.clone())),
        (
            "writer_runs",
            s.writer_origin.as_ref().map_or(Json::Null, origin),
        ),
        ("waiting", Json::from(s.waiting.clone())),
        ("reader_count", Json::from(s.clients)),
        ("readers", Json::from(readers)),
        ("sent_bytes", Json::from(s.sent_bytes)),
        ("whole_bytes", Json::from(s.whole_bytes)),
        ("damaged", Json::from(s.damaged)),
    ])
}

fn hex(id: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*id))
}

/// The server as a whole, which only those see whom the rules allow `metrics`.
pub struct Head {
    pub statistics: Statistics,
    pub listening: Vec<String>,
}

/// What LIST_SEGMENTS does not say: which server this is, where programs connect, who writes and
/// waits to, what each client has and how long it has been behind, and the bytes of diffs sent
/// beside those of whole copies. `next` is the path at which the next page begins. `login`: of whom
/// asks; None: everybody may do everything.
pub fn status(login: Option<&Login>, head: Option<&Head>, listed: &Listed) -> String {
    let segments: Vec<Json> = listed.segments.iter().map(segment).collect();
    let mut members = Vec::new();
    if let Some(login) = login {
        members.push(("identity", Json::from(login.identity.to_string())));
        members.push(("has_token", Json::from(login.token.is_some())));
    }
    if let Some(Head {
        statistics,
        listening,
    }) = head
    {
        members.extend([
            ("server_id", Json::from(hex(&statistics.identity.server))),
            ("space_id", Json::from(hex(&statistics.identity.space))),
            ("listening", Json::from(listening.clone())),
            ("connections", Json::from(statistics.connections)),
            ("segment_count", Json::from(statistics.segments)),
        ]);
    }
    members.push(("segments", Json::from(segments)));
    members.push(("next", Json::from(listed.next.clone())));
    let named = |(name, value): (&str, Json)| (name.to_string(), value);
    json::line(&members.into_iter().map(named).collect()) + "\n"
}
