// This process as a node of a space. It founds or joins the space, answers the other nodes, and
// carries out the application's calls.
//
// Handlers answer messages from memory alone. Threads of the application ask other nodes and wait.
// They hold none of the locks here meanwhile.
#pragma once

#include <set>
#include <unordered_map>

#include "ddss/backend.h"
#include "ddss/directory.h"
#include "ddss/errands.h"
#include "ddss/members.h"
#include "ddss/names.h"
#include "ddss/questions.h"
#include "ddss/segment.h"
#include "fabric/rendezvous.h"
#include "platform/mutex.h"

namespace iw::ddss {

struct NodeOptions {
  std::string join;  // empty: meet the other processes of the job, or found a space alone
  std::size_t pool_bytes = 64 << 20;
  std::chrono::milliseconds timeout{10'000};
  std::chrono::microseconds spin{20};
};

class UnderWay;

class Node final : public Backend, private Neighbours {
 public:
  // nullptr, and why in *failure.
  static std::unique_ptr<Node> open(const NodeOptions& options, Failure* failure);
  ~Node() override;

  int node() const override { return number_; }
  int nodes() override { return static_cast<int>(members_->count()); }
  int await_nodes(int count) override;
  const std::string& address() const override { return address_; }

  int allocate(std::size_t size, ddss_model_t model, const ddss_allocation_t& how,
               Key* key) override;
  int release(Key key) override;
  int describe(Key key, ddss_description_t* description) override;
  int is_onesided(Key key) override;
  int get(Key key, std::size_t offset, std::span<std::byte> to, Which which,
          std::uint64_t* version) override;
  int put(Key key, std::size_t offset, std::span<const std::byte> from) override;
  int change(Key key, std::size_t offset, const Atomic& what, std::uint64_t* before) override;
  int barrier(Key key, int count) override;
  int local(Key key, void** data) override;
  int version(Key key, std::uint64_t* version) override;
  int start_get(Key key, std::span<std::byte> to, std::unique_ptr<Operation>* started) override;
  int start_put(Key key, std::span<const std::byte> from,
                std::unique_ptr<Operation>* started) override;
  int lock(Key key, Hold hold, bool may_wait) override;
  int unlock(Key key) override;
  int lock_word(Key key, std::uint64_t* word) override;
  // Releases all locks of the calling thread.
  void unlock_all();

 private:
  friend class UnderWay;
  explicit Node(const NodeOptions& options) : options_(options) {}
  int start(std::string* why);
  int meet(std::string* why);
  int join(std::string* why);
  void found();

  // As the neighbours of a lock.
  NodeNumber number() const override { return static_cast<NodeNumber>(number_.load()); }
  std::uint64_t deaths() const override { return members_->deaths(); }
  bool is_gone(NodeNumber number) const override { return members_->is_gone(number); }
  int survey(Key key, Survey* found) override;
  void order_recovery(Key key) override;
  int store(const Descriptor& what, std::uint64_t offset, std::span<const std::byte> from) override;

  // Answers.
  void serve(Question question, fabric::Bytes asked, fabric::Bytes payload, Caller caller);
  void serve_join(fabric::Bytes asked, fabric::Bytes payload, Caller caller);
  Survey survey_here(Key key);
  int survey_one(NodeNumber whom, Key key, fabric::Deadline deadline, Survey* found);

  // The members (node_members.cc). All but the last two run in handlers, or as if in one.
  void hear_of_members();
  template <void (Node::*take)(const fabric::Message&)>
  void hear(fabric::MessageId id);
  void introduce(fabric::PeerId to, const Members::Introduction& whom);
  void introduce_to_all(const Members::Introduction& whom);
  bool is_from_member(const fabric::Message& message) const;
  void take_member(const fabric::Message& message);
  void take_gone(const fabric::Message& message);
  void take_report(const fabric::Message& message);
  void note_death(fabric::PeerId peer);
  void note_gone(NodeNumber number);
  void tell_gone(fabric::PeerId to, NodeNumber number);
  void tell_all_gone(fabric::PeerId to);
  void greet(NodeNumber whom, fabric::PeerId peer);
  std::vector<NodeNumber> unmet() const;
  void meet_after_loss();
  void meet(NodeNumber whom);

  // Questions.
  template <typename Asked, typename Answer>
  int ask(NodeNumber whom, Question question, const Asked& asked, Answer* answer,
          fabric::Bytes payload = {});
  int create(const Descriptor& wanted, NodeNumber home, Key* key);
  int reserve_elsewhere(NodeNumber home, Descriptor* made);
  int claim(const std::string& name, const Finding& found, Key* key);
  int decide(const std::string& name, Key key);
  int drop_name(Key key);
  int create_named(const std::string& name, const Descriptor& wanted, NodeNumber home, Key* key,
                   bool* was_created);
  int examine(Key key, Finding* found);
  int place(const ddss_allocation_t& how, NodeNumber* node);
  int number_of(int node, NodeNumber* number) const;

  std::shared_ptr<Segment> known(Key key) const;
  int find(Key key, std::shared_ptr<Segment>* segment);
  int open(Key key, std::shared_ptr<Segment>* segment);
  int read_descriptor(Key key, Descriptor* found);
  int checked(Key key, int error);
  void forget(Key key);
  void abandon_operations();

  const NodeOptions options_;
  std::unique_ptr<fabric::Rendezvous> rendezvous_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::unique_ptr<fabric::Memory> pool_;
  std::unique_ptr<fabric::Worker> worker_;
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<Names> names_;
  std::unique_ptr<Members> members_;  // its windows go before the worker
  std::unique_ptr<Questions> questions_;
  std::string address_;
  std::atomic<int> number_{-1};
  fabric::Address founder_;
  // These three are used in handlers only.
  int next_number_ = 1;  // that the founder gives
  // The nodes that this one tells of members that come and go, and the node that tells this one.
  std::map<NodeNumber, fabric::PeerId> listeners_;
  NodeNumber listens_to_ = 0;
  std::atomic<bool> is_leaving_{false};
  std::atomic<unsigned> next_place_{0};
  std::atomic<std::uint64_t> last_claim_{0};

  mutable platform::SharedMutex segments_mutex_;
  std::unordered_map<Key, std::shared_ptr<Segment>> segments_ IW_GUARDED_BY(segments_mutex_);

  platform::Mutex under_way_mutex_;
  // Operations that were started, until they are waited for.
  std::set<UnderWay*> under_way_ IW_GUARDED_BY(under_way_mutex_);

  Errands recoveries_, meetings_;
};

}  // namespace iw::ddss
