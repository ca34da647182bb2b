// Who takes part: number, address and memory of each node, and the links to those that were needed.
//
// Invariants: numbers are never used again; a member that is gone stays so. mutex_ is never held
// during a call of the fabric that may take the worker's lock.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>

#include "ddss/layout.h"
#include "ddss/node_link.h"
#include "platform/mutex.h"

namespace iw::ddss {

class Members {
 public:
  Members(fabric::Worker& worker, std::chrono::milliseconds timeout)
      : worker_(worker), timeout_(timeout) {}

  // Nothing if it is known.
  void add(NodeNumber number, const fabric::Address& address, fabric::Bytes memory_key);
  // This node has the number `own`, and has heard of all that are present below it; `deaths` stands
  // for those that were gone before.
  void note_joined(NodeNumber own, std::uint64_t deaths);
  // False if it was gone before.
  bool note_gone(NodeNumber number);
  std::optional<NodeNumber> number_of(const fabric::Address& address) const;

  // Connects if need be, so not from a handler. 0 or an error. A number that is not known is gone
  // if it is below this node's; else it is waited for: a key may come faster than the news of the
  // node that it names.
  int link(NodeNumber number, NodeLink* link) { return this->link(number, timeout_, link); }
  int link(NodeNumber number, std::chrono::milliseconds timeout, NodeLink* link);

  std::vector<NodeNumber> present() const;  // in rising order
  NodeNumber first_present() const;         // nodes_max: nobody is
  std::vector<NodeNumber> gone() const;     // that were known here before
  NodeNumber newest() const;                // 0: none is known
  bool is_known(NodeNumber number) const;
  bool is_present(NodeNumber number) const;
  // Of a number that is not known, true if it is below this node's; else the news of the node's
  // coming may be under way.
  bool is_gone(NodeNumber number) const;
  std::size_t count() const;
  // Stands for the set of all that are gone, equal at all nodes once they have heard of them; 0:
  // none is.
  std::uint64_t deaths() const { return deaths_.load(std::memory_order_relaxed); }

  // Before the worker is closed.
  void close_links();

  struct Introduction {
    NodeNumber number;
    fabric::Address address;
    std::vector<std::byte> memory_key;
  };
  std::vector<Introduction> introductions() const;

 private:
  struct Member {
    fabric::Address address;
    std::vector<std::byte> memory_key;
    bool is_gone = false;
    std::unique_ptr<fabric::Window> window;
    fabric::PeerId peer = 0;
  };
  std::vector<NodeNumber> numbers(bool that_are_gone) const;
  int find(NodeNumber number, NodeLink* link, Introduction* introduction) const;

  fabric::Worker& worker_;
  const std::chrono::milliseconds timeout_;
  mutable platform::Mutex mutex_;
  std::map<NodeNumber, Member> members_ IW_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> deaths_{0};
  std::atomic<NodeNumber> own_{0};
};

}  // namespace iw::ddss
