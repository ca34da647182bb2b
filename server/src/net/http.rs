//! HTTP: the viewer, the server's health and numbers, and the door for WebSockets.
//!
//! door.rs says who may ask, guests.rs how connections come in. Handlers are tasks of their own and
//! ask the engine's task by message. No request has a body, but a login.

use super::clock;
use super::door::{Door, Origin, Way};
use super::guests::{self, Gated};
use super::login::{self, Caller, Credentials, Failures, Shown};
use super::logins::Logins;
use super::metrics;
use super::pages::{self, Wanted};
use super::relay::Relays;
use super::routes::{Need, Route};
use super::shell::Shell;
use super::tasks;
use super::viewer;
use super::websocket::{self, WebSocket};
use crate::session::{Act, Audited, Place};
use axum::body::{Body, HttpBody};
use axum::extract::{RawQuery, Request, State};
use axum::http::{header, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, MethodRouter};
use axum::{Extension, Router};
use interweave_access::{Login, NotLetIn, Operation, Peer};
use interweave_wire::protocol::{ErrorCode, MAX_TOKEN};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;

/// The most questions of handlers that wait for the engine's task.
const MAX_ASKED: usize = 64;

pub enum Ask {
    Health(Option<Login>, oneshot::Sender<(bool, String)>),
    Ready(oneshot::Sender<(bool, String)>),
    Page(Page),
    Web(Box<WebSocket>, Way),
    /// Whose a request with these credentials is.
    Login(
        Credentials,
        oneshot::Sender<Result<(Login, Shown), NotLetIn>>,
    ),
    /// Begins a login with a token. The reply is the cookie's value.
    LogIn(String, Peer, oneshot::Sender<Result<[u8; 16], NotLoggedIn>>),
    LogOut([u8; 16], oneshot::Sender<()>),
}

/// A page, or why the rules do not allow it.
type Made = Result<String, String>;

/// A page of numbers that takes a while.
pub enum Page {
    Metrics(Wanted, Login, oneshot::Sender<Made>),
    Status(Wanted, Login, oneshot::Sender<Made>),
}

#[derive(Clone)]
pub struct Asker {
    pub asks: mpsc::Sender<Ask>,
    pub failures: Arc<Failures>,
}

/// Begins to serve. The task ends when it is aborted.
pub fn serve(
    shell: Rc<Shell>,
    listener: TcpListener,
    gated: Option<Gated>,
    origins: Vec<Origin>,
    most: usize,
) -> io::Result<(SocketAddr, JoinHandle<()>)> {
    let bound = listener.local_addr()?;
    let port = bound.port();
    let (app, asked) = app(Arc::new(Door { port, origins }), Failures::default());
    let task = tasks::spawn(&shell.clone(), "HTTP", async move {
        tokio::select! {
            _ = guests::receive(listener, gated, app, most) => {}
            _ = answer(shell, asked) => {}
        }
    });
    Ok((bound, task))
}

/// Makes the router that answers requests. Its questions to the engine's task come out of the
/// receiver.
pub fn app(door: Arc<Door>, failures: Failures) -> (Router, mpsc::Receiver<Ask>) {
    let (asker, asked) = mpsc::channel(MAX_ASKED);
    let asker = Asker {
        asks: asker,
        failures: Arc::new(failures),
    };
    let app = Route::ALL.iter().fold(Router::new(), |app, route| {
        app.route(route.path(), guarded(*route, &door, &asker))
    });
    let app = app.layer(middleware::from_fn_with_state(door, only_admitted));
    (app, asked)
}

/// Puts before a page what its need asks for [ACC-11]. What needs `metrics` is decided on the
/// engine's task.
fn guarded(route: Route, door: &Arc<Door>, asker: &Asker) -> MethodRouter {
    let both = (door.clone(), asker.clone());
    let page = handler(route, both.clone());
    let identify = middleware::from_fn_with_state(both, login::identify);
    match route.need() {
        Need::Nothing => page,
        Need::Identity => page.layer(identify),
        Need::LetIn | Need::Metrics => page
            .layer(middleware::from_fn(login::needs_identity))
            .layer(identify),
    }
}

