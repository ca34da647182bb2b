// A bundle: a worker of the fabric, its endpoints, and their connections.
//
// A connection joins an endpoint of this bundle with an endpoint elsewhere. It keeps copies of the
// messages that may have to come back: each unanswered request in a slot of its window, and each
// reply that the other end has not acknowledged. Every message to the other end says how many
// replies its sender has handled. So a steady exchange needs no acknowledgements of its own.
//
// A connection that has ended makes room for another when nothing points to it any more. Its place
// then gets another id, so that late messages to the ended connection are dropped.
//
// Invariants:
// - Everything here is touched inside an Exclusion of the worker, or in its handlers.
// - A request has a slot from its sending to its reply or return. So a connection with r slots
//   keeps copies of at most r requests and r replies on each side.
// - A record returns to the stock when the transport is done with it and it is released.
// - Arrivals keep their order. While one waits for the program, later ones wait behind it.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "am/record.h"
#include "am/wire.h"
#include "fabric/fabric.h"
#include "interweave/am.h"

namespace iw::am {

class Bundle;
struct Connection;

inline constexpr int translations_max = 65536;
// A connection's id has its place in the lower bits and the place's generation above. A bundle has
// at most connections_max connections at a time.
inline constexpr int place_bits = 16;
inline constexpr std::size_t connections_max = 1 << place_bits;
inline constexpr fabric::PeerId no_peer = ~fabric::PeerId{0};

enum class ConnectionState : std::uint8_t { mapping, open, dead };

struct Connection {
  iw_am_endpoint* endpoint = nullptr;  // nullptr: it was freed
  fabric::PeerId peer = 0;
  fabric::Address address;  // the peer's
  std::uint32_t own_id = 0, id_there = 0, endpoint_here = 0, endpoint_there = 0;
  ConnectionState state = ConnectionState::mapping;
  int pins = 0;  // by translations, arrivals and callers that keep it outside an Exclusion
  std::vector<Record*> slots;
  std::vector<std::uint16_t> free_slots;
  RecordQueue unacknowledged;  // replies
  std::uint32_t replies_acknowledged = 0, replies_handled = 0, replies_handled_said = 0;
  std::uint32_t replies_asked_about = 0;  // replies_sent() when ask_handled was sent last
  bool is_listed = false;                 // in the bundle's unsaid_
  std::uint32_t replies_sent() const {
    return replies_acknowledged + static_cast<std::uint32_t>(unacknowledged.size());
  }
  bool has_outstanding() const { return free_slots.size() < slots.size(); }
  bool has_unsaid() const { return replies_handled_said != replies_handled; }
};

struct Translation {
  Connection* connection = nullptr;  // nullptr: free
  en_t name{};
  tag_t tag = AM_NONE;
};

// A handler's token points to this.
struct Token {
  Connection* connection;
  iw_am_endpoint* endpoint;
  std::uint64_t tag;
  std::uint16_t slot;
  bool may_reply;
};

// Whether this thread is in a handler of any bundle.
extern constinit thread_local int handlers_running;
inline bool in_any_handler() { return handlers_running > 0; }

en_t name_of(const fabric::Address& address, std::uint32_t endpoint);
bool parse(const en_t& name, fabric::Address* address, std::uint32_t* endpoint);

}  // namespace iw::am

struct iw_am_endpoint {
  iw::am::Bundle* bundle = nullptr;
  std::uint32_t number = 0;
  tag_t tag = AM_NONE;
  std::vector<am_handler_fn> handlers = std::vector<am_handler_fn>(256);
  std::vector<iw::am::Translation> translations = std::vector<iw::am::Translation>(256);
  std::byte* segment = nullptr;
  std::size_t segment_bytes = 0;
  int outstanding_max = 0;  // 0 until AM_SetExpectedResources
  bool was_connected = false;

