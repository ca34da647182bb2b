// Owned fields under random edits by plain stores and IW_assign, with releases and aborts, beside a
// model [COPY-3] [COPY-4]: after each section this copy, and from time to time another process's,
// has the model's values; every owned block has one field, and there is no block besides.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "abi/tests/pads.h"
#include "abi/tests/server_process.h"
#include "abi/tests/statistics.h"
#include "interweave.h"

namespace iw::test {
namespace {

constexpr std::size_t slots = 6;

struct Model {
  std::string title;
  std::vector<int> marks;
  int kind = 0;
  std::string text;
  int number = 0;
  std::vector<std::string> kids;

  [[nodiscard]] std::string words() const {
    std::string all = title;
    for (const int mark : marks) all.append(1, ',').append(std::to_string(mark));
    all += "/";
    if (kind == 1) all += text;
    if (kind == 2) all += std::to_string(number);
    all += '{';
    for (const std::string& kid : kids) all.append(kid).append("{}");
    return all.append(1, '}');
  }
  [[nodiscard]] std::size_t owned_blocks() const {
    std::size_t count = (title.empty() ? 0 : 1) + (marks.empty() ? 0 : 1) +
                        (kind == 1 && !text.empty() ? 1 : 0) + (kids.empty() ? 0 : 1);
    for (const std::string& kid : kids) count += kid.empty() ? 0 : 1;
    return count;
  }
};

class Editor {
 public:
  Editor(IW_handle_t segment, unsigned seed) : segment_(segment), random_(seed) {}

  void section(int edits) {
    ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
    const auto before = models_;
    const auto pads_before = pads_;
    if (below(3) == 0) edit_in_place();
    for (int i = 0; i < edits; ++i) edit(below(slots), below(slots));
    if (below(4) == 0) {
      models_ = before;
      pads_ = pads_before;
      ASSERT_EQ(IW_wl_abort(segment_), 0) << IW_strerror();
    } else {
      ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
    }
    check();
  }

  void check_elsewhere(Agent& agent) {
    ASSERT_EQ(agent.tell("rl"), "ok");
    for (std::size_t i = 0; i < slots; ++i) {
      if (pads_[i] == nullptr) continue;
      ASSERT_EQ(agent.tell("pad " + name(i)), models_[i].words()) << name(i);
    }
    EXPECT_EQ(agent.tell("blocks"), std::to_string(stats_of(segment_).blocks));
    ASSERT_EQ(agent.tell("rl_release"), "ok");
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }
  static std::string name(std::size_t slot) {
    return std::string("p").append(std::to_string(slot));
  }
  std::string text() { return std::string(below(40), static_cast<char>('a' + below(26))); }

  void give(void* field, const std::string& value) {
    ASSERT_EQ(IW_assign(segment_, field, value.data(), value.size()), 0) << IW_strerror();
  }

  // Only before anything else in a section: later two fields may lead to one block for a while.
  void edit_in_place() {
    const std::size_t i = below(slots);
    if (pads_[i] == nullptr || models_[i].title.empty()) return;
    pads_[i]->title[0] = 'X';
    models_[i].title[0] = 'X';
  }

  void edit(std::size_t i, std::size_t j) {
    Pad* const pad = pads_[i];
    if (pad == nullptr) return make(i);
    Model& model = models_[i];
    switch (below(10)) {
      case 0:
        model.title = text();
        return give(&pad->title, model.title);
      case 1:
        pad->title = nullptr;
        model.title.clear();
        return;
      case 2:
        return assign_marks(*pad, model);
      case 3:
        return assign_kids(*pad, model);
      case 4:
        return switch_arm(*pad, model);
      case 5:
        pad->kids = {0, nullptr};
        model.kids.clear();
        return;
      case 6:
        if (pads_[j] == nullptr || i == j) return;
        std::swap(*pad, *pads_[j]);
        return std::swap(model, models_[j]);
      case 7:
        ASSERT_EQ(IW_free(segment_, pad), 0) << IW_strerror();
        pads_[i] = nullptr;
        model = {};
        return;
      default:
        if (pads_[j] == nullptr) return;
        *pad = *pads_[j];
        model = Model(models_[j]);
    }
  }

  void make(std::size_t i) {
    pads_[i] = static_cast<Pad*>(IW_malloc_named(segment_, &pad_type, name(i).c_str()));
    ASSERT_NE(pads_[i], nullptr) << IW_strerror();
  }

  void assign_marks(Pad& pad, Model& model) {
    model.marks.assign(below(5), static_cast<int>(below(100)));
    ASSERT_EQ(IW_assign(segment_, &pad.marks, model.marks.data(), model.marks.size()), 0)
        << IW_strerror();
  }

  void assign_kids(Pad& pad, Model& model) {
    model.kids.assign(below(4), "");
    ASSERT_EQ(IW_assign(segment_, &pad.kids, nullptr, model.kids.size()), 0) << IW_strerror();
    for (std::size_t k = 0; k < model.kids.size(); ++k) {
      model.kids[k] = text();
      give(&pad.kids.val[k].name, model.kids[k]);
    }
  }

  void switch_arm(Pad& pad, Model& model) {
    model.kind = static_cast<int>(below(3));
    model.text = text();
    model.number = static_cast<int>(below(1000));
    pad.extra = {};
    pad.extra.kind = model.kind;
    if (model.kind == 1) give(&pad.extra.text, model.text);
    if (model.kind == 2) pad.extra.number = model.number;
  }

  void check() {
    std::size_t expected = 0;
    std::set<const void*> owned;
    std::size_t held = 0;
    const auto note = [&](const void* value) {
      if (value == nullptr) return;
      owned.insert(value);
      ++held;
    };
    for (std::size_t i = 0; i < slots; ++i) {
      if (pads_[i] == nullptr) continue;
      ASSERT_EQ(words_of(*pads_[i]), models_[i].words()) << name(i);
      expected += 1 + models_[i].owned_blocks();
      note(pads_[i]->title);
      note(pads_[i]->marks.val);
      if (pads_[i]->extra.kind == 1) note(pads_[i]->extra.text);
      note(pads_[i]->kids.val);
      for (unsigned int k = 0; k < pads_[i]->kids.len; ++k) note(pads_[i]->kids.val[k].name);
    }
    EXPECT_EQ(owned.size(), held) << "a block with two owners";
    EXPECT_EQ(stats_of(segment_).blocks, expected);
  }

  IW_handle_t segment_;
  std::mt19937 random_;
  std::array<Model, slots> models_;
  std::array<Pad*, slots> pads_{};
};

TEST(OwnedRandomEdits, Copy4EveryCopyHasTheModelsValues) {
  ASSERT_EQ(register_pads(), 0) << IW_strerror();
  Server server;
  ASSERT_TRUE(server.good());
  for (unsigned seed = 1; seed <= 8 && !::testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string url = server.url("/owned" + std::to_string(seed));
    const IW_handle_t segment = IW_open_segment(url.c_str());
    ASSERT_NE(segment, nullptr) << IW_strerror();
    Agent agent;
    ASSERT_EQ(agent.tell("open " + url + " 30"), "ok");
    Editor editor(segment, seed);
    for (int i = 0; i < 150 && !::testing::Test::HasFatalFailure(); ++i) {
      editor.section(1 + i % 9);
      if (i % 5 == 4) editor.check_elsewhere(agent);
    }
    EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
  }
}

}  // namespace
}  // namespace iw::test
