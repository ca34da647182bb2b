//! HTTP on loopback: the viewer, the server's health and numbers, and the door for WebSockets.
//!
//! door.rs says who may ask. Handlers are tasks of their own, and ask the engine's task by message.
//!
//! Anybody on this host may connect, so connections are few, short and small. Their number is
//! bounded, a request's head must come soon, no request has a body, and no connection stays for
//! long. When all places are taken, the oldest connection without a whole request leaves its place
//! to the next one (visits.rs).

use super::door::{Door, Origin};
use super::listen::Patience;
use super::metrics;
use super::pages::{self, Wanted};
use super::shell::Shell;
use super::tasks;
use super::viewer;
use super::visits::{Visit, Visits};
use super::websocket;
use axum::body::HttpBody;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::extract::{RawQuery, Request, State};
use axum::http::{header, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{service_fn, Service};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, Semaphore};
use tokio::task::{spawn_local, JoinHandle};
use tokio::time::timeout;

/// The most questions of handlers that wait for the engine's task.
const MAX_ASKED: usize = 64;
/// The time in which the head of a request must come, also that of a connection's next request.
const HEAD: Duration = Duration::from_secs(5);
/// How long a connection stays. A WebSocket is not a connection of HTTP any more.
const STAY: Duration = Duration::from_secs(60);
/// After STAY, the time in which an answer that is under way must be sent.
const PARTING: Duration = Duration::from_secs(5);
/// The longest head of a request.
const MAX_HEAD_BYTES: usize = 16 * 1024;

pub enum Ask {
    Health(oneshot::Sender<(bool, String)>),
    Page(Page),
    Web(Box<WebSocket>),
}

/// A page of numbers that takes a while.
pub enum Page {
    Metrics(Wanted, oneshot::Sender<String>),
    Status(Wanted, oneshot::Sender<String>),
}

#[derive(Clone)]
struct Asker(mpsc::Sender<Ask>);

/// Begins to serve. The task ends when it is aborted.
pub async fn serve(
    shell: Rc<Shell>,
    address: SocketAddr,
    origins: Vec<Origin>,
    most: usize,
) -> io::Result<(SocketAddr, JoinHandle<()>)> {
    let listener = TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    let port = bound.port();
    let (app, asked) = app(Arc::new(Door { port, origins }));
    let task = tasks::spawn(&shell.clone(), "HTTP", async move {
        tokio::select! {
            _ = accept(listener, app, most) => {}
            _ = answer(shell, asked) => {}
        }
    });
    Ok((bound, task))
}

/// Makes the router that answers requests. Its questions to the engine's task come out of the
/// receiver.
pub fn app(door: Arc<Door>) -> (Router, mpsc::Receiver<Ask>) {
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
        .layer(middleware::from_fn_with_state(door, only_admitted));
    (app, asked)
}

/// Accepts connections, at most `most` at a time.
async fn accept(listener: TcpListener, app: Router, most: usize) {
    let places = Arc::new(Semaphore::new(most));
    let mut visits = Visits::default();
    let mut patience = Patience::default();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                patience.wait(&error).await;
                continue;
            }
        };
        patience.renew();
        if places.available_permits() == 0 {
            visits.send_one_away();
        }
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        let visit = visits.begin();
        let app = app.clone();
        spawn_local(async move {
            tokio::select! {
                _ = converse(stream, app, visit.clone()) => {}
                _ = visit.sent_away() => {}
            }
            drop(place);
        });
    }
}

/// Answers the requests of one connection, until the peer or the server ends it.
pub async fn converse<S>(stream: S, app: Router, visit: Rc<Visit>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let app = TowerToHyperService::new(app);
    let answer = service_fn(move |request| {
        let asking = visit.ask();
        let answered = app.call(request);
        async move {
            let answer = answered.await;
            drop(asking);
            answer
        }
    });
    let conversation = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), answer)
        .with_upgrades();
    let mut conversation = pin!(conversation);
    // An error means that the peer has gone, or did not send a request in time.
    if timeout(STAY, conversation.as_mut()).await.is_err() {
        conversation.as_mut().graceful_shutdown();
        let _ = timeout(PARTING, conversation).await;
    }
}