fn handler(route: Route, both: (Arc<Door>, Asker)) -> MethodRouter {
    let asker = both.1.clone();
    match route {
        Route::Viewer => get(viewer::page),
        Route::Script => get(viewer::script),
        Route::Style => get(viewer::style),
        Route::Status => get(status).with_state(asker),
        Route::Metrics => get(metrics).with_state(asker),
        Route::Health => get(healthz).with_state(asker),
        Route::Ready => get(readyz).with_state(asker),
        // A WebSocket's client may show its token in HELLO.
        Route::WebSocket => get(web_socket).with_state(asker),
        Route::LoginPage => get(login::page),
        Route::LoginScript => get(viewer::login_script),
        Route::LogIn => post(login::log_in).with_state(both),
        Route::LogOut => post(login::log_out).with_state(both),
    }
}

/// Answers the handlers' questions, on the engine's task.
pub async fn answer(shell: Rc<Shell>, mut asked: mpsc::Receiver<Ask>) {
    let (pages, wanted) = mpsc::channel(MAX_ASKED);
    let asked = async {
        let mut logins = Logins::default();
        while let Some(ask) = asked.recv().await {
            // The handler that asked may have gone meanwhile.
            match ask {
                Ask::Health(login, reply) => {
                    let tells_all = login.is_some_and(|login| may_see_numbers(&shell, &login));
                    drop(reply.send(metrics::health(&shell, tells_all)));
                }
                Ask::Ready(reply) => drop(reply.send(metrics::readiness(&shell))),
                Ask::Login(shown, reply) => drop(reply.send(login_of(&shell, &logins, shown))),
                Ask::LogIn(token, peer, reply) => {
                    let cookie = log_in(&shell, &mut logins, &token, &peer);
                    let _ = reply.send(cookie);
                }
                Ask::LogOut(value, reply) => {
                    logins.end(&value);
                    let _ = reply.send(());
                }
                // If too many pages wait, the page is dropped, and the handler answers 503.
                Ask::Page(page) => drop(pages.try_send(page)),
                Ask::Web(socket, way) => {
                    let serve = websocket::serve(shell.clone(), *socket, way);
                    tasks::spawn(&shell, "a WebSocket", serve);
                }
            }
        }
    };
    tokio::join!(asked, make_pages(&shell, wanted));
}

/// Why a form with a token begins no login.
pub enum NotLoggedIn {
    NotValid,
    /// The shared rules could not be read for a while [SPACE-44].
    RulesUnread,
}

/// Decides whose a request is. A login whose token was revoked meanwhile has ended.
/// Also returns the token by which the caller is let in.
fn login_of(
    shell: &Shell,
    logins: &Logins,
    shown: Credentials,
) -> Result<(Login, Shown), NotLetIn> {
    let access = shell.access();
    let known = shown
        .cookie
        .and_then(|value| logins.find(clock::now_ns(), &value));
    let known = known.filter(|(login, _)| access.still_lets_in(login));
    let peer = Peer {
        login: known.map(|(login, _)| login.clone()),
        ..shown.peer
    };
    let login = access.login(&shown.token, &peer);
    if matches!(login, Err(NotLetIn::NotValid)) {
        audit_login(shell, &peer, None);
    }
    let token = match (known, shown.token.is_empty()) {
        (Some((_, of_login)), true) => of_login.clone(),
        _ => may_be_passed_on(shell, &shown.token),
    };
    Ok((login?, token))
}

/// The token is kept only by a server that passes connections on.
fn may_be_passed_on(shell: &Shell, token: &str) -> Shown {
    let relays = shell.relays().map(|_| Shown::of(token));
    relays.unwrap_or_default()
}

