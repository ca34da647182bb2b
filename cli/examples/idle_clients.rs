//! Measures what idle clients cost a server, and the longest pause of a server that does nothing.
//!
//!   idle_clients HOST:PORT SERVER_PID CLIENTS SECONDS
//!
//! Prints the server's resident memory before and after CLIENTS connections have said hello, and
//! the difference for each. Afterwards one of them asks for a list of no segments again and again
//! for SECONDS, while the others are silent. Prints the time of an answer in microseconds: p50,
//! p99, p99.9 and the longest. SECONDS must be shorter than the server's lease.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use interweave_server::client::{Client, Greeting};
use interweave_wire::mip::Address;

fn resident_kib(pid: &str) -> Result<u64, String> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let line = text.lines().find(|line| line.starts_with("VmRSS"));
    let word = line.and_then(|line| line.split_whitespace().nth(1));
    let number = word.and_then(|word| word.parse().ok());
    number.ok_or(format!("{path} has no VmRSS"))
}

/// Asks until the time is over. Returns the times of the answers in order.
fn ask(client: &mut Client, time: Duration) -> Result<Vec<Duration>, String> {
    let begun = Instant::now();
    let mut times = Vec::new();
    while begun.elapsed() < time {
        let asked = Instant::now();
        let listed = client.list("/no segment has this path");
        listed.map_err(|error| error.to_string())?;
        times.push(asked.elapsed());
        std::thread::sleep(Duration::from_micros(50));
    }
    times.sort_unstable();
    Ok(times)
}

fn measure(address: &str, pid: &str, count: usize, seconds: u64) -> Result<(), String> {
    let (host, port) = address.rsplit_once(':').ok_or("HOST:PORT is missing")?;
    let address = Address::Tcp {
        host: host.to_string(),
        port: port.parse().map_err(|_| "PORT is not a number")?,
        secure: false,
    };
    let connect = || Client::connect(&address, Greeting::default());
    let mut first = connect().map_err(|error| error.to_string())?;
    let before = resident_kib(pid)?;
    let mut others = Vec::with_capacity(count);
    for number in 0..count {
        let client = connect().map_err(|error| format!("client {number}: {error}"))?;
        others.push(client);
        first
            .list("/no segment has this path")
            .map_err(|error| error.to_string())?;
    }
    let after = resident_kib(pid)?;
    println!("resident_before_kib {before}");
    println!("resident_after_kib {after}");
    if count > 0 {
        let each = (after as f64 - before as f64) / count as f64;
        println!("kib_a_client {each:.2}");
    }
    let times = ask(&mut first, Duration::from_secs(seconds))?;
    let at = |part: f64| {
        let index = (part * (times.len() - 1) as f64) as usize;
        times[index].as_secs_f64() * 1e6
    };
    for (name, part) in [
        ("p50", 0.5),
        ("p99", 0.99),
        ("p999", 0.999),
        ("longest", 1.0),
    ] {
        println!("answer_{name}_us {:.0}", at(part));
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let measured = match words[..] {
        [address, pid, count, seconds] => match (count.parse(), seconds.parse()) {
            (Ok(count), Ok(seconds)) => measure(address, pid, count, seconds),
            _ => Err("CLIENTS and SECONDS are numbers".to_string()),
        },
        _ => Err("idle_clients HOST:PORT SERVER_PID CLIENTS SECONDS".to_string()),
    };
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("idle_clients: {text}");
            ExitCode::FAILURE
        }
    }
}
