//! HTTP on loopback: the viewer, how the server is, its numbers, and the door for WebSockets.
//!
//! With no rules configured, a page of another site must not reach the server through the user's
//! browser: Host must name this host, and so must Origin where a browser sends one (promise P6).
//! Handlers run beside the engine's task and ask it by message.
//!
//! Anybody on this host may connect, so connections are few, short and small: there are so many at
//! a time, a request's head must come soon, nothing has a body, and none stays for long.

use super::listen::Patience;
use super::metrics;
use super::shell::Shell;
use super::tasks;
use super::viewer;
use super::websocket;
use axum::body::HttpBody;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::extract::{Request, State};
use axum::http::{header, HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot, Semaphore};
use tokio::task::{spawn_local, JoinHandle};
use tokio::time::timeout;

/// Questions of handlers that wait for the engine's task at a time.
const MAX_ASKED: usize = 64;
/// How long the head of a request, the next one's too, may take to come.
const HEAD: Duration = Duration::from_secs(5);
/// How long a connection stays; a WebSocket is no longer one of HTTP.
const STAY: Duration = Duration::from_secs(60);
/// How long the answer that is being sent then may take.
const PARTING: Duration = Duration::from_secs(5);
/// The longest head of a request.
const MAX_HEAD_BYTES: usize = 16 * 1024;

enum Ask {
    Health(oneshot::Sender<(bool, String)>),
    Metrics(oneshot::Sender<String>),
    Status(oneshot::Sender<String>),
    Web(Box<WebSocket>),
}

#[derive(Clone)]
struct Asker(mpsc::Sender<Ask>);

/// Begins to serve; the task ends when it is aborted.
pub async fn serve(
    shell: Rc<Shell>,
    address: SocketAddr,
    most: usize,
) -> io::Result<(SocketAddr, JoinHandle<()>)> {
    let listener = TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    let (asker, asked) = mpsc::channel(MAX_ASKED);
    let app = Router::new()
        .route("/", get(viewer::page))
        .route("/viewer.js", get(viewer::script))
        .route("/viewer.css", get(viewer::style))
        .route("/status", get(status))
        .route("/healthz", get(healthz))
        .route("/metrics", get(metrics))
        .route("/ws", get(web_socket))
        .with_state(Asker(asker))
        .layer(middleware::from_fn(only_from_here));
    let task = tasks::spawn(&shell.clone(), "HTTP", async move {
        tokio::select! {
            _ = accept(listener, app, most) => {}
            _ = answer(shell, asked) => {}
        }
    });
    Ok((bound, task))
}

/// Takes connections in, while there are fewer than `most`; the others wait in the kernel.
async fn accept(listener: TcpListener, app: Router, most: usize) {
    let places = Arc::new(Semaphore::new(most));
    let mut patience = Patience::default();
    while let Ok(place) = places.clone().acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                patience.renew();
                let app = app.clone();
                spawn_local(async move {
                    converse(stream, app).await;
                    drop(place);
                });
            }
            Err(error) => patience.wait(&error).await,
        }
    }
}

/// Answers requests until either side has had enough.
async fn converse(stream: TcpStream, app: Router) {
    let conversation = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app))
        .with_upgrades();
    let mut conversation = pin!(conversation);
    // An error is the peer's: it has gone, or did not say in time what it wants.
    if timeout(STAY, conversation.as_mut()).await.is_err() {
        conversation.as_mut().graceful_shutdown();
        let _ = timeout(PARTING, conversation).await;
    }
}

/// The engine's side.
async fn answer(shell: Rc<Shell>, mut asked: mpsc::Receiver<Ask>) {
    while let Some(ask) = asked.recv().await {
        // Whoever asked may have gone meanwhile.
        match ask {
            Ask::Health(reply) => drop(reply.send(metrics::health(&shell))),
            Ask::Metrics(reply) => drop(reply.send(metrics::prometheus(&shell))),
            Ask::Status(reply) => drop(reply.send(viewer::status(&shell))),
            Ask::Web(socket) => {
                tasks::spawn(
                    &shell,
                    "a WebSocket",
                    websocket::serve(shell.clone(), *socket),
                );
            }
        }
    }
}

async fn healthz(State(asker): State<Asker>) -> Response {
    let (reply, replied) = oneshot::channel();
    // If the engine's task is gone the reply is, too.
    let _ = asker.0.send(Ask::Health(reply)).await;
    let (healthy, text) = replied.await.unwrap_or((false, stopping_text()));
    let status = match healthy {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

fn stopping_text() -> String {
    "{\"status\":\"stopping\"}\n".to_string()
}

async fn metrics(State(asker): State<Asker>) -> Response {
    let (reply, replied) = oneshot::channel();
    let _ = asker.0.send(Ask::Metrics(reply)).await;
    match replied.await {
        Ok(text) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response(),
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

async fn status(State(asker): State<Asker>) -> Response {
    let (reply, replied) = oneshot::channel();
    let _ = asker.0.send(Ask::Status(reply)).await;
    match replied.await {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

async fn web_socket(State(asker): State<Asker>, upgrade: WebSocketUpgrade) -> Response {
    upgrade
        .max_message_size(websocket::MAX_MESSAGE_BYTES)
        .max_frame_size(websocket::MAX_MESSAGE_BYTES)
        .on_upgrade(move |socket| async move {
            let _ = asker.0.send(Ask::Web(Box::new(socket))).await;
        })
}

async fn only_from_here(request: Request, next: Next) -> Response {
    if !is_from_here(request.headers()) {
        let text = "InterWeave: no rules are configured, so only pages and programs of this host \
                    may ask: Host and Origin must be localhost, 127.0.0.1 or [::1]\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    if !request.body().is_end_stream() {
        // What is left of it is not read: the connection ends with the answer.
        let close = [(header::CONNECTION, "close")];
        let text = "InterWeave: requests here have no body\n";
        return (StatusCode::PAYLOAD_TOO_LARGE, close, text).into_response();
    }
    next.run(request).await
}

fn is_from_here(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    let host = text(header::HOST).unwrap_or("");
    let origin = text(header::ORIGIN).map(|origin| {
        let rest = origin.strip_prefix("http://");
        rest.or(origin.strip_prefix("https://")).unwrap_or("")
    });
    is_this_host(host) && origin.is_none_or(is_this_host)
}

/// `localhost` or a loopback address, with a port or without.
fn is_this_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|n| n.strip_suffix(']'));
    let address = bare.unwrap_or(name).parse::<IpAddr>();
    name == "localhost" || address.is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        is_from_here(&headers)
    }

    #[test]
    fn programs_and_pages_of_this_host_may_ask() {
        assert!(asked("127.0.0.1:7748", None));
        assert!(asked("localhost", Some("http://localhost:3000")));
        assert!(asked("[::1]:7748", Some("https://[::1]")));
    }

    #[test]
    fn pages_of_other_sites_may_not_ask() {
        assert!(!asked("127.0.0.1:7748", Some("https://example.org")));
        assert!(!asked("localhost:7748", Some("null")));
        assert!(!asked(
            "localhost:7748",
            Some("http://localhost.example.org")
        ));
    }

    #[test]
    fn a_name_that_was_rebound_to_this_host_may_not_ask() {
        assert!(!asked("attacker.example:7748", None));
        assert!(!asked("", None));
    }
}