/// Answers the handlers' questions, on the engine's task.
pub async fn answer(shell: Rc<Shell>, mut asked: mpsc::Receiver<Ask>) {
    let (pages, wanted) = mpsc::channel(MAX_ASKED);
    let asked = async {
        while let Some(ask) = asked.recv().await {
            match ask {
                // The handler that asked may have gone meanwhile.
                Ask::Health(reply) => drop(reply.send(metrics::health(&shell))),
                // If too many pages wait, the page is dropped, and the handler answers 503.
                Ask::Page(page) => drop(pages.try_send(page)),
                Ask::Web(socket) => {
                    tasks::spawn(
                        &shell,
                        "a WebSocket",
                        websocket::serve(shell.clone(), *socket),
                    );
                }
            }
        }
    };
    tokio::join!(asked, make_pages(&shell, wanted));
}

/// Makes one page at a time, so that handlers that ask much do not keep the thread for themselves.
/// A page whose handler has gone is not made.
async fn make_pages(shell: &Shell, mut wanted: mpsc::Receiver<Page>) {
    while let Some(page) = wanted.recv().await {
        match page {
            Page::Metrics(wanted, reply) => {
                if let Some(numbers) = numbers(shell, &wanted, || !reply.is_closed()).await {
                    reply_with(reply, move || metrics::prometheus(&numbers)).await;
                }
            }
            Page::Status(wanted, reply) => {
                let listed = pages::list(shell, &wanted, || !reply.is_closed()).await;
                if let Some(listed) = listed {
                    let statistics = shell.statistics();
                    let listening = shell.listening.borrow().clone();
                    let text = move || viewer::status(&statistics, listening, &listed);
                    reply_with(reply, text).await;
                }
            }
        }
    }
}

/// Makes the text on a thread of its own. If the system has no thread, the reply is dropped.
async fn reply_with(
    reply: oneshot::Sender<String>,
    text: impl FnOnce() -> String + Send + 'static,
) {
    let (done, is_done) = oneshot::channel::<()>();
    let work = move || {
        // The handler that asked may have gone meanwhile.
        let _ = reply.send(text());
        drop(done);
    };
    let thread = std::thread::Builder::new().name("iw-page".to_string());
    if thread.spawn(work).is_ok() {
        // The wait ends when the thread drops `done`.
        let _ = is_done.await;
    }
}

async fn numbers(
    shell: &Shell,
    wanted: &Wanted,
    is_wanted: impl Fn() -> bool,
) -> Option<metrics::Numbers> {
    let statistics = shell.statistics();
    let segments = match wanted.is_chosen || statistics.segments <= pages::MOST {
        true => pages::list(shell, wanted, &is_wanted).await?.segments,
        false => Vec::new(),
    };
    Some(metrics::Numbers {
        totals: pages::totals(shell, is_wanted).await?,
        store: shell.store_status(),
        received: shell.traffic.received.get(),
        sent: shell.traffic.sent.get(),
        refused: shell.traffic.refused.get(),
        audit: shell.audit_numbers(),
        statistics,
        segments,
    })
}

async fn healthz(State(asker): State<Asker>) -> Response {
    let (reply, replied) = oneshot::channel();
    // If the engine's task is gone, no reply comes.
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

async fn metrics(State(asker): State<Asker>, RawQuery(query): RawQuery) -> Response {
    page(asker, query, Page::Metrics, "text/plain; version=0.0.4").await
}

async fn status(State(asker): State<Asker>, RawQuery(query): RawQuery) -> Response {
    page(asker, query, Page::Status, "application/json").await
}

async fn page(
    asker: Asker,
    query: Option<String>,
    ask: impl FnOnce(Wanted, oneshot::Sender<String>) -> Page,
    kind: &'static str,
) -> Response {
    let wanted = match Wanted::parse(query.as_deref()) {
        Ok(wanted) => wanted,
        Err(text) => {
            return (StatusCode::BAD_REQUEST, format!("InterWeave: {text}\n")).into_response()
        }
    };
    let (reply, replied) = oneshot::channel();
    let _ = asker.0.send(Ask::Page(ask(wanted, reply))).await;
    match replied.await {
        Ok(text) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

async fn web_socket(State(asker): State<Asker>, upgrade: WebSocketUpgrade) -> Response {
    websocket::bounded(upgrade).on_upgrade(move |socket| async move {
        let _ = asker.0.send(Ask::Web(Box::new(socket))).await;
    })
}

async fn only_admitted(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    if let Err(refusal) = door.admits(request.uri(), request.headers()) {
        return refusal.into_response();
    }
    if !request.body().is_end_stream() {
        // The body is not read, because the connection ends with the answer.
        let close = [(header::CONNECTION, "close")];
        let text = "InterWeave: requests here have no body\n";
        return (StatusCode::PAYLOAD_TOO_LARGE, close, text).into_response();
    }
    next.run(request).await
}
