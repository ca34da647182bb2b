#include "caller/http_callee.h"

#include <curl/curl.h>

#include <cstdlib>
#include <stdexcept>

namespace stock {
namespace {

constexpr std::size_t kAnswerBytesMax = 4096;
constexpr long kTimeout_s = 30;

std::size_t take(char* bytes, std::size_t, std::size_t count, void* answer) {
  auto& text = *static_cast<std::string*>(answer);
  if (text.size() + count > kAnswerBytesMax) return 0;  // ends the transfer as failed
  text.append(bytes, count);
  return count;
}

// The value of a field of a form; numbers need no decoding.
double field(const std::string& form, const std::string& name) {
  const std::size_t at = ("&" + form).find("&" + name + "=");
  if (at == std::string::npos) throw std::runtime_error("the answer has no " + name + ": " + form);
  return std::strtod(form.c_str() + at + name.size() + 1, nullptr);
}

}  // namespace

HttpCallee::HttpCallee(std::string address)
    : address_(std::move(address)), curl_(curl_easy_init()) {
  if (curl_ == nullptr) throw std::runtime_error("libcurl does not start");
}

HttpCallee::~HttpCallee() { curl_easy_cleanup(curl_); }

receipt HttpCallee::post(const std::string& path, const Form& form) {
  std::string sent, got;
  for (const auto& [name, value] : form) {
    char* const escaped = curl_easy_escape(curl_, value.c_str(), static_cast<int>(value.size()));
    if (!sent.empty()) sent += '&';
    sent.append(name).append("=").append(escaped);
    curl_free(escaped);
  }
  const std::string url = address_ + path;
  char why[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl_, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl_, CURLOPT_COPYPOSTFIELDS, sent.c_str());
  curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &got);
  curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, why);
  curl_easy_setopt(curl_, CURLOPT_TIMEOUT, kTimeout_s);
  if (curl_easy_perform(curl_) != CURLE_OK) {
    throw std::runtime_error("callee " + address_ + ": " + why + "; is callee.py running there?");
  }
  long status = 0, request_bytes = 0, header_bytes = 0;
  curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(curl_, CURLINFO_REQUEST_SIZE, &request_bytes);  // header and form
  curl_easy_getinfo(curl_, CURLINFO_HEADER_SIZE, &header_bytes);
  bytes_ += static_cast<std::uint64_t>(request_bytes + header_bytes) + got.size();
  if (status != 200) throw std::runtime_error("callee " + address_ + ": " + got);
  receipt done{};
  done.visited = static_cast<u_int>(field(got, "visited"));
  done.ordered = static_cast<u_int>(field(got, "ordered"));
  done.cost = field(got, "cost");
  done.traffic = static_cast<u_quad_t>(field(got, "traffic"));
  return done;
}

receipt HttpCallee::restock(const std::string& root_mip, const restock_order& order) {
  return post("/restock", {{"root", root_mip},
                           {"below", std::to_string(order.below)},
                           {"up_to", std::to_string(order.up_to)}});
}

receipt HttpCallee::introduce(const std::string& root_mip, int number, double price,
                              const std::string& name) {
  return post("/introduce", {{"root", root_mip},
                             {"number", std::to_string(number)},
                             {"price", std::to_string(price)},
                             {"name", name}});
}

}  // namespace stock