/// Notes a token that was shown over HTTP. `login`: it is valid.
fn audit_login(shell: &Shell, peer: &Peer, login: Option<&Login>) {
    let text = match login {
        Some(_) => "over HTTP",
        None => "the token is not valid, over HTTP",
    };
    let who = login.map_or_else(|| peer.identity(), |login| login.identity.clone());
    shell.audit(Audited {
        who: Some(who),
        token: login.and_then(|login| login.token),
        from: Place::of(peer),
        error: login.is_none().then_some(ErrorCode::Denied),
        ..Audited::of_server(Act::Login, login.is_some(), text)
    });
}

/// Returns the value of a cookie.
fn log_in(
    shell: &Shell,
    logins: &mut Logins,
    token: &str,
    peer: &Peer,
) -> Result<[u8; 16], NotLoggedIn> {
    if shell.lacks_rules() {
        return Err(NotLoggedIn::RulesUnread);
    }
    if token.is_empty() || token.len() > MAX_TOKEN as usize {
        return Err(NotLoggedIn::NotValid);
    }
    let login = shell.access().login(token, &Peer::default()).ok();
    let login = login.filter(|login| login.token.is_some());
    audit_login(shell, peer, login.as_ref());
    let login = login.ok_or(NotLoggedIn::NotValid)?;
    let mut value = [0; 16];
    getrandom::fill(&mut value).map_err(|_| NotLoggedIn::NotValid)?;
    let shown = may_be_passed_on(shell, token);
    logins.begin(clock::now_ns(), value, login, shown);
    Ok(value)
}

fn may_see_numbers(shell: &Shell, login: &Login) -> bool {
    let access = shell.access();
    access
        .decide(&login.identity, Operation::Metrics, "")
        .is_allowed
}

/// Makes one page at a time, so that handlers that ask much do not keep the thread for themselves.
/// A page whose handler has gone is not made.
async fn make_pages(shell: &Shell, mut wanted: mpsc::Receiver<Page>) {
    while let Some(page) = wanted.recv().await {
        match page {
            Page::Metrics(_, login, reply) if !may_see_numbers(shell, &login) => {
                let identity = &login.identity;
                shell.audit(Audited {
                    who: Some(identity.clone()),
                    operation: Some(Operation::Metrics),
                    line: shell.access().decide(identity, Operation::Metrics, "").line,
                    ..Audited::of_server(Act::Request, false, "over HTTP")
                });
                let text = format!(
                    "InterWeave: {} asked for metrics, which no rule allows; ask whoever runs the \
                     server for one\n",
                    login.identity
                );
                // The handler that asked may have gone meanwhile.
                let _ = reply.send(Err(text));
            }
            Page::Metrics(wanted, login, reply) => {
                let is_wanted = || !reply.is_closed();
                if let Some(numbers) = numbers(shell, &wanted, &login, is_wanted).await {
                    reply_with(reply, move || metrics::prometheus(&numbers)).await;
                }
            }
            Page::Status(wanted, login, reply) => {
                let is_wanted = || !reply.is_closed();
                let listed = pages::list(shell, &wanted, &login.identity, is_wanted).await;
                if let Some(listed) = listed {
                    let head = may_see_numbers(shell, &login).then(|| viewer::Head {
                        statistics: shell.statistics(),
                        listening: shell.listening.borrow().clone(),
                    });
                    let login = (!shell.access().is_open()).then_some(login);
                    let text = move || viewer::status(login.as_ref(), head.as_ref(), &listed);
                    reply_with(reply, text).await;
                }
            }
        }
    }
}

