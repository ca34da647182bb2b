// Accesses without a lock, told at the moment they happen: stores where the write tracker sees them
// (sigsegv), and everything with IW_LOG=locks. The lines go to stderr.
#pragma once

namespace iw::client {

void report_strays_at_once();

}  // namespace iw::client
