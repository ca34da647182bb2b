//! What the other commands say of servers and values.

use crate::program::refused;
use crate::server::Server;

#[test]
fn a_port_of_http_is_named_as_that() {
    let server = Server::in_memory(&[]);
    let text = refused(&["show", &format!("{}/list", server.http)]);
    assert!(text.contains(&server.http.to_string()), "{text}");
    assert!(text.contains("HTTP answers there"), "{text}");
}
