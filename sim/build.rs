//! With the feature `native`: links the client's engine in C++ (native/sim). make/sim.sh builds it
//! before, and names its folder.

use std::env;

/// The rooms, each before those that it needs.
const ROOMS: [&str; 6] = [
    "sim",
    "session",
    "coherence",
    "types",
    "protocol",
    "platform",
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=IW_SIM_ENGINE");
    if env::var_os("CARGO_FEATURE_NATIVE").is_none() {
        return;
    }
    let built = env::var("IW_SIM_ENGINE")
        .expect("IW_SIM_ENGINE names the build folder of native/; make/sim.sh builds and names it");
    for room in ROOMS {
        println!("cargo:rustc-link-search=native={built}/{room}");
        println!("cargo:rustc-link-lib=static=iw_{room}");
        println!("cargo:rerun-if-changed={built}/{room}/libiw_{room}.a");
    }
    println!("cargo:rustc-link-lib=stdc++");
}
