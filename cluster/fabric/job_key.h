// The secret that the processes of a job share, and the proofs of knowing it
// (spec/cluster/hello.x).
//
// Invariants: a key is never sent and never printed. Proofs are compared in a time that does not
// depend on them [HELLO-2].
#pragma once

#include <array>
#include <initializer_list>
#include <string>

#include "fabric/fabric.h"
#include "fabric/hello.gen.h"

namespace iw::fabric {

using Proof = std::array<std::byte, proof_bytes>;

class JobKey {
 public:
  // A process without a key has this one, which everybody knows [HELLO-1].
  JobKey() = default;
  static JobKey draw();
  // False: the text is not 32 hexadecimal digits, with blanks around them; or all are 0 [HELLO-9].
  static bool from_text(const std::string& text, JobKey* key);
  static bool from_bytes(Bytes bytes, JobKey* key);

  bool is_secret() const { return is_secret_; }
  // To be handed to the other processes of the job by a means that only they see.
  Bytes bytes() const { return bytes_; }
  std::string text() const;

  Proof prove(const char* label, std::initializer_list<Bytes> parts) const;
  bool is_proven(const Proof& proof, const char* label, std::initializer_list<Bytes> parts) const;

 private:
  std::array<std::byte, job_key_bytes> bytes_{};
  bool is_secret_ = false;
};

// How a user makes a key: the end of an error.
inline constexpr const char* how_to_set_a_key =
    "set IW_CLUSTER_KEY to the same 32 hexadecimal digits in all processes (openssl rand -hex 16), "
    "or IW_CLUSTER_KEY_FILE to a file with them";

// From the environment; without a secret if the environment has none. False, and why in *error, if
// it names a key that cannot be used.
bool read_key_of_environment(JobKey* key, std::string* error);
// The same; else as remembered.
bool find_job_key(JobKey* key, std::string* error);
// The key of the rendezvous by which this process met its job.
void remember_job_key(const JobKey& key);

// False, and why, if the file is not there, others may read or write it, or it holds no key.
bool read_key_file(const std::string& file, JobKey* key, std::string* error);
// Reads job.key in a folder that the processes of a job share. The first of them makes the file.
bool share_key_by_folder(const std::string& folder, JobKey* key, std::string* error);

}  // namespace iw::fabric
