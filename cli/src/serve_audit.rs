//! The options of `interweave serve` about the audit log.

use crate::serve::bytes_or_none;
use clap::Args;
use interweave_server::net::AuditOptions;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(next_help_heading = "Audit log")]
pub struct AuditArgs {
    /// Write who did what, and whether it was allowed, into this file: a line of JSON each
    #[arg(long = "audit", value_name = "FILE")]
    file: Option<PathBuf>,
    /// The size beyond which FILE becomes FILE.1, and so on; 0: never
    #[arg(long = "audit-bytes", value_name = "BYTES", default_value = "64M",
          value_parser = bytes_or_none, requires = "file")]
    most_bytes: u64,
    /// How many older files stay
    #[arg(long = "audit-files", value_name = "N", default_value_t = 8, requires = "file",
          value_parser = clap::value_parser!(u32).range(..=10_000))]
    keep: u32,
}

impl AuditArgs {
    /// None: the server keeps no audit log.
    pub fn options(&mut self) -> Option<AuditOptions> {
        Some(AuditOptions {
            file: self.file.take()?,
            most_bytes: match self.most_bytes {
                0 => u64::MAX,
                bytes => bytes,
            },
            keep: self.keep,
        })
    }
}
