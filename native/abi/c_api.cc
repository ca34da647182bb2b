// The C functions of <interweave.h>: arguments checked, failures recorded for the calling thread.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>

#include "abi/thread_error.h"
#include "client/credentials.h"
#include "client/log.h"
#include "client/runtime.h"
#include "client/segment.h"
#include "interweave.h"
#include "memory/address_map.h"
#include "swizzle/stub_arena.h"
#include "types/mip.h"
#include "types/navigation.h"
#include "types/reflection.h"
#include "types/registry.h"

using iw::abi::error_code;
using iw::abi::fail;
using iw::abi::fail_null;
using iw::abi::Result;
using iw::client::Runtime;
using iw::client::Wish;

// What IW_pin gives.
struct IW_pin_state {
  iw::client::Pin pin;
};

namespace {

// No exception leaves the library: what may be thrown is the lack of memory.
template <typename Call>
int guarded(IW_handle_t h, Call&& call) noexcept {
  try {
    if (h == nullptr) return fail({error_code::NOT_OPEN, "the handle is NULL"});
    const iw::client::CallOn call_on(*h);
    if (const Result usable = call_on.check_usable(); !usable) return fail(usable, h->name());
    return iw::abi::finish(call(), h->name());
  } catch (const std::bad_alloc&) {
    return h == nullptr ? fail(Result::no_memory()) : fail(Result::no_memory(), h->name());
  }
}

template <typename Call>
void* guarded_pointer(IW_handle_t h, Call&& call) noexcept {
  void* out = nullptr;
  const int code = guarded(h, [&] { return call(out); });
  return code == 0 ? out : nullptr;
}

// Freed by the caller.
char* text_for_caller(const std::string& text) {
  auto* const out = static_cast<char*>(std::malloc(text.size() + 1));
  if (out == nullptr) throw std::bad_alloc();
  std::memcpy(out, text.c_str(), text.size() + 1);
  return out;
}

Result read_options(const IW_open_options* given, IW_open_options& options,
                    iw::client::OpenWish& wish) {
  options = {};
  options.flags = IW_CREATE;
  if (given != nullptr) {
    if (given->size < offsetof(IW_open_options, durability)) {
      return {error_code::BAD_ARGUMENT, "IW_open_options.size must be sizeof(IW_open_options)"};
    }
    std::memcpy(&options, given, std::min(given->size, sizeof options));
  }
  if ((options.flags & ~static_cast<unsigned>(IW_CREATE | IW_READ_ONLY)) != 0) {
    return {error_code::BAD_ARGUMENT, "IW_open_options.flags has bits that mean nothing"};
  }
  if (options.durability < 0 || options.durability > IW_SYNCED) {
    return {error_code::BAD_ARGUMENT,
            "IW_open_options.durability is not one of IW_MEMORY, "
            "IW_WRITTEN, IW_SYNCED"};
  }
  if (!(options.timeout >= 0)) {
    return {error_code::BAD_ARGUMENT, "IW_open_options.timeout is negative"};
  }
  wish.create = (options.flags & IW_CREATE) != 0;
  wish.read_only = (options.flags & IW_READ_ONLY) != 0;
  wish.durable = static_cast<iw::protocol::durability>(
      options.durability == 0 ? IW_SYNCED : options.durability);
  wish.quota_bytes = options.quota;
  if (options.timeout > 0) wish.timeout_s = options.timeout;
  return {};
}

// Whether an array of this shape lies in one block from `p` on.
Result check_extents(const void* p, std::size_t element_bytes,
                     std::span<const std::int64_t> extents) {
  iw::memory::FoundBlock found;
  if (!iw::memory::find_block(p, found)) {
    return {error_code::BAD_POINTER, "the address is in no block of an open segment"};
  }
  const std::uint64_t here_bytes = found.block.size_bytes - found.offset_bytes;
  std::uint64_t needed_bytes = element_bytes;
  bool is_good = true;
  std::string shape;
  for (const std::int64_t extent : extents) {
    shape += (shape.empty() ? "" : " x ") + std::to_string(extent);
    is_good = is_good && extent >= 0;
    const auto times = static_cast<std::uint64_t>(extent);
    // Beyond what any block has it does not matter by how much.
    const bool is_huge = times > 0 && needed_bytes > UINT64_MAX / times;
    needed_bytes = is_huge ? UINT64_MAX : needed_bytes * times;
  }
  if (is_good && needed_bytes <= here_bytes) return {};
  return {error_code::BAD_ARGUMENT,
          "an array of " + shape + " elements of " + std::to_string(element_bytes) +
              " bytes does not fit: block " + std::to_string(found.block.serial) + " has " +
              std::to_string(here_bytes) + " bytes from the address on"};
}

iw::coherence::Model model_of(IW_coherence_t model) {
  return static_cast<iw::coherence::Model>(model);
}
static_assert(static_cast<int>(iw::coherence::Model::FULL) == IW_FULL);
static_assert(static_cast<int>(iw::coherence::Model::STRICT) == IW_STRICT);
static_assert(static_cast<int>(iw::coherence::Model::NULL_COHERENCE) == IW_NULL);
static_assert(static_cast<int>(iw::coherence::Model::DELTA) == IW_DELTA);
static_assert(static_cast<int>(iw::coherence::Model::TEMPORAL) == IW_TEMPORAL);
static_assert(static_cast<int>(iw::coherence::Model::DIFF) == IW_DIFF);
static_assert(static_cast<int>(iw::protocol::durability::SYNCED) == IW_SYNCED);

}  // namespace

