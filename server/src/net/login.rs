//! The identity of a request over HTTP [ACC-9], and the page at which people log in [ACC-10].
//!
//! A token that is not valid is answered late, so that guesses cost time. At most so many wait for
//! such an answer; others are answered at once that there are too many. A token is in no log.

use super::door::{Door, Way};
use super::http::{Ask, Asker, NotLoggedIn};
use super::logins::LASTS;
use super::viewer;
use axum::body::{Body, HttpBody};
use axum::extract::{Extension, Request, State};
use axum::http::{header, HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use interweave_access::{Login, NotLetIn, Peer};
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, Semaphore};
use tokio::time::{sleep, timeout};

/// How long the answer to a token that is not valid waits.
const FAILED_LOGIN: Duration = Duration::from_secs(1);
/// The most such answers that wait.
pub const MOST_FAILING: usize = 32;
/// The most logins whose bodies are still coming.
const MOST_COMING: usize = 32;
/// The longest body of a login: much more than a token whose bytes are all escaped.
const MAX_BODY_BYTES: usize = 2048;
/// The time in which the body must come.
const BODY: Duration = Duration::from_secs(5);

/// What a request shows of who asks.
pub struct Credentials {
    /// "": none.
    pub token: String,
    /// The value of the login's cookie.
    pub cookie: Option<[u8; 16]>,
    pub peer: Peer,
}

/// The text of a token that was shown, to be passed on [SPACE-52]. It is in no log.
#[derive(Clone, Default)]
pub struct Shown(Option<Arc<str>>);

impl Shown {
    pub fn of(token: &str) -> Shown {
        Shown((!token.is_empty()).then(|| token.into()))
    }

    /// "": none.
    pub fn text(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shown(..)")
    }
}

/// Whose a request is. None: the server lets nobody in who shows nothing, and this request does.
#[derive(Debug, Clone)]
pub struct Caller(pub Option<Login>);

/// The answers to tokens that are not valid, and the logins that are still coming. All of them keep
/// places of connections, so there are few of each.
pub struct Failures {
    late: Semaphore,
    coming: Semaphore,
    /// The time that the answers wait.
    wait: Duration,
}

impl Default for Failures {
    fn default() -> Self {
        Failures::answered_after(FAILED_LOGIN)
    }
}

impl Failures {
    pub fn answered_after(wait: Duration) -> Self {
        Failures {
            late: Semaphore::new(MOST_FAILING),
            coming: Semaphore::new(MOST_COMING),
            wait,
        }
    }

    /// Gives the answer when its time has come.
    async fn answer(&self, late: Response) -> Response {
        let Ok(_place) = self.late.try_acquire() else {
            return too_many();
        };
        // A sleep of no time would last until the next tick.
        if !self.wait.is_zero() {
            sleep(self.wait).await;
        }
        late
    }
}

fn too_many() -> Response {
    let text = "InterWeave: too many logins are tried; try later\n";
    let close = [(header::CONNECTION, "close")];
    (StatusCode::TOO_MANY_REQUESTS, close, text).into_response()
}

/// Reads a whole form. None: it is too long, or does not come whole.
///
/// The pieces are copied, because a piece that is kept also keeps the 8 KiB into which it was read.
/// A stranger who sends one byte at a time would cost thousands of times as much [NET-8].
async fn read_form(mut body: Body) -> Option<Vec<u8>> {
    let mut form = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        // A frame that is not data has fields behind the form.
        let Ok(piece) = frame.ok()?.into_data() else {
            continue;
        };
        if form.len() + piece.len() > MAX_BODY_BYTES {
            return None;
        }
        form.extend_from_slice(&piece);
    }
    Some(form)
}

/// Reads the token of a form. An error is the answer.
async fn token_of(asker: &Asker, request: Request) -> Result<String, Response> {
    let Ok(_place) = asker.failures.coming.try_acquire() else {
        return Err(too_many());
    };
    let form = timeout(BODY, read_form(request.into_body())).await;
    let Ok(Some(form)) = form else {
        let close = [(header::CONNECTION, "close")];
        let text = "InterWeave: a login is a form with a token\n";
        return Err((StatusCode::PAYLOAD_TOO_LARGE, close, text).into_response());
    };
    let mut fields = form_urlencoded::parse(&form);
    let token = fields.find(|(name, _)| name == "token");
    Ok(token.map_or_else(String::new, |(_, token)| token.trim().to_string()))
}

