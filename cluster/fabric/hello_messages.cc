#include "fabric/hello_messages.h"

#include <sys/random.h>

#include <cstdlib>

namespace iw::fabric {

Nonce draw_nonce() {
  Nonce nonce;
  if (getrandom(nonce.data(), sizeof nonce, 0) != sizeof nonce) std::abort();
  return nonce;
}

std::string why_foreign(const HelloHead& theirs) {
  if (theirs.magic != hello_magic) {
    return "it is not an InterWeave process: it does not speak the hello";
  }
  return "it speaks version " + std::to_string(theirs.version) +
         " of the hello, this process speaks version " + std::to_string(hello_version);
}

Challenge challenge(const JobKey& key, const char* label, Bytes question) {
  Challenge made;
  made.of_asked = draw_nonce();
  made.proof = key.prove(label, {question, bytes_of_message(made.of_asked)});
  return made;
}

std::string why_not_proven(const JobKey& key, const char* label, Bytes question,
                           const Challenge& answer) {
  if (!is_ours(answer.head)) return why_foreign(answer.head);
  if (answer.status != ChallengeStatus::go_on) return "it refuses without a reason";
  if (key.is_proven(answer.proof, label, {question, bytes_of_message(answer.of_asked)})) return "";
  return "it has not proven this job's key";
}

}  // namespace iw::fabric
