#include "caller/http_callee.h"

#include <curl/curl.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>

#include "caller/json_stock.h"
#include "caller/stream_bytes.h"

namespace stock {
namespace {

constexpr std::size_t kAnswerBytesMax = 64 << 20;
constexpr long kTimeout_s = 30;

std::size_t take(char* bytes, std::size_t, std::size_t count, void* answer) {
  auto& text = *static_cast<std::string*>(answer);
  if (text.size() + count > kAnswerBytesMax) return 0;  // ends the transfer as failed
  text.append(bytes, count);
  return count;
}

struct FreeHeaders {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

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

std::string HttpCallee::post(const std::string& path, const char* content_type,
                             const std::string& body) {
  const std::string url = address_ + path;
  const std::string type = std::string("Content-Type: ") + content_type;
  std::unique_ptr<curl_slist, FreeHeaders> headers(curl_slist_append(nullptr, type.c_str()));
  curl_slist_append(headers.get(),
                    "Expect:");  // large ones are sent unasked, as Sun RPC sends them
  std::string got;
  char why[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl_, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl_, CURLOPT_PROXY, "");  // none, whatever the environment says
  curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body.c_str());
  curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &got);
  curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, why);
  curl_easy_setopt(curl_, CURLOPT_TIMEOUT, kTimeout_s);
  if (curl_easy_perform(curl_) != CURLE_OK) {
    throw std::runtime_error("callee " + address_ + ": " + why + "; is callee.py running there?");
  }
  count_bytes();
  long status = 0;
  curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) throw std::runtime_error("callee " + address_ + ": " + got);
  return got;
}

void HttpCallee::count_bytes() {
  long new_connections = 0;
  curl_easy_getinfo(curl_, CURLINFO_NUM_CONNECTS, &new_connections);
  if (new_connections != 0) bytes_before_ += std::exchange(bytes_, 0);
  curl_socket_t socket = CURL_SOCKET_BAD;
  curl_easy_getinfo(curl_, CURLINFO_ACTIVESOCKET, &socket);
  if (socket != CURL_SOCKET_BAD) bytes_ = stream_bytes(socket);
}

receipt HttpCallee::post_form(const std::string& path, const Form& form) {
  std::string sent;
  for (const auto& [name, value] : form) {
    char* const escaped = curl_easy_escape(curl_, value.c_str(), static_cast<int>(value.size()));
    if (!sent.empty()) sent += '&';
    sent.append(name).append("=").append(escaped);
    curl_free(escaped);
  }
  const std::string got = post(path, "application/x-www-form-urlencoded", sent);
  receipt done{};
  done.visited = static_cast<u_int>(field(got, "visited"));
  done.ordered = static_cast<u_int>(field(got, "ordered"));
  done.cost = field(got, "cost");
  done.traffic = static_cast<u_quad_t>(field(got, "traffic"));
  return done;
}

receipt HttpCallee::restock(const std::string& root_mip, const restock_order& order) {
  return post_form("/restock", {{"root", root_mip},
                                {"below", std::to_string(order.below)},
                                {"up_to", std::to_string(order.up_to)}});
}

receipt HttpCallee::introduce(const std::string& root_mip, int number, double price,
                              const std::string& name) {
  return post_form("/introduce", {{"root", root_mip},
                                  {"number", std::to_string(number)},
                                  {"price", std::to_string(price)},
                                  {"name", name}});
}

receipt HttpCallee::restock_copy(PartCopy& parts, const restock_order& order) {
  return receipt_from_json(
      post("/restock_copy", "application/json", order_as_json(parts.get(), order)), parts);
}

}  // namespace stock