extern "C" {

IW_handle_t IW_open_segment(const char* url) { return IW_open_segment_with(url, nullptr); }

IW_handle_t IW_open_segment_with(const char* url, const IW_open_options* given) {
  try {
    if (url == nullptr) return fail_null({error_code::BAD_URL, "the URL is NULL"});
    iw::types::Url parsed;
    if (const Result result = iw::types::parse_url(url, parsed); !result) {
      return fail_null(result);
    }
    IW_open_options options;
    iw::client::OpenWish wish;
    if (const Result result = read_options(given, options, wish); !result) {
      return fail_null(result, url);
    }
    Runtime* runtime = nullptr;
    IW_handle_t opened = nullptr;
    Result result = Runtime::get(runtime);
    const iw::client::Credentials credentials(options.token, options.ca, options.cert, options.key);
    if (result) result = credentials.check();
    if (result) result = runtime->open(parsed, credentials, wish, opened);
    return result.ok() ? opened : fail_null(result, parsed.text());
  } catch (const std::bad_alloc&) {
    return fail_null(Result::no_memory());
  }
}

int IW_close_segment(IW_handle_t h) {
  const int code = guarded(h, [h] { return (*h)->close(); });
  if (code == 0) h->runtime().closed(*h);
  return code;
}

uint64_t IW_version(IW_handle_t h) {
  uint64_t version = 0;
  (void)guarded(h, [&] {
    version = (*h)->version();
    return Result{};
  });
  return version;
}

int IW_rl_acquire(IW_handle_t h) {
  return guarded(h, [h] { return (*h)->acquire_reader((*h)->wish_for(-1)); });
}

int IW_rl_acquire_for(IW_handle_t h, double seconds, int flags) {
  return guarded(h, [=]() -> Result {
    if (!(seconds >= 0) || (flags & ~IW_FRESH) != 0) {
      return {error_code::BAD_ARGUMENT, "seconds is negative, or flags has bits that mean nothing"};
    }
    return (*h)->acquire_reader((*h)->wish_for(seconds, (flags & IW_FRESH) != 0));
  });
}

int IW_rl_release(IW_handle_t h) {
  return guarded(h, [h] { return (*h)->release_reader(); });
}

int IW_wl_acquire(IW_handle_t h) {
  return guarded(h, [h] { return (*h)->acquire_writer((*h)->wish_for(-1)); });
}

int IW_wl_acquire_for(IW_handle_t h, double seconds) {
  return guarded(h, [=]() -> Result {
    if (!(seconds >= 0)) return {error_code::BAD_ARGUMENT, "seconds is negative"};
    return (*h)->acquire_writer((*h)->wish_for(seconds));
  });
}

int IW_wl_release(IW_handle_t h) {
  return guarded(h, [h] { return (*h)->release_writer(); });
}

int IW_wl_abort(IW_handle_t h) {
  return guarded(h, [h] { return (*h)->abort_writer(); });
}

int IW_set_coherence(IW_handle_t h, IW_coherence_t model, double x) {
  return guarded(h, [=]() -> Result {
    if (model < IW_FULL || model > IW_DIFF) {
      return {error_code::BAD_ARGUMENT,
              "this number is not a coherence model; IW_FULL to IW_DIFF are"};
    }
    const bool needs_x = model == IW_DELTA || model == IW_TEMPORAL || model == IW_DIFF;
    if (needs_x && !(x >= 0)) {
      return {error_code::BAD_ARGUMENT,
              "the bound x of the coherence model is negative or not a number"};
    }
    if (model == IW_DIFF && x > 100) {
      return {error_code::BAD_ARGUMENT,
              "the bound x of Diff coherence is more than 100; it is a percentage"};
    }
    constexpr double longest_s = 1e9;  // some 30 years: as nanoseconds it is a number, too
    const double bound = model == IW_TEMPORAL ? std::min(x, longest_s) : x;
    (*h)->set_bound({model_of(model), needs_x ? bound : 0});
    return {};
  });
}

int IW_set_coherence_fn(IW_handle_t h, IW_recent_fn f, void* arg) {
  return guarded(h, [=] {
    (*h)->set_recent_fn(f, arg);
    return Result{};
  });
}

int IW_refresh(IW_handle_t h) {
  return guarded(h, [h] { return (*h)->refresh(); });
}

int IW_staleness(IW_handle_t h, double* seconds) {
  return guarded(h, [=]() -> Result {
    if (seconds == nullptr) return {error_code::BAD_ARGUMENT, "seconds is NULL"};
    return (*h)->staleness(*seconds);
  });
}

void* IW_malloc(IW_handle_t h, IW_type_t t) { return IW_malloc_array(h, t, 1, nullptr); }

void* IW_malloc_named(IW_handle_t h, IW_type_t t, const char* name) {
  return IW_malloc_array(h, t, 1, name);
}

void* IW_malloc_array(IW_handle_t h, IW_type_t t, size_t count, const char* name) {
  return guarded_pointer(h, [=](void*& out) { return (*h)->allocate(t, count, name, out); });
}

int IW_wl_drop(IW_handle_t h) {
  return guarded(h, [=] { return (*h)->drop_writer(); });
}

void* IW_find(IW_handle_t h, const char* name) {
  return guarded_pointer(h, [=](void*& out) { return (*h)->find(name, out); });
}

void* IW_find_or_malloc(IW_handle_t h, IW_type_t t, const char* name) {
  return IW_find_or_malloc_array(h, t, 1, name);
}

void* IW_find_or_malloc_array(IW_handle_t h, IW_type_t t, size_t count, const char* name) {
  return guarded_pointer(h,
                         [=](void*& out) { return (*h)->find_or_allocate(t, count, name, out); });
}

int IW_free(IW_handle_t h, void* block) {
  return guarded(h, [=] { return (*h)->free_block(block); });
}

int IW_assign(IW_handle_t h, void* field, const void* src, size_t count) {
  return guarded(h, [=] { return (*h)->assign(field, src, count); });
}

void* IW_next_block(IW_handle_t h, const void* after) {
  return guarded_pointer(h, [=](void*& out) { return (*h)->next_block(after, out); });
}

int IW_describe_block(IW_handle_t h, const void* p, IW_block_t* out) {
  return guarded(h, [=]() -> Result {
    if (out == nullptr || out->size < offsetof(IW_block_t, name)) {
      return {error_code::BAD_ARGUMENT, "IW_block_t.size must be sizeof(IW_block_t)"};
    }
    IW_block_t found{};
    Result result = (*h)->describe_block(p, found);
    if (!result) return result;
    // A program that was compiled with a newer header asks for more members than there are.
    found.size = std::min(out->size, sizeof found);
    std::memcpy(out, &found, found.size);
    return result;
  });
}

int IW_check_extents(const void* p, size_t element_bytes, const int64_t* extents, int rank) {
  try {
    if (element_bytes == 0 || extents == nullptr || rank < 1) {
      return fail({error_code::BAD_ARGUMENT, "an array has elements, and at least one extent"});
    }
    const Result fits = check_extents(p, element_bytes, {extents, static_cast<std::size_t>(rank)});
    return fits ? 0 : fail(fits);
  } catch (const std::bad_alloc&) {
    return fail(Result::no_memory());
  }
}

IW_pin_t IW_pin(IW_handle_t h, const void* p) {
  std::unique_ptr<IW_pin_state> made;
  const int code = guarded(h, [&] {
    made = std::make_unique<IW_pin_state>();
    return (*h)->pin(p, made->pin);
  });
  return code == 0 ? made.release() : nullptr;
}

void IW_unpin(IW_pin_t pin) {
  if (pin == nullptr) return;
  pin->pin.heap->unpin(pin->pin.subsegment);
  delete pin;
}

IW_type_t IW_laid_out(IW_type_t type) {
  try {
    Result why = iw::copy::check_optimisations();  // types are compiled as it says
    if (!why.ok()) return (void)fail(why), nullptr;
    const IW_type_t table = iw::types::laid_out(type, why);
    if (table == nullptr) (void)fail(why);
    return table;
  } catch (const std::bad_alloc&) {
    (void)fail(Result::no_memory());
    return nullptr;
  }
}

IW_mip_t IW_ptr_to_mip(const void* p) {
  try {
    // A pointer whose block is not here keeps its MIP.
    iw::swizzle::StubTarget stub;
    if (iw::swizzle::StubArena::program().find(p, stub)) {
      return text_for_caller(iw::types::mip_text(stub.url, stub.serial, stub.unit));
    }
    iw::memory::FoundBlock found;
    iw::types::Url url;
    if (!iw::memory::find_block(p, found) || !iw::memory::find_segment(p, url)) {
      return fail_null({error_code::BAD_POINTER, "the address is in no block of an open segment"});
    }
    const iw::memory::Block& block = found.block;
    const iw::types::UnitAt at =
        iw::types::unit_of_byte(*block.type, block.count, found.offset_bytes);
    if (!at.exact) {
      return fail_null(
          {error_code::BAD_POINTER, "the address is inside of a unit of " + block.type->spelled() +
                                        "; only the beginnings of units have MIPs, and strings "
                                        "and unions are one unit each"});
    }
    return text_for_caller(iw::types::mip_text(url, block.serial, at.unit));
  } catch (const std::bad_alloc&) {
    return fail_null(Result::no_memory());
  }
}

void IW_mip_free(IW_mip_t mip) { std::free(mip); }

void* IW_mip_to_ptr(const char* text) {
  try {
    if (text == nullptr) return fail_null({error_code::BAD_URL, "the MIP is NULL"});
    iw::types::Mip mip;
    if (const Result parsed = iw::types::parse_mip(text, mip); !parsed) return fail_null(parsed);
    Runtime* runtime = nullptr;
    void* out = nullptr;
    Result result = Runtime::get(runtime);
    if (result) result = runtime->place_of(mip, out);
    return result.ok() ? out : fail_null(result, text);
  } catch (const std::bad_alloc&) {
    return fail_null(Result::no_memory());
  }
}

int IW_on_change(IW_handle_t h, IW_change_fn f, void* arg) {
  return guarded(h, [=] {
    const Result ready = f == nullptr ? Result{} : h->runtime().prepare_callbacks();
    if (ready) (*h)->set_change_fn(f, arg);
    return ready;
  });
}

int IW_on_connection(IW_handle_t h, IW_connection_fn f, void* arg) {
  return guarded(h, [=] {
    const Result ready = f == nullptr ? Result{} : h->runtime().prepare_callbacks();
    if (ready) (*h)->set_connection_fn(f, arg);
    return ready;
  });
}

int IW_event_fd(void) {
  try {
    Runtime* runtime = nullptr;
    int fd = -1;
    Result result = Runtime::get(runtime);
    if (result) result = runtime->event_fd(fd);
    return result.ok() ? fd : fail(result);
  } catch (const std::bad_alloc&) {
    return fail(Result::no_memory());
  }
}

int IW_dispatch(void) {
  try {
    Runtime* runtime = nullptr;
    const Result begun = Runtime::get(runtime);
    if (!begun) return fail(begun);
    runtime->dispatch();
    return 0;
  } catch (const std::bad_alloc&) {
    return fail(Result::no_memory());
  }
}

int IW_stats(IW_handle_t h, IW_stats_t* out) {
  return guarded(h, [=]() -> Result {
    if (out == nullptr || out->size < sizeof out->size) {
      return {error_code::BAD_ARGUMENT, "IW_stats_t.size must be sizeof(IW_stats_t)"};
    }
    IW_stats_t all{};
    (*h)->fill_stats(all);
    all.size = std::min(out->size, sizeof all);
    std::memcpy(out, &all, all.size);
    return {};
  });
}

void IW_set_log(IW_log_fn f, void* arg) { iw::client::set_log(f, arg); }

int IW_errno(void) { return iw::abi::last_code(); }

const char* IW_strerror(void) { return iw::abi::last_text(); }

}  // extern "C"