/// Finds out whose a request is. A token that is not valid is refused on every page.
pub async fn identify(
    State((door, asker)): State<(Arc<Door>, Asker)>,
    mut request: Request,
    next: Next,
) -> Response {
    let way = request.extensions().get::<Way>().cloned();
    let peer = way.unwrap_or_default().peer;
    let credentials = credentials(request.headers(), door.port, peer);
    let caller = match asker.ask(|reply| Ask::Login(credentials, reply)).await {
        None => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Some(Ok((login, shown))) => {
            request.extensions_mut().insert(shown);
            Caller(Some(login))
        }
        Some(Err(NotLetIn::ShowedNothing)) => Caller(None),
        Some(Err(NotLetIn::NotValid)) => {
            let text = "InterWeave: the token is not valid here; set another one in \
                        `Authorization: Bearer TOKEN`\n";
            return asker.failures.answer(unauthorized(text)).await;
        }
    };
    request.extensions_mut().insert(caller);
    next.run(request).await
}

/// Lets only those ask who are let in.
pub async fn needs_identity(request: Request, next: Next) -> Response {
    match request.extensions().get::<Caller>() {
        Some(Caller(Some(_))) => next.run(request).await,
        _ if request.uri().path() == "/" => to("./login").into_response(),
        _ => unauthorized(
            "InterWeave: this server lets nobody in who shows nothing: send `Authorization: \
             Bearer TOKEN`, or log in at /login\n",
        ),
    }
}

fn unauthorized(text: &'static str) -> Response {
    let wish = [(header::WWW_AUTHENTICATE, "Bearer")];
    (StatusCode::UNAUTHORIZED, wish, text).into_response()
}

