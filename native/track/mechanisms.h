// The mechanisms, for recommended.cc. Each makes its tracker, or says why this machine cannot have
// it. The self-test finds out whether it works.
#pragma once

#include <memory>

#include "track/cow_tracker.h"
#include "track/mapped_area.h"
#include "track/tracker.h"

namespace iw::track {

Status make_wp_async(std::unique_ptr<Tracker>& out);
Status make_scan(std::unique_ptr<Tracker>& out);
Status make_sigsegv(std::unique_ptr<Tracker>& out);
Status make_compare(std::unique_ptr<Tracker>& out);

// The same for all mechanisms. `reports_stores`: a stray store is to be reported before it ends
// the process.
std::unique_ptr<Area> create_read_only(const AreaRequest& request, bool reports_stores,
                                       Status& status);

// Does what a session does, on a few pages of a new area, and compares.
Status self_test(Tracker& tracker);

}  // namespace iw::track
