// Random sequences of everything a session does with an area, beside a model of two plain arrays.
#include <cstring>
#include <random>

#include "track/tracker_fixture.h"

namespace iw::track {
namespace {

class Model {
 public:
  Model(Area& area, bool is_exact, unsigned seed)
      : area_(area),
        is_exact_(is_exact),
        pages_(area.size_bytes() / platform::page_size()),
        words_per_page_(platform::page_size() / sizeof(std::uint32_t)),
        view_(pages_ * words_per_page_),
        pristine_(pages_ * words_per_page_),
        random_(seed) {}

  void step() {
    switch (random_() % 4) {
      case 0:
        return release();
      case 1:
        return abort();
      case 2:
        return update();
      default:
        return stray_stores();
    }
  }

  [[nodiscard]] int collects_with_open_pages() const { return collects_with_open_pages_; }

  // The whole memory, not only what the step touched.
  void check() {
    ASSERT_EQ(std::memcmp(area_.view(), view_.data(), area_.size_bytes()), 0);
    ASSERT_EQ(std::memcmp(area_.pristine(), pristine_.data(), area_.size_bytes()), 0);
  }

 private:
  void store_some() {
    stored_.clear();
    // Often to the same pages, so that some are opened.
    const bool is_home = random_() % 4 != 0;
    const std::size_t first = is_home ? 2 : random_() % pages_;
    const std::size_t spread = is_home ? 5 : 1 + random_() % pages_;
    for (std::size_t i = random_() % 200; i > 0; --i) {
      const std::size_t page = (first + random_() % spread) % pages_;
      const std::size_t word = random_() % words_per_page_;
      const auto value = static_cast<std::uint32_t>(random_() % 4);  // often the same value
      view_word(area_, page, word) = value;
      view_[page * words_per_page_ + word] = value;
      stored_.insert(page);
    }
  }

  // Collects, checks that nothing is missing, and returns the ranges of the pages found.
  std::vector<PageRange> collect_and_check() {
    std::vector<PageRange> dirty;
    EXPECT_TRUE(area_.collect(dirty).ok());
    const Pages found = pages_of(dirty);
    if (is_exact_ && area_.open_pages() == 0) {
      EXPECT_EQ(found, stored_);
    } else {
      for (std::size_t page : stored_) EXPECT_TRUE(found.contains(page));
    }
    if (area_.open_pages() != 0) ++collects_with_open_pages_;
    return dirty;
  }

  void release() {
    ASSERT_TRUE(area_.arm().ok());
    store_some();
    collect_and_check();
    std::vector<PageRange> changed;
    for (std::size_t i = 0; i < view_.size(); ++i) {
      if (view_[i] != pristine_[i]) changed.push_back({i * 4, i * 4 + 4});
    }
    ASSERT_TRUE(area_.commit(changed).ok());
    pristine_ = view_;
  }

  void abort() {
    ASSERT_TRUE(area_.arm().ok());
    store_some();
    undo();
  }

  void stray_stores() {
    store_some();
    undo();
  }

  void undo() {
    const auto dirty = collect_and_check();
    ASSERT_TRUE(area_.rollback(dirty).ok());
    view_ = pristine_;
  }

  void update() {
    stored_.clear();
    collect_and_check();
    const std::size_t largest = random_() % 3 == 0 ? area_.size_bytes() : 64;
    for (std::size_t i = 1 + random_() % 20; i > 0; --i) {
      const std::size_t size = random_() % largest / 4 * 4;
      const std::size_t offset = random_() % (area_.size_bytes() - size) / 4 * 4;
      std::vector<std::uint32_t> data(size / 4, static_cast<std::uint32_t>(random_()));
      ASSERT_TRUE(area_.apply(offset, data.data(), size).ok());
      std::copy(data.begin(), data.end(),
                pristine_.begin() + static_cast<std::ptrdiff_t>(offset / 4));
    }
    ASSERT_TRUE(area_.apply_done().ok());
    view_ = pristine_;
  }

  Area& area_;
  const bool is_exact_;
  const std::size_t pages_;
  const std::size_t words_per_page_;
  std::vector<std::uint32_t> view_;
  std::vector<std::uint32_t> pristine_;
  Pages stored_;
  int collects_with_open_pages_ = 0;
  std::mt19937 random_;
};

class RandomOperations : public EachTracker {};
IW_FOR_EACH_TRACKER(RandomOperations);

TEST_P(RandomOperations, AgreeWithAModel) {
  int with_open_pages = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    auto area = new_area(seed % 2 == 0 ? 150 : 9);
    Model model(*area, is_exact(), seed);
    for (int step = 0; step < 150; ++step) {
      model.step();
      model.check();
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", step " << step;
    }
    with_open_pages += model.collects_with_open_pages();
  }
  EXPECT_EQ(with_open_pages > 0, is_exact()) << "open pages were not tried";
}

}  // namespace
}  // namespace iw::track
