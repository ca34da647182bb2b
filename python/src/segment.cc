#include "segment.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <interweave/interface.hpp>
#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace iwpy {
namespace {

// How long the main thread waits before it looks for signals, at first and at most. Each look gives
// up the thread's place among the waiting writers.
constexpr double first_slice_s = 0.1;
constexpr double longest_slice_s = 1;
// While there is no connection: an attempt that the slice ends is begun anew, and a server answers
// a token that it does not take after a second [ACC-8].
constexpr double longest_connecting_s = 2.5;

// By handle. Only touched with the interpreter's lock.
std::map<IW_handle_t, std::unique_ptr<State>>& states() {
  static auto* const all = new std::map<IW_handle_t, std::unique_ptr<State>>;
  return *all;
}

State* state_of(IW_handle_t handle) {
  std::unique_ptr<State>& state = states()[handle];
  if (state == nullptr) {
    state = std::make_unique<State>();
    state->handle = handle;
  }
  return state.get();
}

std::vector<Holds>& all_holds() {
  thread_local std::vector<Holds> mine;
  return mine;
}

Holds& make_holds(const State* state) {
  if (Holds* const found = holds_of(state); found != nullptr) return *found;
  all_holds().push_back({state, 0, 0});
  return all_holds().back();
}

void drop_if_empty(const Holds& holds) {
  if (holds.reads > 0 || holds.writes > 0) return;
  const State* const state = holds.state;
  std::erase_if(all_holds(), [state](const Holds& one) { return one.state == state; });
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Whether an acquire may have failed with this code because its time was over.
bool is_want_of_time(int code) {
  return code == IW_ETIMED_OUT || code == IW_EUNREACHABLE || code == IW_ESTALE;
}

// The copy's state at the calling thread's last acquire under a model of the program's own.
thread_local std::optional<IW_copy_state> seen_copy;

extern "C" int see_copy(const IW_copy_state* copy, void*) {
  seen_copy = *copy;
  return 1;
}

// Signals reach Python in its main thread only, and only between two slices of a wait.
template <typename Acquire>
void acquire(double seconds, Acquire&& take) {
  const bool is_sliced = is_main_thread();
  const double deadline = now_s() + seconds;
  double slice = is_sliced ? first_slice_s : seconds;
  double longest_s = longest_slice_s;
  for (double left = seconds;;) {
    const double wait_s = std::min(slice, left);
    const double slice_end = now_s() + wait_s;
    try {
      waiting([&] { return take(wait_s); });
      return;
    } catch (const Failure& failure) {
      const double now = now_s();
      left = deadline - now;
      if (!is_want_of_time(failure.code) || now < slice_end || left <= 0) throw;
      longest_s = failure.code == IW_EUNREACHABLE ? longest_connecting_s : longest_slice_s;
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    slice = std::min(slice * 2, longest_s);
  }
}

extern "C" void changed(IW_handle_t, std::uint64_t version, void* arg) {
  const nb::gil_scoped_acquire one_runs;
  const nb::object call = static_cast<State*>(arg)->on_change;
  if (!call.is_valid() || call.is_none()) return;
  try {
    call(version);
  } catch (nb::python_error& raised) {
    raised.discard_as_unraisable("interweave: a function told of changes");
  }
}

extern "C" void connection_changed(IW_handle_t, IW_connection_t connection, void* arg) {
  const nb::gil_scoped_acquire one_runs;
  const nb::object call = static_cast<State*>(arg)->on_connection;
  if (!call.is_valid() || call.is_none()) return;
  try {
    call(static_cast<int>(connection));
  } catch (nb::python_error& raised) {
    raised.discard_as_unraisable("interweave: a function told of the connection");
  }
}

void need_open(const State* state) {
  if (state->openings.load() == 0) throw Failure{IW_ENOT_OPEN, "the segment was closed [NOT_OPEN]"};
}

}  // namespace

Holds* holds_of(const State* state) {
  for (Holds& one : all_holds()) {
    if (one.state == state) return &one;
  }
  return nullptr;
}

void need_lock(const State* state) {
  if (holds_of(state) != nullptr) return;
  need_open(state);
  throw Failure{IW_ENO_LOCK,
                "this thread holds no lock of the segment: use it inside of `with segment.read():` "
                "or `with segment.write():` [NO_LOCK]"};
}

void need_writer_lock(const State* state) {
  const Holds* const holds = holds_of(state);
  if (holds != nullptr && holds->writes > 0) return;
  need_open(state);
  throw Failure{IW_ENO_LOCK,
                "changes need the segment's writer lock: make them inside of `with "
                "segment.write():` [NO_LOCK]"};
}

void forget_holds() { all_holds().clear(); }

void end_callbacks() {
  for (const auto& [handle, state] : states()) {
    if (!state->on_change.is_valid() && !state->on_connection.is_valid()) continue;
    {
      nb::gil_scoped_release others_run;
      IW_on_change(handle, nullptr, nullptr);
      IW_on_connection(handle, nullptr, nullptr);
    }
    state->on_change.reset();
    state->on_connection.reset();
  }
}

Segment::Segment(const std::string& url, bool create, bool read_only, int durability,
                 double timeout, std::uint64_t quota, const Text& token, const Text& ca,
                 const Text& cert, const Text& key)
    : timeout_(timeout) {
  state_ = state_of(
      open_segment({url, create, read_only, durability, timeout, quota, token, ca, cert, key}));
  state_->openings.fetch_add(1);
}

Segment::~Segment() {
  if (is_closed_) return;
  count_closing();
  nb::gil_scoped_release others_run;
  IW_close_segment(state_->handle);
}

void Segment::close() {
  if (is_closed_) return;
  waiting([this] { return IW_close_segment(state_->handle); });
  is_closed_ = true;
  count_closing();
  state_->epoch.fetch_add(1);
  if (Holds* const holds = holds_of(state_); holds != nullptr) {
    // If this was the last opening, the library has given the locks back.
    double seconds = 0;
    if (IW_staleness(state_->handle, &seconds) == IW_ENOT_OPEN) {
      *holds = {state_, 0, 0};
      drop_if_empty(*holds);
    }
  }
}

// The library forgets the model with the last opening.
void Segment::count_closing() {
  if (state_->openings.fetch_sub(1) == 1) state_->model.reset();
}

IW_handle_t Segment::handle() const {
  if (is_closed_) throw Failure{IW_ENOT_OPEN, "the segment was closed [NOT_OPEN]"};
  return state_->handle;
}

nb::object Segment::acquire_read(std::optional<double> seconds, bool fresh) {
  const IW_handle_t h = handle();
  seen_copy.reset();
  const int flags = fresh ? IW_FRESH : 0;
  if (const Holds* const holds = holds_of(state_); holds == nullptr) {
    acquire(seconds.value_or(timeout_), [&](double s) { return IW_rl_acquire_for(h, s, flags); });
    state_->epoch.fetch_add(1);
  } else {
    waiting([&] { return IW_rl_acquire(h); });
  }
  ++make_holds(state_).reads;
  if (!seen_copy || fresh) return nb::none();
  return nb::make_tuple(seen_copy->version, seen_copy->newest_known, seen_copy->seconds_confirmed,
                        seen_copy->subscribed != 0);
}

void Segment::release_read() {
  const Holds* const before = holds_of(state_);
  if (before == nullptr || before->reads == 0) {
    throw Failure{IW_ENO_LOCK, "this thread holds no reader lock of the segment [NO_LOCK]"};
  }
  Holds& holds = make_holds(state_);
  --holds.reads;
  drop_if_empty(holds);
  waiting([this] { return IW_rl_release(state_->handle); });
}

void Segment::acquire_write(std::optional<double> seconds) {
  const IW_handle_t h = handle();
  acquire(seconds.value_or(timeout_), [&](double s) { return IW_wl_acquire_for(h, s); });
  state_->epoch.fetch_add(1);
  ++make_holds(state_).writes;
}

// After a failure the lock may still be held. abort_write() then gives it back in any case.
void Segment::release_write() {
  need_writer_lock(state_);
  waiting([this] { return IW_wl_release(state_->handle); });
  Holds& holds = make_holds(state_);
  if (--holds.writes == 0) state_->epoch.fetch_add(1);
  drop_if_empty(holds);
}

void Segment::abort_write() {
  need_writer_lock(state_);
  Holds& holds = make_holds(state_);
  holds.writes = 0;
  state_->epoch.fetch_add(1);
  drop_if_empty(holds);
  try {
    waiting([this] { return IW_wl_abort(state_->handle); });
  } catch (const Failure& failure) {
    if (failure.code != IW_ENO_LOCK) throw;  // a release that failed had given it back
  }
}

bool Segment::holds_lock() const { return holds_of(state_) != nullptr; }

bool Segment::holds_writer_lock() const {
  const Holds* const holds = holds_of(state_);
  return holds != nullptr && holds->writes > 0;
}

bool Segment::ends_writing_at_release() const {
  const Holds* const holds = holds_of(state_);
  return holds != nullptr && holds->writes == 1;
}

bool Segment::ends_writing_at_close() const {
  return holds_writer_lock() && state_->openings.load() == 1;
}

void Segment::set_coherence(int model, double x) {
  const IW_handle_t h = handle();
  waiting([&] { return IW_set_coherence(h, static_cast<IW_coherence_t>(model), x); });
}

void Segment::set_own_coherence() {
  const IW_handle_t h = handle();
  waiting([&] { return IW_set_coherence_fn(h, see_copy, nullptr); });
}

nb::object Segment::model() const { return state_->model.is_valid() ? state_->model : nb::none(); }

void Segment::set_model(nb::object model) { state_->model = std::move(model); }

void Segment::refresh() {
  const IW_handle_t h = handle();
  waiting([&] { return IW_refresh(h); });
}

std::uint64_t Segment::version() const { return IW_version(handle()); }

double Segment::staleness() const {
  double seconds = 0;
  const IW_handle_t h = handle();
  waiting([&] { return IW_staleness(h, &seconds); });
  return seconds;
}

nb::dict Segment::stats() const {
  IW_stats_t all{};
  all.size = sizeof all;
  const IW_handle_t h = handle();
  waiting([&] { return IW_stats(h, &all); });
  nb::dict out;
  for (const auto& [name, value] : iw::named_statistics) out[name] = all.*value;
  return out;
}

void Segment::set_on_change(nb::object call) {
  const IW_handle_t h = handle();
  const bool is_wanted = !call.is_none();
  nb::object before = std::move(state_->on_change);
  if (is_wanted) state_->on_change = std::move(call);
  State* const state = state_;
  waiting([&] { return IW_on_change(h, is_wanted ? changed : nullptr, state); });
}

void Segment::set_on_connection(nb::object call) {
  const IW_handle_t h = handle();
  const bool is_wanted = !call.is_none();
  nb::object before = std::move(state_->on_connection);
  if (is_wanted) state_->on_connection = std::move(call);
  State* const state = state_;
  waiting([&] { return IW_on_connection(h, is_wanted ? connection_changed : nullptr, state); });
}

void bind_segment(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Segment>(module, "Segment")
      .def(nb::init<const std::string&, bool, bool, int, double, std::uint64_t, const Text&,
                    const Text&, const Text&, const Text&>(),
           "url"_a, "create"_a, "read_only"_a, "durability"_a, "timeout"_a, "quota"_a,
           "token"_a.none(), "ca"_a.none(), "cert"_a.none(), "key"_a.none())
      .def("close", &Segment::close)
      .def_prop_ro("is_closed", &Segment::is_closed)
      .def_prop_ro("identity", &Segment::identity)
      .def("acquire_read", &Segment::acquire_read, "seconds"_a.none(), "fresh"_a)
      .def("release_read", &Segment::release_read)
      .def("acquire_write", &Segment::acquire_write, "seconds"_a.none())
      .def("release_write", &Segment::release_write)
      .def("abort_write", &Segment::abort_write)
      .def("holds_lock", &Segment::holds_lock)
      .def("holds_writer_lock", &Segment::holds_writer_lock)
      .def("ends_writing_at_release", &Segment::ends_writing_at_release)
      .def("ends_writing_at_close", &Segment::ends_writing_at_close)
      .def("set_coherence", &Segment::set_coherence, "model"_a, "x"_a)
      .def("set_own_coherence", &Segment::set_own_coherence)
      .def_prop_rw("model", &Segment::model, &Segment::set_model, nb::for_setter("model"_a.none()))
      .def("refresh", &Segment::refresh)
      .def("version", &Segment::version)
      .def("staleness", &Segment::staleness)
      .def("stats", &Segment::stats)
      .def("set_on_change", &Segment::set_on_change, "call"_a.none())
      .def("set_on_connection", &Segment::set_on_connection, "call"_a.none());
  module.def("this_is_main_thread", &this_is_main_thread);
  module.def("forget_holds", &forget_holds);
  module.def("end_callbacks", &end_callbacks);
}

}  // namespace iwpy
