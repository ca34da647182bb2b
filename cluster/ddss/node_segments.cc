// A node's segments: allocating and releasing them, finding them by key, and the application's
// calls on them.
#include <algorithm>

#include "ddss/name_text.h"
#include "ddss/node.h"
#include "platform/mutex.h"

namespace iw::ddss {
namespace {

// The error of a segment that was released, or whose node died.
bool is_dead(int error) { return error == DDSS_ENOKEY || error == DDSS_ENODE; }

}  // namespace

template <typename Asked, typename Answer>
int Node::ask(NodeNumber whom, Question question, const Asked& asked, Answer* answer,
              fabric::Bytes payload) {
  NodeLink link;
  const int error = members_->link(whom, &link);
  if (error != 0) return error;
  const fabric::Deadline deadline = fabric::Clock::now() + options_.timeout;
  return error_of(questions_->ask(link.peer, question, asked, answer, deadline, payload));
}

int Node::number_of(int node, NodeNumber* number) const {
  if (node < 0 || node >= nodes_max) return DDSS_EARGUMENT;
  *number = static_cast<NodeNumber>(node);
  return members_->is_present(*number) ? 0 : DDSS_ENODE;
}

int Node::place(const ddss_allocation_t& how, NodeNumber* node) {
  if (how.placement == DDSS_NODE) return number_of(how.node, node);
  *node = number();
  if (how.placement == DDSS_LOCAL) return 0;
  if (how.placement != DDSS_ROUND_ROBIN && how.placement != DDSS_REMOTE) return DDSS_EARGUMENT;
  // The order begins with the node after this one.
  auto order = members_->present();
  const auto after = std::upper_bound(order.begin(), order.end(), *node);
  std::rotate(order.begin(), after, order.end());
  if (how.placement == DDSS_REMOTE) std::erase(order, *node);
  if (order.empty()) return DDSS_ENODE;
  *node = order[next_place_++ % order.size()];
  return 0;
}

int Node::allocate(std::size_t size, ddss_model_t model, const ddss_allocation_t& how, Key* key) {
  const std::string name = how.name == nullptr ? "" : how.name;
  const bool is_fit = size > 0 && model >= DDSS_NULL && model <= DDSS_TEMPORAL &&
                      name.size() <= name_bytes_max && (how.name == nullptr || !name.empty()) &&
                      how.keep <= descriptor_keep_max;
  if (!is_fit) return DDSS_EARGUMENT;
  Descriptor wanted;
  wanted.size = size;
  wanted.model = model;
  wanted.keep = model == DDSS_DELTA ? std::max(1u, how.keep) : 0;
  wanted.temporal_ms = how.temporal_ms;
  wanted.is_named = how.name != nullptr;
  int error = place(how, &wanted.data_node);
  wanted.lock_node = wanted.data_node;
  NodeNumber home = wanted.data_node;
  if (error == 0 && how.has_lock_node != 0) error = number_of(how.lock_node, &wanted.lock_node);
  if (error == 0 && how.has_home_node != 0) error = number_of(how.home_node, &home);
  if (error != 0) return error;
  bool was_created = true;
  error = how.name == nullptr ? create(wanted, home, key)
                              : create_named(name, wanted, home, key, &was_created);
  if (error == 0 && how.was_created != nullptr) *how.was_created = was_created ? 1 : 0;
  return error;
}

int Node::create(const Descriptor& wanted, NodeNumber home, Key* key) {
  DescriptorAnswer made;
  int error = ask(home, Question::create, CreateAsked{wanted, home}, &made);
  if (error == 0) error = static_cast<int>(made.error);
  if (error != 0) return error;
  *key = made.descriptor.key;
  const bool is_all_there = wanted.data_node == home && wanted.lock_node == home;
  if (is_all_there) return 0;
  error = reserve_elsewhere(home, &made.descriptor);
  DescriptorAnswer described;
  const DescribeAsked describe{made.descriptor};
  // Also after a failure, because only a described segment can be released.
  const int failed = ask(home, Question::describe, describe, &described);
  if (error != 0) release(*key);
  return error != 0 ? error : failed != 0 ? failed : static_cast<int>(described.error);
}

// Reserves the blocks that do not lie at the segment's home.
int Node::reserve_elsewhere(NodeNumber home, Descriptor* made) {
  ReserveAnswer block{};
  if (made->data_node != home) {
    const ReserveAsked asked{made->key, data_bytes(*made)};
    int error = ask(made->data_node, Question::reserve, asked, &block);
    if (error == 0) error = static_cast<int>(block.error);
    if (error != 0) return error;
    made->data_offset = block.offset;
    if (made->lock_node == made->data_node) made->lock_offset = block.offset;
  }
  if (made->lock_node == made->data_node || made->lock_node == home) return 0;
  const int error = ask(made->lock_node, Question::reserve, ReserveAsked{made->key, 0}, &block);
  made->lock_offset = block.offset;
  return error != 0 ? error : static_cast<int>(block.error);
}

// A node that stops waiting renounces its claim. Otherwise the name could wait for it forever.
int Node::claim(const std::string& name, const Finding& found, Key* key) {
  const ClaimAsked asked{text_of_name(name), ++last_claim_, found};
  NameAnswer answer{};
  const int error = ask(0, Question::claim, asked, &answer);
  *key = answer.key;
  NodeLink founder;
  if (error == DDSS_ETIMEDOUT && members_->link(0, &founder) == 0) {
    questions_->tell(founder.peer, Question::renounce, asked);
  }
  return error;
}

int Node::decide(const std::string& name, Key key) {
  NameAnswer answer{};
  return ask(0, Question::decide, NameAsked{text_of_name(name), key}, &answer);
}

int Node::drop_name(Key key) { return decide("", key); }

int Node::create_named(const std::string& name, const Descriptor& wanted, NodeNumber home, Key* key,
                       bool* was_created) {
  Finding found;
  int error = claim(name, found, key);
  if (error == 0 && *key != 0) {
    *was_created = false;
    error = examine(*key, &found);
    if (!is_dead(error)) return error;
    error = claim(name, found, key);
  }
  if (error != 0 || *key != 0) return error;
  *was_created = true;
  error = create(wanted, home, key);
  const int decided = decide(name, error == 0 ? *key : 0);
  return error != 0 ? error : decided;
}

// Returns 0 if the segment is there. Otherwise *found tells the founder why the name is claimed
// again.
int Node::examine(Key key, Finding* found) {
  std::shared_ptr<Segment> segment;
  int error = find(key, &segment);
  if (error == 0) error = segment->check_key();
  *found = {key, Loss::released, {}};
  if (error != DDSS_ENODE) return error;
  found->loss = Loss::unreachable;
  found->lies_on.fill(home_of(key));
  Descriptor is;
  const bool is_known = segment != nullptr;
  if (is_known) is = segment->descriptor();
  if (is_known || read_descriptor(key, &is) == 0) {
    found->lies_on[1] = is.data_node;
    found->lies_on[2] = is.lock_node;
  }
  return error;
}

int Node::release(Key key) {
  forget(key);
  DescriptorAnswer released;
  int error = ask(home_of(key), Question::release, KeyAsked{key}, &released);
  if (error == 0) error = static_cast<int>(released.error);
  if (error != 0) return error;
  const Descriptor& what = released.descriptor;
  std::vector<NodeNumber> others{what.data_node};
  if (what.lock_node != what.data_node) others.push_back(what.lock_node);
  std::erase(others, home_of(key));
  for (const NodeNumber each : others) {
    DescriptorAnswer given_back;
    const int failed = ask(each, Question::release, KeyAsked{key}, &given_back);
    if (failed != 0 && failed != DDSS_ENODE) error = failed;  // a node that is gone has no block
  }
  if (what.is_named != 0) drop_name(key);
  return error;
}

std::shared_ptr<Segment> Node::known(Key key) const {
  const platform::ReaderLock held(segments_mutex_);
  const auto found = segments_.find(key);
  return found == segments_.end() ? nullptr : found->second;
}

int Node::find(Key key, std::shared_ptr<Segment>* segment) {
  *segment = known(key);
  return *segment != nullptr ? 0 : open(key, segment);
}

int Node::read_descriptor(Key key, Descriptor* found) {
  NodeLink home;
  int error = members_->link(home_of(key), &home);
  if (error == 0) error = home.get(descriptor_offset(key), found);
  if (error != 0) return error;
  return key == 0 || found->key != key || !check(*found) ? DDSS_ENOKEY : 0;  // [DDSS-KEY-5]
}

int Node::open(Key key, std::shared_ptr<Segment>* segment) {
  Descriptor found;
  int error = read_descriptor(key, &found);
  NodeLink data, lock;
  if (error == 0) error = members_->link(found.data_node, &data);
  if (error == 0) error = members_->link(found.lock_node, &lock);
  if (error != 0) return error;
  const auto fits = [](std::uint64_t offset, std::size_t bytes, const NodeLink& link) {
    const std::size_t size = link.window->size();
    return offset >= heap_begin && offset % Heap::grain == 0 && offset <= size &&
           sizeof(BlockHeader) <= size - offset && bytes <= size - offset - sizeof(BlockHeader);
  };
  const bool is_sound =
      fits(found.data_offset, data_bytes(found), data) && fits(found.lock_offset, 0, lock);
  if (!is_sound) return DDSS_ENOKEY;
  Neighbours& neighbours = *this;
  auto opened = std::make_shared<Segment>(neighbours, found, data, lock);
  const platform::WriterLock held(segments_mutex_);
  *segment = segments_.try_emplace(key, std::move(opened)).first->second;
  return 0;
}

void Node::forget(Key key) {
  const platform::WriterLock held(segments_mutex_);
  segments_.erase(key);
}

int Node::checked(Key key, int error) {
  if (is_dead(error)) forget(key);
  return error;
}

int Node::describe(Key key, ddss_description_t* description) {
  std::shared_ptr<Segment> segment;
  int error = find(key, &segment);
  if (error == 0) error = checked(key, segment->check_key());
  if (error != 0) return error;
  const Descriptor& is = segment->descriptor();
  *description = {is.size,      static_cast<ddss_model_t>(is.model),
                  home_of(key), is.data_node,
                  is.lock_node, is.data_offset};
  return 0;
}

int Node::is_onesided(Key key) {
  std::shared_ptr<Segment> segment;
  const int error = find(key, &segment);
  return error != 0 ? error : segment->is_onesided() ? 1 : 0;
}

int Node::get(Key key, std::size_t offset, std::span<std::byte> to, Which which,
              std::uint64_t* version) {
  std::shared_ptr<Segment> segment;
  const int error = find(key, &segment);
  return error != 0 ? error : checked(key, segment->get(offset, to, which, version));
}

int Node::put(Key key, std::size_t offset, std::span<const std::byte> from) {
  std::shared_ptr<Segment> segment;
  const int error = find(key, &segment);
  return error != 0 ? error : checked(key, segment->put(offset, from));
}

int Node::change(Key key, std::size_t offset, const Atomic& what, std::uint64_t* before) {
  std::shared_ptr<Segment> segment;
  const int error = find(key, &segment);
  return error != 0 ? error : checked(key, segment->change(offset, what, before));
}

int Node::barrier(Key key, int count) {
  std::shared_ptr<Segment> segment;
  const int error = find(key, &segment);
  return error != 0 ? error : checked(key, segment->barrier(count));
}

int Node::local(Key key, void** data) {
  std::shared_ptr<Segment> segment;
  int error = find(key, &segment);
  if (error == 0) error = checked(key, segment->check_key());
  if (error != 0) return error;
  const Descriptor& is = segment->descriptor();
  if (is.model == DDSS_VERSION || is.model == DDSS_DELTA) return DDSS_EMODEL;
  if (is.data_node != number()) return DDSS_ENOTLOCAL;
  *data = pool_->bytes().data() + segment->data_offset();
  return 0;
}

int Node::version(Key key, std::uint64_t* version) {
  std::shared_ptr<Segment> segment;
  const int error = find(key, &segment);
  return error != 0 ? error : checked(key, segment->newest_version(version));
}

int Node::lock(Key key, Hold hold, bool may_wait) {
  std::shared_ptr<Segment> segment;
  int error = find(key, &segment);
  if (error == 0) error = checked(key, segment->check_key());
  if (error != 0) return error;
  Lock& lock = segment->lock();
  return checked(key, may_wait ? lock.acquire(hold) : lock.try_acquire(hold));
}

int Node::unlock(Key key) {
  std::shared_ptr<Segment> segment;
  const int error = find(key, &segment);
  return error != 0 ? error : checked(key, segment->lock().release());
}

int Node::lock_word(Key key, std::uint64_t* word) {
  std::shared_ptr<Segment> segment;
  const int error = find(key, &segment);
  return error != 0 ? error : checked(key, segment->lock().word(word));
}

void Node::unlock_all() {
  std::vector<std::shared_ptr<Segment>> all;
  {
    const platform::ReaderLock held(segments_mutex_);
    for (const auto& [key, segment] : segments_) all.push_back(segment);
  }
  for (const auto& each : all) {
    if (each->lock().is_held_here()) each->lock().release();
  }
}

// Asks the node until none of its threads is busy. DDSS_ENODE: the node is gone.
int Node::survey_one(NodeNumber whom, Key key, fabric::Deadline deadline, Survey* found) {
  for (;;) {
    *found = Survey{};
    const int error = whom == number() ? 0 : ask(whom, Question::survey, KeyAsked{key}, found);
    if (error != 0) return error;
    if (whom == number()) *found = survey_here(key);
    if (found->is_busy == 0) return 0;
    if (fabric::Clock::now() > deadline) return DDSS_ETIMEDOUT;
    std::this_thread::yield();
  }
}

// A node may hold the lock before this node has heard of that node. But the founder has taken it
// in, so the founder's answer says that there is a higher number.
int Node::survey(Key key, Survey* found) {
  const fabric::Deadline deadline = fabric::Clock::now() + options_.timeout;
  const auto newest = [&] {
    return std::min<std::uint32_t>(std::max<std::uint32_t>(members_->newest(), found->newest),
                                   nodes_max - 1);
  };
  for (std::uint32_t each = 0; each <= newest(); each++) {
    const auto whom = static_cast<NodeNumber>(each);
    if (members_->is_gone(whom)) continue;
    Survey one;
    const int error = survey_one(whom, key, deadline, &one);
    if (error == 0) add(found, one);
    if (error != 0 && error != DDSS_ENODE) return error;
  }
  return 0;
}

void Node::order_recovery(Key key) {
  recoveries_.run([this, key] {
    if (const auto segment = known(key)) segment->lock().recover_as_ordered();
  });
}

int Node::store(const Descriptor& what, std::uint64_t offset, std::span<const std::byte> from) {
  StoreAnswer answer{};
  bytes_moved += from.size();
  const int error = ask(what.data_node, Question::store, StoreAsked{what, offset}, &answer, from);
  return error != 0 ? error : static_cast<int>(answer.error);
}

}  // namespace iw::ddss
