//! The connections of HTTP: how they come in, how many there may be, and how each is served.
//!
//! Anybody who reaches the port may connect, so connections are few, short and small. Their number
//! is bounded, a request's head must come soon, and no connection stays for long. When all places
//! are taken, the oldest connection without a whole request leaves its place to the next one
//! (visits.rs).

use super::door::Way;
use super::listen::{send_at_once, Patience};
use super::tls::{Admitted, Entrance};
use super::visits::{Visit, Visits};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{service_fn, Service};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use interweave_access::Peer;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::{mpsc, Semaphore};
use tokio::task::spawn_local;
use tokio::time::timeout;

/// The time in which the head of a request must come, also that of a connection's next request.
const HEAD: Duration = Duration::from_secs(5);
/// How long a connection stays. A WebSocket is not a connection of HTTP any more.
const STAY: Duration = Duration::from_secs(60);
/// After STAY, the time in which an answer that is under way must be sent.
const PARTING: Duration = Duration::from_secs(5);
/// The longest head of a request. One of 14 KiB with many fields took more than a stranger may
/// cost [NET-8].
const MAX_HEAD_BYTES: usize = 12 * 1024;
/// The most fields of a request's head. The shortest one takes almost 200 bytes [NET-8].
const MAX_FIELDS: usize = 64;

/// Where the port's connections pass the gate of TLS.
pub struct Gated {
    pub entrance: Entrance,
    pub passed: mpsc::Receiver<Admitted>,
    /// Requests that are not encrypted are answered, too.
    pub admits_plain: bool,
}

/// Accepts connections, and serves at most `most` at a time.
pub async fn receive(listener: TcpListener, gated: Option<Gated>, app: Router, most: usize) {
    let mut guests = Guests {
        places: Arc::new(Semaphore::new(most)),
        visits: Visits::default(),
        app,
    };
    match gated {
        None => guests.receive_all(listener).await,
        Some(gated) => {
            tokio::select! {
                _ = bring_all(listener, gated.entrance) => {}
                _ = guests.receive_passed(gated.passed, gated.admits_plain) => {}
            }
        }
    }
}

async fn bring_all(listener: TcpListener, entrance: Entrance) {
    let mut patience = Patience::default();
    loop {
        let stream = patience.accept(&listener).await;
        if let Err(error) = entrance.bring(stream).await {
            patience.wait(&error).await;
        }
    }
}

struct Guests {
    places: Arc<Semaphore>,
    visits: Visits,
    app: Router,
}

impl Guests {
    async fn receive_all(&mut self, listener: TcpListener) {
        let mut patience = Patience::default();
        loop {
            let stream = patience.accept(&listener).await;
            let way = plain_way(&stream);
            self.begin(stream, way, self.app.clone()).await;
        }
    }

    async fn receive_passed(&mut self, mut passed: mpsc::Receiver<Admitted>, admits_plain: bool) {
        let refuser = Router::new().fallback(refuse_plain);
        while let Some(admitted) = passed.recv().await {
            if let Err(error) = self.receive_one(admitted, admits_plain, &refuser).await {
                tracing::debug!(%error, "a connection was lost behind the gate of TLS");
            }
        }
    }

    async fn receive_one(
        &mut self,
        admitted: Admitted,
        admits_plain: bool,
        refuser: &Router,
    ) -> io::Result<()> {
        match admitted {
            Admitted::Secure(stream, shown) => {
                let way = Way {
                    peer: shown.peer,
                    names: Some(shown.names),
                    validity: shown.validity,
                    ..Way::default()
                };
                let stream = UnixStream::from_std(stream)?;
                self.begin(stream, way, self.app.clone()).await;
            }
            Admitted::Plain(stream) => {
                let app = if admits_plain { &self.app } else { refuser };
                let (stream, app) = (TcpStream::from_std(stream)?, app.clone());
                let way = plain_way(&stream);
                self.begin(stream, way, app).await;
            }
        }
        Ok(())
    }

    /// Waits for a place, then serves the connection in a task of its own.
    async fn begin<S>(&mut self, stream: S, way: Way, app: Router)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        if self.places.available_permits() == 0 {
            self.visits.send_one_away();
        }
        let Ok(place) = self.places.clone().acquire_owned().await else {
            return;
        };
        let visit = self.visits.begin(way.peer.address);
        spawn_local(async move {
            tokio::select! {
                _ = converse(stream, way, app, visit.clone()) => {}
                _ = visit.sent_away() => {}
            }
            drop(place);
        });
    }
}

fn plain_way(stream: &TcpStream) -> Way {
    let peer = Peer {
        address: stream.peer_addr().ok(),
        ..Peer::default()
    };
    Way {
        peer,
        ..Way::default()
    }
}

impl Patience {
    async fn accept(&mut self, listener: &TcpListener) -> TcpStream {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    self.renew();
                    send_at_once(&stream);
                    return stream;
                }
                Err(error) => self.wait(&error).await,
            }
        }
    }
}

/// Answers the requests of one connection, until the peer or the server ends it.
pub async fn converse<S>(stream: S, way: Way, app: Router, visit: Rc<Visit>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let app = TowerToHyperService::new(app);
    let answer = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        let asking = visit.ask();
        request.extensions_mut().insert(way.clone());
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
        .max_headers(MAX_FIELDS)
        .serve_connection(TokioIo::new(stream), answer)
        .with_upgrades();
    let mut conversation = pin!(conversation);
    // An error means that the peer has gone, or did not send a request in time.
    if timeout(STAY, conversation.as_mut()).await.is_err() {
        conversation.as_mut().graceful_shutdown();
        let _ = timeout(PARTING, conversation).await;
    }
}

async fn refuse_plain() -> Response {
    let close = [(axum::http::header::CONNECTION, "close")];
    let text = "InterWeave: this server takes encrypted connections only; write https:// instead \
                of http://\n";
    (StatusCode::FORBIDDEN, close, text).into_response()
}