  // Whether the translations have this index. REQUIRES: inside an Exclusion, because another
  // thread may resize the table.
  bool is_index(int index) const {
    return index >= 0 && static_cast<std::size_t>(index) < translations.size();
  }
  // nullptr if the index is out of range, or free.
  iw::am::Translation* mapped(int index) {
    if (!is_index(index)) return nullptr;
    iw::am::Translation& found = translations[static_cast<std::size_t>(index)];
    return found.connection == nullptr ? nullptr : &found;
  }
};

namespace iw::am {

class Bundle {
 public:
  Bundle(std::unique_ptr<fabric::Worker> worker, int type);
  ~Bundle();

  fabric::Worker& worker() { return *worker_; }
  std::chrono::duration<double> request_wait{30};
  int event_mask = AM_NOEVENTS;
  std::size_t connections_allowed = connections_max;
  // Called when a connection's other end is gone, or was left and may live (Worker::was_left).
  std::function<void(const Connection&, bool was_left)> on_end;
  // Messages to and from other endpoints, the library's own among them.
  std::uint64_t messages_sent = 0, messages_received = 0;

  // Endpoints. nullptr if the number is taken.
  iw_am_endpoint* add_endpoint();
  iw_am_endpoint* add_endpoint(std::uint32_t number);
  void free_endpoint(iw_am_endpoint* endpoint);
  void move_in(iw_am_endpoint* endpoint);
  en_t name_of(const iw_am_endpoint* endpoint) const;
  en_t name_of_other(const Connection& connection) const;

  // Maps an index to a name. Returns an AM_ result, IN_USE also if the index does not exist.
  // REQUIRES: not inside an Exclusion and not in a handler, because it waits.
  int map(iw_am_endpoint* endpoint, int index, const en_t& name, tag_t tag,
          fabric::Deadline deadline);
  // Maps the lowest free index. RESOURCE if all are mapped.
  int map_any(iw_am_endpoint* endpoint, int* index, const en_t& name, tag_t tag,
              fabric::Deadline deadline);
  // Connects with an endpoint of a peer. REQUIRES: the same as map(). The connection is pinned.
  int connect_to_peer(iw_am_endpoint* endpoint, fabric::PeerId peer, std::uint32_t there,
                      fabric::Deadline deadline, Connection** connection);
  static void unpin(Connection& connection) { connection.pins--; }
  // Connects with the named endpoint, and pins the connection. REQUIRES: the same as map().
  int connect(iw_am_endpoint* endpoint, const en_t& name, fabric::Deadline deadline,
              Connection** connection);
  // IN_USE while requests are unanswered.
  int set_window(iw_am_endpoint* endpoint, int outstanding);

  // Sending (sending.cc). REQUIRES: inside an Exclusion.
  // A message before it is written into a record.
  struct Draft {
    Category category;
    handler_t handler;
    std::uint64_t offset;
    std::span<const std::byte> block;
    std::span<const int> words;
  };
  // RESOURCE if the window has no room.
  int request(Connection& to, int destination, tag_t tag, const Draft& message);
  int reply(Token& token, const Draft& message);
  // Tells each other end how many of its replies were handled here, if it does not know.
  void acknowledge();
  // Whether the other ends have handled all messages. Asks those that have not said so.
  bool is_all_handled();

  // Handles the arrivals that wait for the program. REQUIRES: inside an Exclusion.
  void run_arrivals();
  bool has_arrivals() const { return has_arrivals_.load(std::memory_order_relaxed); }
  void poll();
  int wait(fabric::Deadline deadline);
  // Waits until each message that was sent is handled or came back. Handles arrivals meanwhile.
  // Returns an AM_ result.
  int flush(fabric::Deadline deadline);

 private:
  iw_am_endpoint* make_endpoint(std::uint32_t number);
  int free_index(const iw_am_endpoint& endpoint) const;
  using ConnectionKey = std::array<std::uint32_t, 3>;  // endpoint, peer, endpoint there
  static ConnectionKey key_of(const Connection& connection) {
    return {connection.endpoint_here, connection.peer, connection.endpoint_there};
  }
  Connection* find_or_add(iw_am_endpoint* endpoint, fabric::PeerId peer, std::uint32_t there);
  Connection* find(std::uint32_t id) const {
    const std::size_t place = id & (connections_max - 1);
    Connection* found = place < connections_.size() ? connections_[place].get() : nullptr;
    return found != nullptr && found->own_id == id ? found : nullptr;
  }
  Connection* connection_of(fabric::PeerId from, const Head& head) const {
    Connection* found = find(head.connection);
    const bool is_it =
        found != nullptr && found->peer == from && found->state == ConnectionState::open;
    return is_it ? found : nullptr;
  }
  void retire(Connection& connection);
  void reclaim();
  static void size_window(Connection& connection, int slots);

