// Under a launcher that speaks PMIx (mpirun): each round puts a key, and fences.
#include <pmix.h>

#include <atomic>
#include <cstring>
#include <future>
#include <thread>

#include "fabric/job_key.h"
#include "fabric/rendezvous_means.h"

namespace iw::fabric {
namespace {

int seconds_until(Deadline deadline) {
  return static_cast<int>(std::chrono::ceil<std::chrono::seconds>(deadline - Clock::now()).count());
}

pmix_status_t get(const pmix_proc_t& whose, const char* key, Deadline deadline,
                  pmix_value_t** value) {
  int timeout_s = seconds_until(deadline);
  if (timeout_s <= 0) return PMIX_ERR_TIMEOUT;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &timeout_s, PMIX_INT);
  return PMIx_Get(&whose, key, &info, 1, value);
}

struct Introduced {
  pmix_status_t status = PMIX_ERR_TIMEOUT;
  pmix_proc_t me{};
};

// PMIx_Init waits for the launcher for as long as that takes. So a thread of its own calls it, and
// is left to it when the deadline has passed; nobody may call it a second time meanwhile.
Introduced introduce(Deadline deadline) {
  static std::atomic<bool> is_under_way{false};
  if (is_under_way.exchange(true)) return {};
  auto promise = std::make_shared<std::promise<Introduced>>();
  auto introduced = promise->get_future();
  std::thread([promise] {
    Introduced made;
    made.status = PMIx_Init(&made.me, nullptr, 0);
    is_under_way = false;
    promise->set_value(made);
  }).detach();
  if (introduced.wait_until(deadline) != std::future_status::ready) return {};
  return introduced.get();
}

class Pmix final : public Rendezvous {
 public:
  Pmix(const pmix_proc_t& me, unsigned size) : me_(me) {
    rank_ = me.rank;
    size_ = size;
  }
  ~Pmix() override { PMIx_Finalize(nullptr, 0); }

  Status exchange(Bytes mine, Deadline deadline,
                  std::vector<std::vector<std::byte>>* everybodys) override {
    if (mine.size() > exchange_bytes_max) return Status::bad_argument;
    const std::string key = "iw.fabric." + std::to_string(round_++);
    if (!put(key, mine)) return Status::failed;
    const Status fenced = fence(deadline);
    if (fenced != Status::ok) return fenced;
    everybodys->resize(size_);
    for (unsigned rank = 0; rank < size_; rank++) {
      if (!read(key, rank, deadline, &(*everybodys)[rank])) return Status::failed;
    }
    return Status::ok;
  }

  // Rank 0 draws it. All call it.
  bool share_job_key(Deadline deadline, JobKey* key) const {
    const std::string name = "iw.fabric.job_key";
    const JobKey drawn = JobKey::draw();
    if (rank_ == 0 && !put(name, drawn.bytes())) return false;
    std::vector<std::byte> bytes;
    return fence(deadline) == Status::ok && read(name, 0, deadline, &bytes) &&
           JobKey::from_bytes(bytes, key);
  }

 private:
  static bool put(const std::string& key, Bytes bytes) {
    pmix_value_t value{};
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
    value.data.bo.size = bytes.size();
    return PMIx_Put(PMIX_GLOBAL, key.c_str(), &value) == PMIX_SUCCESS &&
           PMIx_Commit() == PMIX_SUCCESS;
  }

  static Status fence(Deadline deadline) {
    bool collect = true;
    int timeout_s = seconds_until(deadline);
    if (timeout_s <= 0) return Status::timed_out;
    pmix_info_t infos[2];
    PMIX_INFO_LOAD(&infos[0], PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    PMIX_INFO_LOAD(&infos[1], PMIX_TIMEOUT, &timeout_s, PMIX_INT);
    const pmix_status_t status = PMIx_Fence(nullptr, 0, infos, 2);
    if (status == PMIX_ERR_TIMEOUT) return Status::timed_out;
    return status == PMIX_SUCCESS ? Status::ok : Status::failed;
  }

  bool read(const std::string& key, unsigned rank, Deadline deadline,
            std::vector<std::byte>* bytes) const {
    pmix_proc_t whose;
    PMIX_LOAD_PROCID(&whose, me_.nspace, rank);
    pmix_value_t* value = nullptr;
    if (get(whose, key.c_str(), deadline, &value) != PMIX_SUCCESS) return false;
    const bool is_sound =
        value->type == PMIX_BYTE_OBJECT && value->data.bo.size <= exchange_bytes_max;
    if (is_sound) {
      const auto* begin = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
      bytes->assign(begin, begin + value->data.bo.size);
    }
    PMIX_VALUE_RELEASE(value);
    return is_sound;
  }

  pmix_proc_t me_;
  unsigned round_ = 0;
};

}  // namespace

std::unique_ptr<Rendezvous> meet_by_pmix(Deadline deadline, std::string* error) {
  pmix_proc_t all;
  pmix_value_t* size = nullptr;
  const Introduced introduced = introduce(deadline);
  pmix_status_t status = introduced.status;
  if (status == PMIX_SUCCESS) {
    PMIX_LOAD_PROCID(&all, introduced.me.nspace, PMIX_RANK_WILDCARD);
    status = get(all, PMIX_JOB_SIZE, deadline, &size);
  }
  if (status != PMIX_SUCCESS) {
    *error = status == PMIX_ERR_TIMEOUT
                 ? "PMIx: the launcher (mpirun) that started this process does not answer"
                 : std::string("PMIx: ") + PMIx_Error_string(status);
    return nullptr;
  }
  auto met = std::make_unique<Pmix>(introduced.me, size->data.uint32);
  PMIX_VALUE_RELEASE(size);
  JobKey key;
  if (!read_key_of_environment(&key, error)) return nullptr;
  if (key.is_secret()) return met;
  if (!met->share_job_key(deadline, &key)) {
    *error = "PMIx: rank 0 of this job gave no job key; is IW_CLUSTER_KEY set for all?";
    return nullptr;
  }
  remember_job_key(key);
  return met;
}

}  // namespace iw::fabric
