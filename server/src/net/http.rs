//! HTTP on loopback: how the server is, its numbers, and the door for WebSockets.
//!
//! With no rules configured, a page of another site must not reach the server through the user's
//! browser: Host must name this host, and so must Origin where a browser sends one (promise P6).
//! Handlers run beside the engine's task and ask it by message.

use super::metrics;
use super::shell::Shell;
use super::websocket;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::extract::{Request, State};
use axum::http::{header, HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::Router;
use std::future::IntoFuture;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{spawn_local, JoinHandle};

/// Questions of handlers that wait for the engine's task at a time.
const MAX_ASKED: usize = 64;

enum Ask {
    Health(oneshot::Sender<(bool, String)>),
    Metrics(oneshot::Sender<String>),
    Web(Box<WebSocket>),
}

#[derive(Clone)]
struct Asker(mpsc::Sender<Ask>);

/// Begins to serve; the task ends when it is aborted.
pub async fn serve(
    shell: Rc<Shell>,
    address: SocketAddr,
) -> io::Result<(SocketAddr, JoinHandle<()>)> {
    let listener = TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    let (asker, asked) = mpsc::channel(MAX_ASKED);
    let app = Router::new()
        .route("/healthz", get(healthz))
        .route("/metrics", get(metrics))
        .route("/ws", get(web_socket))
        .with_state(Asker(asker))
        .layer(middleware::from_fn(only_from_here));
    let serving = axum::serve(listener, app);
    let task = spawn_local(async move {
        tokio::select! {
            ended = serving.into_future() => tracing::warn!(?ended, "HTTP has ended"),
            _ = answer(shell, asked) => {}
        }
    });
    Ok((bound, task))
}

/// The engine's side.
async fn answer(shell: Rc<Shell>, mut asked: mpsc::Receiver<Ask>) {
    while let Some(ask) = asked.recv().await {
        // Whoever asked may have gone meanwhile.
        match ask {
            Ask::Health(reply) => drop(reply.send(metrics::health(&shell))),
            Ask::Metrics(reply) => drop(reply.send(metrics::prometheus(&shell))),
            Ask::Web(socket) => {
                spawn_local(websocket::serve(shell.clone(), *socket));
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

async fn web_socket(State(asker): State<Asker>, upgrade: WebSocketUpgrade) -> Response {
    upgrade
        .max_message_size(websocket::MAX_MESSAGE_BYTES)
        .max_frame_size(websocket::MAX_MESSAGE_BYTES)
        .on_upgrade(move |socket| async move {
            let _ = asker.0.send(Ask::Web(Box::new(socket))).await;
        })
}

async fn only_from_here(request: Request, next: Next) -> Response {
    match is_from_here(request.headers()) {
        true => next.run(request).await,
        false => {
            let text =
                "InterWeave: no rules are configured, so only pages and programs of this host \
                        may ask: Host and Origin must be localhost, 127.0.0.1 or [::1]\n";
            (StatusCode::FORBIDDEN, text).into_response()
        }
    }
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
