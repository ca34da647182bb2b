#include "swizzle/slot_table.h"

namespace iw::swizzle {

using types::error_code;

const std::string* SlotTable::text_of(std::uint16_t slot) const {
  return slot == 0 || slot > entries_.size() ? nullptr : &entries_[slot - 1U].text;
}

const types::Url* SlotTable::url_of(std::uint16_t slot) const {
  return slot == 0 || slot > entries_.size() ? nullptr : &entries_[slot - 1U].url;
}

Result SlotTable::slot_for(const types::Url& url, std::uint16_t& out) {
  std::string text = url.server() == segment_.server() ? url.path : url.text();
  if (auto known = by_text_.find(text); known != by_text_.end()) {
    out = known->second;
    return {};
  }
  if (entries_.size() == kMaxSlots) {
    return {error_code::TOO_LARGE, segment_.text() + " points into " + std::to_string(kMaxSlots) +
                                       " other segments already; " + url.text() + " is one more"};
  }
  append({std::move(text), url});
  out = static_cast<std::uint16_t>(entries_.size());
  return {};
}

void SlotTable::append(Entry entry) {
  if (entries_.size() == entries_.capacity()) entries_.reserve(2 * entries_.size() + 4);
  by_text_.emplace(entry.text, static_cast<std::uint16_t>(entries_.size() + 1));
  entries_.push_back(std::move(entry));
}

Result SlotTable::parse(const std::string& text, Entry& out) const {
  out.text = text;
  if (types::is_path(text)) {
    out.url = segment_;
    out.url.path = text;
    return {};
  }
  if (Result bad = types::parse_url(text, out.url); !bad) {
    return Result::malformed("the segment's slot table has an entry that is not a URL: " +
                             bad.text);
  }
  return {};
}

Result SlotTable::add_received(std::uint64_t first, std::span<const std::string> texts) {
  if (first == 0 || first - 1 > entries_.size()) {
    return Result::malformed("slots arrive from " + std::to_string(first) +
                             " on, and the next is " + std::to_string(entries_.size() + 1));
  }
  if (texts.size() > kMaxSlots - (first - 1)) {
    return Result::malformed("a segment has more than " + std::to_string(kMaxSlots) + " slots");
  }
  std::vector<Entry> added;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(first) - 1 + i;
    if (at < entries_.size()) {
      if (entries_[at].text == texts[i]) continue;
      return Result::malformed("slot " + std::to_string(at + 1) + " is " + entries_[at].text +
                               " and arrives as another");
    }
    Entry entry;
    if (Result bad = parse(texts[i], entry); !bad) return bad;
    added.push_back(std::move(entry));
  }
  for (Entry& entry : added) append(std::move(entry));
  committed_ = entries_.size();
  return {};
}

Result SlotTable::replace(std::span<const std::string> texts) {
  SlotTable made(segment_);
  if (Result bad = made.add_received(1, texts); !bad) return bad;
  *this = std::move(made);
  return {};
}

std::vector<std::string> SlotTable::uncommitted() const {
  std::vector<std::string> texts;
  for (std::size_t i = committed_; i < entries_.size(); ++i) texts.push_back(entries_[i].text);
  return texts;
}

void SlotTable::commit() { committed_ = entries_.size(); }

void SlotTable::rollback() {
  while (entries_.size() > committed_) {
    auto known = by_text_.find(entries_.back().text);
    if (known != by_text_.end() && known->second == entries_.size()) by_text_.erase(known);
    entries_.pop_back();
  }
}

}  // namespace iw::swizzle