  // Receiving (receiving.cc).
  static void on_message(void* bundle, const fabric::Message& message);
  void take(fabric::PeerId from, const HeadAndWords& got, std::span<const std::byte> block);
  void take(Connection& connection, const HeadAndWords& got, std::span<const std::byte> block);
  void take_map(fabric::PeerId from, const Mapping& asked);
  void take_mapped(fabric::PeerId from, const Head& head, const Mapping& answer);
  void take_request(Connection& connection, const HeadAndWords& got,
                    std::span<const std::byte> block);
  void take_get(Connection& connection, const HeadAndWords& got, std::span<const std::byte> block);
  void take_reply(Connection& connection, const HeadAndWords& got,
                  std::span<const std::byte> block);
  void take_returned_request(Connection& connection, const Head& head);
  void take_returned_reply(Connection& connection, const HeadAndWords& got);
  static int refuse(const iw_am_endpoint& endpoint, const Head& head, std::size_t nbytes);
  void run_handler(Token& token, const HeadAndWords& got, std::span<const std::byte> block);
  void on_death(fabric::PeerId peer);
  void end(Connection& connection, int status, bool was_left = false);
  void give_back(Connection& connection, Record* record, int status);
  void note_handled(Connection& connection);
  void note_said(Connection& connection);
  void queue_message(const fabric::Message& message, const Head& head);
  void heard(Connection& connection, std::uint32_t replies_handled);
  Record* take_slot_out(Connection& connection, std::uint16_t slot);

  // Sending (sending.cc).
  Record* take_record();
  void put_back(Record* record);
  void release_record(Record* record);
  fabric::Status post(fabric::PeerId to, Record* record);
  void send_control(Connection& to, Kind kind, const Head& like, std::span<const int> words = {});
  void send_mapping(fabric::PeerId to, Kind kind, std::uint32_t connection, int status,
                    const Mapping& mapping);
  void address(Head& head, Connection& to, Kind kind);
  static Head& write(Record* record, const Draft& message);

  // Whether an arrival must wait until the program polls.
  bool must_queue(bool by_service) const {
    return waiting_ > 0 || has_arrivals() || (type_ == AM_SEQ && by_service);
  }
  void queue(std::function<void()> arrival);

  std::unique_ptr<fabric::Worker> worker_;
  const int type_;
  std::uint32_t next_endpoint_ = 0x10000;  // programs choose from those below
  std::set<std::uint32_t> chosen_;         // never forgotten: a name is not given twice
  std::map<std::uint32_t, std::unique_ptr<iw_am_endpoint>> endpoints_;
  std::vector<std::unique_ptr<Connection>> connections_;  // by the places of their ids
  std::vector<std::uint16_t> generations_;                // of the places: the upper half of ids
  std::deque<std::uint16_t> free_places_;
  std::vector<Connection*> retired_;  // ended; reclaimed when they are not pinned
  std::map<ConnectionKey, Connection*> connection_of_;
  std::deque<Record> records_;
  Record* free_records_ = nullptr;
  std::vector<Connection*> unsaid_;    // may have handled replies that the other end is not told of
  std::atomic<int> unsaid_count_ = 0;  // how many have such replies
  std::deque<std::function<void()>> arrivals_;
  std::atomic<bool> has_arrivals_{false};
  int waiting_ = 0;  // threads in AM_Wait; meanwhile arrivals are kept for AM_Poll
};

}  // namespace iw::am

// An eb_t points to this.
struct iw_am_bundle : iw::am::Bundle {
  using Bundle::Bundle;
};
