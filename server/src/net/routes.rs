//! The pages of HTTP, and what each of them needs [ACC-11].
//!
//! The router (http.rs) and the test that asks for each page in each situation
//! (cli/tests/serve/routes.rs) are made from this one list. So a page has a need, and is tested.

/// What a page needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing. The page does not look at who asks.
    Nothing,
    /// Nothing. The page looks at who asks, so a token that is not valid is refused.
    Identity,
    /// To be let in, as at HELLO.
    LetIn,
    /// The operation `metrics`.
    Metrics,
}

macro_rules! routes {
    ($($name:ident: $method:ident $path:literal needs $need:ident,)*) => {
        /// A page, and how it is asked for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Route {
            $($name,)*
        }

        impl Route {
            pub const ALL: &'static [Route] = &[$(Route::$name,)*];

            /// `GET` or `POST`.
            pub fn method(self) -> &'static str {
                match self {
                    $(Route::$name => stringify!($method),)*
                }
            }

            pub fn path(self) -> &'static str {
                match self {
                    $(Route::$name => $path,)*
                }
            }

            pub fn need(self) -> Need {
                match self {
                    $(Route::$name => Need::$need,)*
                }
            }
        }
    };
}

routes! {
    Viewer: GET "/" needs LetIn,
    Script: GET "/viewer.js" needs LetIn,
    Style: GET "/viewer.css" needs Nothing,
    Status: GET "/status" needs LetIn,
    Metrics: GET "/metrics" needs Metrics,
    Health: GET "/healthz" needs Identity,
    Ready: GET "/readyz" needs Nothing,
    WebSocket: GET "/ws" needs Identity,
    LoginPage: GET "/login" needs Nothing,
    LoginScript: GET "/login.js" needs Nothing,
    LogIn: POST "/login" needs Nothing,
    LogOut: POST "/logout" needs Nothing,
}
