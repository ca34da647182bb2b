// <interweave/dsm.hpp> as C++ programs use it, in real processes.
#include "dsm/node/node_fixture.h"
#include "interweave/dsm.hpp"

namespace iw::shared {
namespace {

using iw::dsm::check;

struct Box {
  std::int64_t count = 0;
  std::int64_t waiting = 0;
};

ROLE(cpp_layer) {
  Job job;
  Box* const box = make<Box>(Box{10, 0});
  const std::span<double> row = allocate<double>(5000);
  place(row, DSM_BLOCKS);
  barrier(1);
  {
    Hold hold(box);
    box->count++;
    signal(3);
  }
  {
    Hold hold(box);
    hold.wait(3, [&] { return box->count >= 10 + size(); });
    signal(3);
  }
  check(box->count == 10 + size(), "all have counted");
  if (rank() == 1) row[4999] = 1.5;
  barrier(2);
  touch(row);
  check(row[4999] == 1.5, "the store is seen");
  check(sum<std::int64_t>(rank()) == size() * (size() - 1) / 2, "the sum is right");
  check(maximum(0.5 * rank()) == 0.5 * (size() - 1), "the maximum is right");
  check(minimum<std::int64_t>(rank()) == 0, "the minimum is right");
  check(broadcast(rank(), 1) == 1, "all have rank 1's value");
  check(fetch_add(1, 1) < size(), "the counter counts");
  if (rank() == 0) post(1);
  if (rank() == 1) wait_for_post(1);
  check(statistics().barriers == 2, "barriers are counted");
  int code = 0;
  try {
    place(row, DSM_BLOCKS);
  } catch (const Error& error) {
    code = error.code();
  }
  check(code == DSM_ELATE, "an error is an exception");
  barrier(3);
  if (rank() == 0) free(row);
  job.finish();
  return 0;
}

TEST(DsmCpp, LocksMemoryAndCollectivesOfTheCppLayer) {
  iw::dsm::TestJob job("cpp_layer", 3);
  job.expect_success();
}

}  // namespace
}  // namespace iw::shared
