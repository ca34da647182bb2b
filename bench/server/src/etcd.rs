//! etcd, which syncs each change before it answers: one server, or three of which two must have
//! it. Its calls are gRPC over HTTP/2; the one that is needed is made by hand.

use crate::load::{Servers, Writer};
use crate::process::{connect, wait_for, Group, Place};
use crate::VALUE_BYTES;
use bytes::{BufMut, Bytes, BytesMut};
use h2::client::SendRequest;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

pub struct Etcd(Group);

impl Etcd {
    pub fn start(copies: usize) -> Etcd {
        let etcd = Etcd(Group::start("etcd", copies, words));
        for address in etcd.0.addresses() {
            let mut client = Client::new(*address);
            wait_for("etcd to have a leader", || {
                client.put(b"bench", b"begins").is_ok()
            });
        }
        etcd
    }
}

fn words(place: &Place) -> Vec<String> {
    let (number, client) = (place.number, place.address);
    let (peer, data) = (place.peers[number], place.folder.join("data"));
    let all = place.peers.iter().enumerate();
    let all = all.map(|(number, at)| format!("e{number}=http://{at}"));
    let all = all.collect::<Vec<_>>().join(",");
    let words = format!(
        "--name e{number} --data-dir {} --listen-client-urls http://{client} \
         --advertise-client-urls http://{client} --listen-peer-urls http://{peer} \
         --initial-advertise-peer-urls http://{peer} --initial-cluster {all} --log-level error",
        data.display()
    );
    words.split(' ').map(String::from).collect()
}

impl Servers for Etcd {
    fn writer(&self, number: usize) -> Box<dyn Writer> {
        Box::new(KeyWriter {
            key: format!("bench/{number}"),
            client: Client::new(self.0.address(number)),
        })
    }
}

struct Client {
    runtime: Runtime,
    requests: SendRequest<Bytes>,
    url: String,
}

impl Client {
    fn new(address: SocketAddr) -> Client {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let stream = connect(address);
        stream
            .set_nonblocking(true)
            .expect("a setting of the socket");
        let requests = runtime.block_on(async {
            let stream = tokio::net::TcpStream::from_std(stream).expect("a socket");
            let (requests, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
            tokio::spawn(connection);
            requests
        });
        Client {
            runtime,
            requests,
            url: format!("http://{address}/etcdserverpb.KV/Put"),
        }
    }

    /// A call that fails returns why.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), String> {
        let body = put_request(key, value);
        let request = http::Request::post(&self.url)
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())
            .expect("a request");
        let requests = self.requests.clone();
        let put = call(requests, request, body);
        let answered = self
            .runtime
            .block_on(async { tokio::time::timeout(Duration::from_secs(10), put).await });
        match answered {
            Ok(result) => result,
            Err(_) => Err("it does not answer".to_string()),
        }
    }
}

async fn call(
    requests: SendRequest<Bytes>,
    request: http::Request<()>,
    body: Bytes,
) -> Result<(), String> {
    let text = |error: h2::Error| error.to_string();
    let mut requests = requests.ready().await.map_err(text)?;
    let (answer, mut sender) = requests.send_request(request, false).map_err(text)?;
    sender.send_data(body, true).map_err(text)?;
    let answer = answer.await.map_err(text)?;
    let status = |map: &http::HeaderMap| map.get("grpc-status").map(|value| value == "0");
    if let Some(is_ok) = status(answer.headers()) {
        return if is_ok {
            Ok(())
        } else {
            Err(format!("{:?}", answer.headers()))
        };
    }
    let mut stream = answer.into_body();
    while let Some(data) = stream.data().await {
        let size = data.map_err(text)?.len();
        stream.flow_control().release_capacity(size).map_err(text)?;
    }
    let trailers = stream.trailers().await.map_err(text)?.unwrap_or_default();
    match status(&trailers) {
        Some(true) => Ok(()),
        _ => Err(format!("{trailers:?}")),
    }
}

/// PutRequest { bytes key = 1; bytes value = 2; }, after the five bytes that each message has.
fn put_request(key: &[u8], value: &[u8]) -> Bytes {
    let mut message = BytesMut::new();
    for (tag, bytes) in [(0x0a, key), (0x12, value)] {
        assert!(bytes.len() < 128, "a length of one byte");
        message.put_u8(tag);
        message.put_u8(bytes.len() as u8);
        message.put_slice(bytes);
    }
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(message.len() as u32);
    framed.put_slice(&message);
    framed.freeze()
}

struct KeyWriter {
    key: String,
    client: Client,
}

impl Writer for KeyWriter {
    fn write(&mut self, round: u64) -> Duration {
        let begun = Instant::now();
        let put = self
            .client
            .put(self.key.as_bytes(), &[round as u8; VALUE_BYTES]);
        put.expect("it is kept");
        begun.elapsed()
    }
}
