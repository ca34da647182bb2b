#include "client/one_store.h"

#include <algorithm>
#include <optional>

#include "protocol/session.gen.h"

namespace iw::client {

namespace {

using Row = protocol::member_info;

Result list_members(const std::shared_ptr<Live>& live, std::uint64_t after,
                    std::int64_t deadline_ns, protocol::member_list& out) {
  Request request;
  request.type = message_type::LIST_MEMBERS;
  request.body = session::encoded(protocol::list_members{after});
  if (Result called = live->link().call(live, request, deadline_ns); !called) return called;
  return session::decode_answer(request.answer, message_type::MEMBER_LIST, out);
}

// The server's own row; none: it shares its store with nobody.
Result own_row(const std::shared_ptr<Live>& live, std::int64_t deadline_ns,
               std::optional<Row>& out) {
  std::uint64_t after = 0;
  while (true) {
    protocol::member_list list;
    if (Result listed = list_members(live, after, deadline_ns, list); !listed) return listed;
    if (!list.shares_store) return {};
    for (Row& row : list.members) {
      if (!row.is_asked || row.number == 0) continue;
      out = std::move(row);
      return {};
    }
    if (!list.more || list.members.empty() || list.members.back().number <= after) return {};
    after = list.members.back().number;
  }
}

bool is_same(const Row& one, const Row& other) {
  return one.number == other.number && one.address == other.address;
}

Result lists(const std::shared_ptr<Live>& live, const Row& row, std::int64_t deadline_ns,
             bool& out) {
  protocol::member_list list;
  if (Result listed = list_members(live, row.number - 1, deadline_ns, list); !listed) return listed;
  out = std::any_of(list.members.begin(), list.members.end(),
                    [&row](const Row& one) { return is_same(one, row); });
  return {};
}

}  // namespace

// A copy of a store has the ids of the first one, but not the members that joined either since.
Result share_store(const std::shared_ptr<Live>& one, const std::shared_ptr<Live>& other,
                   std::int64_t deadline_ns, bool& out) {
  out = false;
  if (!one->space_id() || one->space_id() != other->space_id()) return {};
  std::optional<Row> row_of_one;
  std::optional<Row> row_of_other;
  if (Result asked = own_row(one, deadline_ns, row_of_one); !asked) return asked;
  if (Result asked = own_row(other, deadline_ns, row_of_other); !asked) return asked;
  if (!row_of_one || !row_of_other) return {};
  bool is_listed = false;
  if (Result asked = lists(one, *row_of_other, deadline_ns, is_listed); !asked || !is_listed) {
    return asked;
  }
  return lists(other, *row_of_one, deadline_ns, out);
}

}  // namespace iw::client
