// The members of a space: number, address and memory of each node, and the links that were needed.
//
// Invariants: a number is never used again. A member that is gone stays gone. mutex_ is never held
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

  // Adds a member, unless it is known.
  void add(NodeNumber number, const fabric::Address& address, fabric::Bytes memory_key);
  // This node has the number `own`, and has heard of all present nodes with lower numbers. `deaths`
  // stands for the nodes that were gone before.
  void note_joined(NodeNumber own, std::uint64_t deaths);
  // False: the node was gone before.
  bool note_gone(NodeNumber number);
  std::optional<NodeNumber> number_of(const fabric::Address& address) const;

  // The link to a node. Connects if need be, so a handler must not call this. Returns 0 or an
  // error. An unknown number below this node's own is of a node that is gone. A higher one is
  // waited for, because a key may arrive before the news of the node that it names.
  int link(NodeNumber number, NodeLink* link) { return this->link(number, timeout_, link); }
  int link(NodeNumber number, std::chrono::milliseconds timeout, NodeLink* link);

  std::vector<NodeNumber> present() const;  // in rising order
  NodeNumber first_present() const;         // the lowest number; nodes_max: no node is present
  std::vector<NodeNumber> gone() const;     // only nodes that were known here
  NodeNumber newest() const;                // the highest number that is known; 0: none
  bool is_known(NodeNumber number) const;
  bool is_present(NodeNumber number) const;
  // An unknown number below this node's own is of a node that is gone. Of a higher one the news may
  // be under way.
  bool is_gone(NodeNumber number) const;
  std::size_t count() const;
  // Stands for the set of all nodes that are gone. Nodes that know the same deaths have the same
  // number. 0: no node is gone.
  std::uint64_t deaths() const { return deaths_.load(std::memory_order_relaxed); }

  // To be called before the worker is closed.
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
