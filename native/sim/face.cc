#include "sim/face.h"

#include <exception>
#include <new>
#include <utility>

#include "sim/client.h"

struct iw_sim_client {
  iw::sim::Client is;
};

namespace {

// Memory is short only where the simulator says so. So a real std::bad_alloc ends the process.
template <typename Call>
auto without_exceptions(Call&& call) noexcept {
  return call();
}

}  // namespace

extern "C" {

iw_sim_client* iw_sim_new(const char* const* paths, const uint32_t* durable, size_t count) {
  return without_exceptions([&] {
    auto* const client = new (std::nothrow) iw_sim_client;
    if (client == nullptr) return client;
    for (size_t i = 0; i < count; ++i) {
      client->is.add_segment(paths[i], static_cast<iw::protocol::durability>(durable[i]));
    }
    return client;
  });
}

void iw_sim_free(iw_sim_client* client) { delete client; }

void iw_sim_connected(iw_sim_client* client, int64_t now_ns) {
  without_exceptions([&] { client->is.connected(now_ns); });
}

void iw_sim_disconnected(iw_sim_client* client, int64_t now_ns) {
  without_exceptions([&] { client->is.disconnected(now_ns); });
}

void iw_sim_received(iw_sim_client* client, int64_t now_ns, const uint8_t* bytes, size_t size) {
  without_exceptions([&] { client->is.received(now_ns, {bytes, size}); });
}

void iw_sim_tick(iw_sim_client* client, int64_t now_ns) {
  without_exceptions([&] { client->is.tick(now_ns); });
}

int64_t iw_sim_due_ns(const iw_sim_client* client) {
  return without_exceptions([&] { return client->is.due_ns(); });
}

int iw_sim_begin(iw_sim_client* client, int64_t now_ns, const iw_sim_action* action) {
  return without_exceptions([&] { return client->is.begin(now_ns, *action) ? 1 : 0; });
}

void iw_sim_give_up(iw_sim_client* client, int64_t now_ns) {
  without_exceptions([&] { client->is.give_up(now_ns); });
}

void iw_sim_lack_memory(iw_sim_client* client, uint32_t messages) {
  client->is.lack_memory(messages);
}

void iw_sim_fail_apply(iw_sim_client* client, int damages) { client->is.fail_apply(damages != 0); }

int iw_sim_next(iw_sim_client* client, iw_sim_event* out) {
  return without_exceptions([&] { return client->is.next(*out) ? 1 : 0; });
}

void iw_sim_know(const iw_sim_client* client, uint32_t segment, iw_sim_knowledge* out) {
  without_exceptions([&] { client->is.know(segment, *out); });
}

uint64_t iw_sim_hash(const iw_sim_client* client) {
  return without_exceptions([&] { return client->is.hash(); });
}

}  // extern "C"