/// Makes the text on a thread of its own. If the system has no thread, the reply is dropped.
async fn reply_with(reply: oneshot::Sender<Made>, text: impl FnOnce() -> String + Send + 'static) {
    let (done, is_done) = oneshot::channel::<()>();
    let work = move || {
        // The handler that asked may have gone meanwhile.
        let _ = reply.send(Ok(text()));
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
    login: &Login,
    is_wanted: impl Fn() -> bool,
) -> Option<metrics::Numbers> {
    let statistics = shell.statistics();
    let segments = match wanted.is_chosen || statistics.segments <= pages::MOST {
        true => {
            let listed = pages::list(shell, wanted, &login.identity, &is_wanted).await;
            listed?.segments
        }
        false => Vec::new(),
    };
    Some(metrics::Numbers {
        totals: pages::totals(shell, is_wanted).await?,
        store: shell.store_status(),
        received: shell.traffic.received.get(),
        sent: shell.traffic.sent.get(),
        refused: shell.traffic.refused.get(),
        relays: shell.relays().map(Relays::numbers),
        audit: shell.audit_numbers(),
        space: shell.space_view.borrow().clone(),
        rules_version: shell.rules_version(),
        statistics,
        segments,
    })
}

async fn healthz(State(asker): State<Asker>, Extension(caller): Extension<Caller>) -> Response {
    well_or_not(asker.ask(|reply| Ask::Health(caller.0, reply)).await)
}

async fn readyz(State(asker): State<Asker>) -> Response {
    well_or_not(asker.ask(Ask::Ready).await)
}

/// `replied`: whether all is well, and what to say. None: the server has stopped.
fn well_or_not(replied: Option<(bool, String)>) -> Response {
    let (is_well, text) = replied.unwrap_or((false, stopping_text()));
    let status = match is_well {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

fn stopping_text() -> String {
    "{\"status\":\"stopping\"}\n".to_string()
}

async fn metrics(
    State(asker): State<Asker>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Response {
    page(
        asker,
        caller,
        query,
        Page::Metrics,
        "text/plain; version=0.0.4",
    )
    .await
}

async fn status(
    State(asker): State<Asker>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Response {
    page(asker, caller, query, Page::Status, "application/json").await
}

async fn page(
    asker: Asker,
    caller: Caller,
    query: Option<String>,
    ask: impl FnOnce(Wanted, Login, oneshot::Sender<Made>) -> Page,
    kind: &'static str,
) -> Response {
    let wanted = match Wanted::parse(query.as_deref()) {
        Ok(wanted) => wanted,
        Err(text) => {
            return (StatusCode::BAD_REQUEST, format!("InterWeave: {text}\n")).into_response()
        }
    };
    let Caller(Some(login)) = caller else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    match asker
        .ask(|reply| Ask::Page(ask(wanted, login, reply)))
        .await
    {
        Some(Ok(text)) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        Some(Err(text)) => (StatusCode::FORBIDDEN, text).into_response(),
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

async fn web_socket(
    State(asker): State<Asker>,
    Extension(mut way): Extension<Way>,
    Extension(caller): Extension<Caller>,
    shown: Option<Extension<Shown>>,
    request: Request,
) -> Response {
    way.peer.login = caller.0.filter(|login| login.token.is_some());
    way.shown = shown.map(|Extension(shown)| shown).unwrap_or_default();
    let answer = match create_response_with_body(&request, Body::empty) {
        Ok(answer) => answer,
        Err(error) => {
            let text = format!("InterWeave: this begins no WebSocket: {error}\n");
            return (StatusCode::BAD_REQUEST, text).into_response();
        }
    };
    let upgrade = hyper::upgrade::on(request);
    tokio::spawn(async move {
        // An error: the client has gone before the answer.
        if let Ok(upgraded) = upgrade.await {
            let socket = Box::new(websocket::over(upgraded).await);
            let _ = asker.asks.send(Ask::Web(socket, way)).await;
        }
    });
    answer
}

async fn only_admitted(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let way = request.extensions().get::<Way>();
    let names = way.and_then(|way| way.names.as_deref());
    if let Err(refusal) = door.admits(request.uri(), request.headers(), names) {
        return refusal.into_response();
    }
    let is_login = request.method() == Method::POST && request.uri().path() == "/login";
    if !is_login && !request.body().is_end_stream() {
        // The body is not read, because the connection ends with the answer.
        let close = [(header::CONNECTION, "close")];
        let text = "InterWeave: requests here have no body\n";
        return (StatusCode::PAYLOAD_TOO_LARGE, close, text).into_response();
    }
    next.run(request).await
}
