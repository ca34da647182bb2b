// A bundle's endpoints and how they are connected, polled and waited on.
#include "am/bundle.h"

#include <algorithm>
#include <bit>

namespace iw::am {

en_t name_of(const fabric::Address& address, std::uint32_t endpoint) {
  return std::bit_cast<en_t>(Name{name_mark, endpoint, address, {}});
}

bool parse(const en_t& name, fabric::Address* address, std::uint32_t* endpoint) {
  const auto parts = std::bit_cast<Name>(name);
  *address = parts.address;
  *endpoint = parts.endpoint;
  return parts.mark == name_mark;  // [AM-17]
}

Bundle::Bundle(std::unique_ptr<fabric::Worker> worker, int type)
    : worker_(std::move(worker)), type_(type) {
  worker_->set_handler(0, &Bundle::on_message, this);
  worker_->on_death([this](fabric::PeerId peer) { on_death(peer); });
}

Bundle::~Bundle() {
  {
    const fabric::Exclusion excluded(*worker_);
    while (!endpoints_.empty()) free_endpoint(endpoints_.begin()->second.get());
  }
  fabric::close_worker(&worker_);
}

iw_am_endpoint* Bundle::add_endpoint() { return make_endpoint(next_endpoint_++); }

iw_am_endpoint* Bundle::add_endpoint(std::uint32_t number) {
  return chosen_.insert(number).second ? make_endpoint(number) : nullptr;
}

iw_am_endpoint* Bundle::make_endpoint(std::uint32_t number) {
  auto made = std::make_unique<iw_am_endpoint>();
  made->bundle = this;
  made->number = number;
  return (endpoints_[number] = std::move(made)).get();
}

void Bundle::free_endpoint(iw_am_endpoint* endpoint) {
  acknowledge();
  for (const auto& each : connections_) {
    if (each == nullptr || each->endpoint != endpoint) continue;
    send_control(*each, Kind::gone, Head{});
    each->endpoint = nullptr;
    end(*each, EBADENDPOINT);
  }
  for (const Translation& each : endpoint->translations) {
    if (each.connection != nullptr) unpin(*each.connection);
  }
  endpoints_.erase(endpoint->number);
}

void Bundle::move_in(iw_am_endpoint* endpoint) {
  auto owned = std::move(endpoint->bundle->endpoints_[endpoint->number]);
  endpoint->bundle->endpoints_.erase(endpoint->number);
  endpoint->bundle = this;
  endpoint->number = next_endpoint_++;
  endpoints_[endpoint->number] = std::move(owned);
}

en_t Bundle::name_of(const iw_am_endpoint* endpoint) const {
  return am::name_of(worker_->address(), endpoint->number);
}

en_t Bundle::name_of_other(const Connection& connection) const {
  return am::name_of(connection.address, connection.endpoint_there);
}

void Bundle::size_window(Connection& connection, int slots) {
  connection.slots.assign(static_cast<std::size_t>(slots), nullptr);
  connection.free_slots.clear();
  for (int slot = slots - 1; slot >= 0; slot--) {
    connection.free_slots.push_back(static_cast<std::uint16_t>(slot));
  }
}

int Bundle::set_window(iw_am_endpoint* endpoint, int outstanding) {
  for (const auto& each : connections_) {
    if (each == nullptr || each->endpoint != endpoint) continue;
    if (each->has_outstanding()) return AM_ERR_IN_USE;
  }
  endpoint->outstanding_max = outstanding;
  for (const auto& each : connections_) {
    if (each != nullptr && each->endpoint == endpoint) size_window(*each, outstanding);
  }
  return AM_OK;
}

Connection* Bundle::find_or_add(iw_am_endpoint* endpoint, fabric::PeerId peer,
                                std::uint32_t there) {
  const ConnectionKey key{endpoint->number, peer, there};
  const auto found = connection_of_.find(key);
  if (found != connection_of_.end()) return found->second;
  reclaim();
  if (free_places_.empty()) {
    if (connections_.size() >= connections_allowed) return nullptr;
    free_places_.push_back(static_cast<std::uint16_t>(connections_.size()));
    connections_.emplace_back();
    generations_.emplace_back();
  }
  // The place that has been free the longest.
  const std::uint16_t place = free_places_.front();
  free_places_.pop_front();
  auto made = std::make_unique<Connection>();
  made->endpoint = endpoint;
  made->peer = peer;
  made->address = worker_->peer_address(peer);
  made->endpoint_here = endpoint->number;
  made->endpoint_there = there;
  made->own_id = std::uint32_t{generations_[place]} << place_bits | place;
  size_window(*made, endpoint->outstanding_max);
  endpoint->was_connected = true;
  connection_of_[key] = made.get();
  return (connections_[place] = std::move(made)).get();
}

void Bundle::retire(Connection& connection) {
  connection.state = ConnectionState::dead;
  note_said(connection);
  const auto found = connection_of_.find(key_of(connection));
  if (found != connection_of_.end() && found->second == &connection) connection_of_.erase(found);
  retired_.push_back(&connection);
}

// Frees the connections that have ended and are not pinned. REQUIRES: no handler of the
// program runs, because its token may lead to one of them.
void Bundle::reclaim() {
  std::erase_if(retired_, [this](Connection* each) {
    if (each->pins > 0) return false;
    if (each->is_listed) std::erase(unsaid_, each);
    const auto place = static_cast<std::uint16_t>(each->own_id & (connections_max - 1));
    generations_[place]++;
    free_places_.push_back(place);
    connections_[place].reset();
    return true;
  });
}

int Bundle::map(iw_am_endpoint* endpoint, int index, const en_t& name, tag_t tag,
                fabric::Deadline deadline) {
  const auto is_free = [&] { return endpoint->is_index(index) && !endpoint->mapped(index); };
  {
    const fabric::Exclusion excluded(*worker_);
    if (!is_free()) return AM_ERR_IN_USE;
  }
  Connection* connection = nullptr;
  const int result = connect(endpoint, name, deadline, &connection);
  if (result != AM_OK) return result;
  const fabric::Exclusion excluded(*worker_);
  if (!is_free()) {  // another thread has mapped it meanwhile
    unpin(*connection);
    return AM_ERR_IN_USE;
  }
  endpoint->translations[static_cast<std::size_t>(index)] = {connection, name, tag};
  return AM_OK;
}

int Bundle::map_any(iw_am_endpoint* endpoint, int* index, const en_t& name, tag_t tag,
                    fabric::Deadline deadline) {
  for (;;) {
    *index = free_index(*endpoint);
    if (*index < 0) return AM_ERR_RESOURCE;
    const int result = map(endpoint, *index, name, tag, deadline);
    if (result != AM_ERR_IN_USE) return result;  // else another thread took the index
  }
}

// -1 if all are mapped.
int Bundle::free_index(const iw_am_endpoint& endpoint) const {
  const fabric::Exclusion excluded(*worker_);
  const auto found = std::ranges::find(endpoint.translations, nullptr, &Translation::connection);
  if (found == endpoint.translations.end()) return -1;
  return static_cast<int>(found - endpoint.translations.begin());
}

int Bundle::connect(iw_am_endpoint* endpoint, const en_t& name, fabric::Deadline deadline,
                    Connection** connection) {
  fabric::Address address;
  std::uint32_t there = 0;
  if (!parse(name, &address, &there)) return AM_ERR_BAD_ARG;
  fabric::PeerId peer = 0;
  const fabric::Status status = worker_->connect(address, deadline, &peer);
  if (status == fabric::Status::bad_argument) return AM_ERR_BAD_ARG;
  if (status != fabric::Status::ok) return AM_ERR_NOT_SENT;
  return connect_to_peer(endpoint, peer, there, deadline, connection);
}

int Bundle::connect_to_peer(iw_am_endpoint* endpoint, fabric::PeerId peer, std::uint32_t there,
                            fabric::Deadline deadline, Connection** connection) {
  Connection* found;
  {
    const fabric::Exclusion excluded(*worker_);
    // A peer that has died meanwhile does not answer, and on_death is not called for it again.
    if (!worker_->is_alive(peer)) return AM_ERR_NOT_SENT;
    found = find_or_add(endpoint, peer, there);
    if (found == nullptr) return AM_ERR_RESOURCE;
    found->pins++;
    if (found->state == ConnectionState::mapping) {
      send_mapping(peer, Kind::map, 0, 0, {endpoint->number, there, found->own_id, 0});
    }
  }
  worker_->wait([&] { return found->state != ConnectionState::mapping; }, deadline);
  const fabric::Exclusion excluded(*worker_);
  *connection = found;
  if (found->state == ConnectionState::open) return AM_OK;
  unpin(*found);
  return AM_ERR_NOT_SENT;
}

void Bundle::take_map(fabric::PeerId from, const Mapping& asked) {
  Mapping answer = asked;
  const auto endpoint = endpoints_.find(asked.asked_endpoint);
  Connection* connection = endpoint == endpoints_.end()
                               ? nullptr
                               : find_or_add(endpoint->second.get(), from, asked.asking_endpoint);
  if (connection == nullptr) {
    send_mapping(from, Kind::mapped, asked.asking_connection, EBADENDPOINT, answer);
    return;
  }
  connection->id_there = asked.asking_connection;
  connection->state = ConnectionState::open;
  answer.asked_connection = connection->own_id;
  send_mapping(from, Kind::mapped, asked.asking_connection, 0, answer);
}

void Bundle::take_mapped(fabric::PeerId from, const Head& head, const Mapping& answer) {
  Connection* connection = find(head.connection);
  const bool was_asked = connection != nullptr && connection->peer == from &&
                         connection->endpoint_there == answer.asked_endpoint;
  // Open already: both ends had asked.
  if (was_asked && connection->state == ConnectionState::open) return;
  if (was_asked && connection->state == ConnectionState::mapping) {
    connection->id_there = answer.asked_connection;
    if (head.status != 0) return retire(*connection);
    connection->state = ConnectionState::open;
    return;
  }
  // The endpoint that asked was freed meanwhile [AM-3].
  if (head.status == 0) send_mapping(from, Kind::gone, answer.asked_connection, 0, answer);
}

void Bundle::poll() {
  const unsigned handled = worker_->progress();
  if (has_arrivals()) {
    if (worker_->in_handler()) return;
    const fabric::Exclusion excluded(*worker_);
    run_arrivals();
  } else if (handled == 0 && unsaid_count_.load(std::memory_order_relaxed) > 0) {
    if (worker_->in_handler()) return;
    const fabric::Exclusion excluded(*worker_);
    acknowledge();
  }
}

int Bundle::wait(fabric::Deadline deadline) {
  {
    const fabric::Exclusion excluded(*worker_);
    acknowledge();
    waiting_++;
  }
  const fabric::Status status = worker_->wait([this] { return !arrivals_.empty(); }, deadline);
  const fabric::Exclusion excluded(*worker_);
  waiting_--;
  return status == fabric::Status::ok ? AM_OK : AM_ERR_NOT_SENT;
}

int Bundle::flush(fabric::Deadline deadline) {
  const auto is_done = [this] {
    run_arrivals();
    return is_all_handled();
  };
  const fabric::Status status = worker_->wait(is_done, deadline);
  return status == fabric::Status::ok ? AM_OK : AM_ERR_NOT_SENT;
}

}  // namespace iw::am
