// The calls of <interweave/ddss.h>, as this process carries them out: it is a node itself (node.h),
// or uses the daemon of its machine (client.h). All calls return 0 or an error. Any thread may make
// them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ddss/layout.h"
#include "interweave/ddss.h"

namespace iw::ddss {

// An atomic change of a word: `value` is added, or replaces `expected`.
struct Atomic {
  bool is_swap = false;
  std::uint64_t value = 0;
  std::uint64_t expected = 0;
};

// Why a backend could not be opened. `why` is for people, and empty if the error says all that is
// known.
struct Failure {
  int error = 0;
  std::string why;
};

class Operation {
 public:
  virtual ~Operation() = default;
  virtual int wait() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual int node() const = 0;
  virtual int nodes() = 0;
  virtual int await_nodes(int count) = 0;
  virtual const std::string& address() const = 0;

  virtual int allocate(std::size_t size, ddss_model_t model, const ddss_allocation_t& how,
                       Key* key) = 0;
  virtual int release(Key key) = 0;
  virtual int describe(Key key, ddss_description_t* description) = 0;
  virtual int is_onesided(Key key) = 0;

  // `version` is used with if_newer and exactly. With current it may be nullptr.
  virtual int get(Key key, std::size_t offset, std::span<std::byte> to, Which which,
                  std::uint64_t* version) = 0;
  virtual int put(Key key, std::size_t offset, std::span<const std::byte> from) = 0;
  virtual int change(Key key, std::size_t offset, const Atomic& what, std::uint64_t* before) = 0;
  virtual int barrier(Key key, int count) = 0;
  virtual int local(Key key, void** data) = 0;
  virtual int version(Key key, std::uint64_t* version) = 0;
  virtual int start_get(Key key, std::span<std::byte> to, std::unique_ptr<Operation>* started) = 0;
  virtual int start_put(Key key, std::span<const std::byte> from,
                        std::unique_ptr<Operation>* started) = 0;

  virtual int lock(Key key, Hold hold, bool may_wait) = 0;
  virtual int unlock(Key key) = 0;
  virtual int lock_word(Key key, std::uint64_t* word) = 0;
};

}  // namespace iw::ddss