/// Another page, which the browser gets with GET.
fn to(page: &'static str) -> impl IntoResponse {
    let headers = [
        (header::LOCATION, page),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (StatusCode::SEE_OTHER, headers)
}

/// Stands for a token in another form than `Bearer TOKEN`, and for several. It is not valid.
const MALFORMED: &str = "?";

fn credentials(headers: &HeaderMap, port: u16, peer: Peer) -> Credentials {
    let mut shown = headers.get_all(header::AUTHORIZATION).iter();
    let token = match (shown.next(), shown.next()) {
        (None, _) => "",
        (Some(shown), None) => bearer(shown).unwrap_or(MALFORMED),
        (Some(_), Some(_)) => MALFORMED,
    };
    Credentials {
        token: token.to_string(),
        cookie: cookie(headers, port),
        peer,
    }
}

fn bearer(shown: &HeaderValue) -> Option<&str> {
    let (scheme, token) = shown.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The cookie of a server of another port of this host has another name.
fn cookie_name(port: u16) -> String {
    format!("iw_login_{port}")
}

fn cookie(headers: &HeaderMap, port: u16) -> Option<[u8; 16]> {
    let name = cookie_name(port);
    let all = headers.get_all(header::COOKIE).iter();
    let mut all = all
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    let value = all.find_map(|one| one.trim().strip_prefix(&name)?.strip_prefix('='))?;
    let is_hex = value.len() == 32 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = u128::from_str_radix(value, 16).ok().filter(|_| is_hex)?;
    Some(value.to_be_bytes())
}

/// Makes the line that sets the cookie.
fn set_cookie(port: u16, value: &str, lasts: Duration, is_secure: bool) -> String {
    let (name, lasts) = (cookie_name(port), lasts.as_secs());
    let secure = if is_secure { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={lasts}; HttpOnly; SameSite=Strict{secure}")
}

pub async fn page() -> Response {
    viewer::login("")
}

/// POST /login, with the token in a form.
pub async fn log_in(
    State((door, asker)): State<(Arc<Door>, Asker)>,
    Extension(way): Extension<Way>,
    request: Request,
) -> Response {
    let token = match token_of(&asker, request).await {
        Ok(token) => token,
        Err(answer) => return answer,
    };
    let is_secure = way.names.is_some();
    match asker.ask(|reply| Ask::LogIn(token, way.peer, reply)).await {
        Some(Ok(value)) => {
            let value = format!("{:032x}", u128::from_be_bytes(value));
            let cookie = set_cookie(door.port, &value, LASTS, is_secure);
            ([(header::SET_COOKIE, cookie)], to("./")).into_response()
        }
        Some(Err(NotLoggedIn::RulesUnread)) => {
            let text = "This server cannot read its rules at the moment, so it lets nobody in. \
                        Log in at another server of its space, or again later.";
            let mut refused = viewer::login(text);
            *refused.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            refused
        }
        Some(Err(NotLoggedIn::NotValid)) => {
            let text = "This token is not valid here: the server does not know it, or it has \
                        expired.";
            let mut late = viewer::login(text);
            *late.status_mut() = StatusCode::FORBIDDEN;
            asker.failures.answer(late).await
        }
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// POST /logout
pub async fn log_out(
    State((door, asker)): State<(Arc<Door>, Asker)>,
    Extension(way): Extension<Way>,
    headers: HeaderMap,
) -> Response {
    if let Some(value) = cookie(&headers, door.port) {
        let _: Option<()> = asker.ask(|reply| Ask::LogOut(value, reply)).await;
    }
    let cookie = set_cookie(door.port, "", Duration::ZERO, way.names.is_some());
    ([(header::SET_COOKIE, cookie)], to("./login")).into_response()
}

impl Asker {
    /// Asks by message, and waits for the reply. None: the engine's task is gone.
    pub async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Option<T> {
        let (reply, replied) = oneshot::channel();
        // If the engine's task is gone, no reply comes.
        let _ = self.asks.send(ask(reply)).await;
        replied.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &[(header::HeaderName, &str)]) -> Credentials {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, value.parse().unwrap());
        }
        credentials(&headers, 7748, Peer::default())
    }

    fn token(lines: &[&str]) -> String {
        let lines = lines.iter().map(|line| (header::AUTHORIZATION, *line));
        shown(&lines.collect::<Vec<_>>()).token
    }

    #[test]
    fn acc_9_a_token_is_shown_once_and_as_a_bearer() {
        assert_eq!(token(&[]), "");
        assert_eq!(token(&["Bearer iw_1"]), "iw_1");
        assert_eq!(token(&["bearer  iw_1 "]), "iw_1");
        for wrong in [
            &["iw_1"][..],
            &["Basic aXdfMQ=="],
            &["Bearer"],
            &["Bearer "],
            &["Bearer a", "Bearer a"],
        ] {
            assert_eq!(token(wrong), MALFORMED, "{wrong:?}");
        }
    }

    #[test]
    fn acc_10_a_cookie_is_this_servers_own() {
        let value = "000102030405060708090a0b0c0d0e0f";
        let cookie = |line: &str| shown(&[(header::COOKIE, line)]).cookie;
        let bytes = u128::from_str_radix(value, 16).unwrap().to_be_bytes();
        assert_eq!(cookie(&format!("iw_login_7748={value}")), Some(bytes));
        assert_eq!(
            cookie(&format!("a=b; iw_login_7748={value}; c")),
            Some(bytes)
        );
        for wrong in [
            format!("iw_login_7749={value}"),
            format!("iw_login_77489={value}"),
            format!("iw_login_7748={value}0"),
            format!("iw_login_7748=+{}", &value[1..]),
            "iw_login_7748=".to_string(),
        ] {
            assert_eq!(cookie(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn acc_10_a_cookie_is_for_this_server_and_not_for_scripts() {
        let line = set_cookie(7748, "aa", Duration::from_secs(60), true);
        assert_eq!(
            line,
            "iw_login_7748=aa; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure"
        );
        assert!(!set_cookie(7748, "aa", LASTS, false).contains("Secure"));
    }
}
