// IW_assign: strings and sequences whose values are blocks owned by the field (WIRE-7), against the
// real server.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "abi/tests/pads.h"
#include "abi/tests/server_process.h"
#include "abi/tests/statistics.h"
#include "client/segment.h"
#include "copy/owned_cycles.h"
#include "interweave.h"

namespace iw::test {
namespace {

// struct test_note { string title<>; int marks<4>; };  struct test_book { test_note notes<>; };
struct Note {
  char* title;
  Marks marks;
};
struct Book {
  unsigned int len;
  Note* val;
};

const IW_type_def title_type = IW_TEXT_DEF("", 0);
const IW_type_def marks_type = IW_SEQUENCE_DEF("", &IW_def_int, 4);
const IW_field_def note_fields[] = {{"title", &title_type, offsetof(Note, title)},
                                    {"marks", &marks_type, offsetof(Note, marks)}};
const IW_type_def note_type =
    IW_RECORD_DEF("test_note", sizeof(Note), alignof(Note), note_fields, 2);
const IW_type_def notes_type = IW_SEQUENCE_DEF("", &note_type, 0);
const IW_field_def book_fields[] = {{"notes", &notes_type, 0}};
const IW_type_def book_type =
    IW_RECORD_DEF("test_book", sizeof(Book), alignof(Book), book_fields, 1);

class OwnedFields : public ::testing::Test {
 protected:
  void SetUp() override {
    const IW_type_t types[] = {&note_type, &book_type};
    ASSERT_EQ(IW_register_types(types, 2), 0) << IW_strerror();
    ASSERT_TRUE(server_.good());
    url_ = server_.url("/owned");
    segment_ = IW_open_segment(url_.c_str());
    ASSERT_NE(segment_, nullptr) << IW_strerror();
  }
  void TearDown() override {
    if (segment_ == nullptr) return;
    EXPECT_EQ(IW_close_segment(segment_), 0) << IW_strerror();
  }

  std::uint64_t blocks() { return stats_of(segment_).blocks; }
  void begin() { ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror(); }
  void commit() { ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror(); }
  // The copy is dropped and fetched anew.
  template <typename T>
  const T* fetched(const char* name) {
    EXPECT_EQ(IW_close_segment(segment_), 0);
    segment_ = IW_open_segment(url_.c_str());
    EXPECT_NE(segment_, nullptr) << IW_strerror();
    EXPECT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
    return static_cast<T*>(IW_mip_to_ptr((url_ + "#" + name).c_str()));
  }

  Server server_;
  std::string url_;
  IW_handle_t segment_ = nullptr;
};

TEST_F(OwnedFields, ValuesTravelAndAreReplaced) {
  begin();
  auto* const note = static_cast<Note*>(IW_malloc_named(segment_, &note_type, "note"));
  ASSERT_NE(note, nullptr) << IW_strerror();
  const int marks[] = {3, 1, 4};
  ASSERT_EQ(IW_assign(segment_, &note->title, "first", 5), 0) << IW_strerror();
  ASSERT_EQ(IW_assign(segment_, &note->marks, marks, 3), 0) << IW_strerror();
  EXPECT_STREQ(note->title, "first");
  commit();
  EXPECT_EQ(blocks(), 3u);
  begin();
  const std::string longer(10000, 'x');
  ASSERT_EQ(IW_assign(segment_, &note->title, longer.data(), longer.size()), 0) << IW_strerror();
  commit();
  EXPECT_EQ(blocks(), 3u) << "the old value is freed";
  const Note* const again = fetched<Note>("note");
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->title, longer);
  ASSERT_EQ(again->marks.len, 3u);
  EXPECT_EQ(again->marks.val[2], 4);
  EXPECT_EQ(IW_rl_release(segment_), 0);
}

TEST_F(OwnedFields, ATextWhoseNulWasOverwrittenIsRefusedUntilItHasOneAgain) {
  begin();
  auto* const note = static_cast<Note*>(IW_malloc_named(segment_, &note_type, "note"));
  ASSERT_EQ(IW_assign(segment_, &note->title, "0123456789", 10), 0) << IW_strerror();
  commit();
  begin();
  note->title[10] = '!';
  EXPECT_EQ(IW_wl_release(segment_), IW_EBAD_VALUE);
  EXPECT_NE(std::string(IW_strerror()).find("no NUL"), std::string::npos) << IW_strerror();
  note->title[10] = '\0';
  note->title[0] = 'x';
  commit();
  EXPECT_STREQ(fetched<Note>("note")->title, "x123456789");
  EXPECT_EQ(IW_rl_release(segment_), 0);
}

TEST_F(OwnedFields, NothingIsAnEmptyValue) {
  begin();
  auto* const note = static_cast<Note*>(IW_malloc_named(segment_, &note_type, "note"));
  ASSERT_EQ(IW_assign(segment_, &note->title, "text", 4), 0) << IW_strerror();
  ASSERT_EQ(IW_assign(segment_, &note->title, nullptr, 0), 0) << IW_strerror();
  EXPECT_EQ(note->title, nullptr);
  commit();
  EXPECT_EQ(blocks(), 1u);
}

TEST_F(OwnedFields, Copy3AnAbortBringsTheOldValueBack) {
  begin();
  auto* const note = static_cast<Note*>(IW_malloc_named(segment_, &note_type, "note"));
  ASSERT_EQ(IW_assign(segment_, &note->title, "old", 3), 0) << IW_strerror();
  commit();
  begin();
  ASSERT_EQ(IW_assign(segment_, &note->title, "newer", 5), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_abort(segment_), 0) << IW_strerror();
  EXPECT_STREQ(note->title, "old");
  EXPECT_EQ(blocks(), 2u);
}

TEST_F(OwnedFields, FreeingTheStructFreesWhatItOwnsAllTheWayDown) {
  begin();
  auto* const book = static_cast<Book*>(IW_malloc_named(segment_, &book_type, "book"));
  ASSERT_NE(book, nullptr) << IW_strerror();
  ASSERT_EQ(IW_assign(segment_, book, nullptr, 3), 0) << IW_strerror();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(IW_assign(segment_, &book->val[i].title, "note", 4), 0) << IW_strerror();
    ASSERT_EQ(IW_assign(segment_, &book->val[i].marks, &i, 1), 0) << IW_strerror();
  }
  commit();
  EXPECT_EQ(blocks(), 8u);
  const Book* const again = fetched<Book>("book");
  ASSERT_NE(again, nullptr);
  ASSERT_EQ(again->len, 3u);
  EXPECT_STREQ(again->val[2].title, "note");
  EXPECT_EQ(again->val[2].marks.val[0], 2);
  ASSERT_EQ(IW_rl_release(segment_), 0);
  begin();
  ASSERT_EQ(IW_free(segment_, const_cast<Book*>(again)), 0) << IW_strerror();
  commit();
  EXPECT_EQ(blocks(), 0u);
}

TEST_F(OwnedFields, WrongAssignmentsSayWhy) {
  begin();
  auto* const note = static_cast<Note*>(IW_malloc_named(segment_, &note_type, "note"));
  auto* const book = static_cast<Book*>(IW_malloc_named(segment_, &book_type, "book"));
  const int marks[5] = {};
  EXPECT_EQ(IW_assign(segment_, &note->marks, marks, 5), IW_ETOO_LARGE);
  EXPECT_EQ(IW_assign(segment_, &note->title, "a\0b", 3), IW_EBAD_VALUE);
  EXPECT_EQ(IW_assign(segment_, &note->marks.val, marks, 1), IW_EBAD_POINTER);
  Note local{};
  EXPECT_EQ(IW_assign(segment_, &local.marks, marks, 1), IW_EBAD_POINTER);
  EXPECT_EQ(IW_assign(segment_, book, note, 1), IW_EBAD_ARGUMENT);
  ASSERT_EQ(IW_assign(segment_, &note->marks, marks, 2), 0) << IW_strerror();
  EXPECT_EQ(IW_free(segment_, note->marks.val), IW_EBAD_ARGUMENT);
  ASSERT_EQ(IW_wl_abort(segment_), 0);
  EXPECT_EQ(IW_assign(segment_, &note->title, "x", 1), IW_ENO_LOCK);
}

// ---- [COPY-4]: plain stores between two releases may give a block two owners, or none ----

class OwnedPads : public OwnedFields {
 protected:
  void SetUp() override {
    ASSERT_EQ(register_pads(), 0) << IW_strerror();
    OwnedFields::SetUp();
    ASSERT_EQ(agent_.tell("open " + url_ + " 30"), "ok");
  }
  Pad* make(const std::string& name) {
    auto* const pad = static_cast<Pad*>(IW_malloc_named(segment_, &pad_type, name.c_str()));
    EXPECT_NE(pad, nullptr) << IW_strerror();
    return pad;
  }
  void give(void* field, const std::string& text) {
    EXPECT_EQ(IW_assign(segment_, field, text.data(), text.size()), 0) << IW_strerror();
  }
  // A pad with something in every field: 6 owned blocks.
  void fill(Pad* pad, const std::string& text) {
    const int marks[] = {1, 2};
    give(&pad->title, text);
    EXPECT_EQ(IW_assign(segment_, &pad->marks, marks, 2), 0) << IW_strerror();
    pad->extra.kind = 1;
    pad->extra.text = nullptr;
    give(&pad->extra.text, text + "!");
    EXPECT_EQ(IW_assign(segment_, &pad->kids, nullptr, 2), 0) << IW_strerror();
    give(&pad->kids.val[1].name, text + "?");
    EXPECT_EQ(IW_assign(segment_, &pad->kids.val[1].kids, nullptr, 1), 0) << IW_strerror();
  }
  std::string read_elsewhere(const std::string& name) {
    EXPECT_EQ(agent_.tell("rl"), "ok");
    std::string words = agent_.tell("pad " + name);
    EXPECT_EQ(agent_.tell("rl_release"), "ok");
    return words;
  }

  Agent agent_;
};

TEST_F(OwnedPads, Copy4AnAssignedStructHasAValueOfItsOwn) {
  begin();
  Pad* const a = make("a");
  Pad* const b = make("b");
  fill(b, "b");
  commit();
  EXPECT_EQ(blocks(), 8u);
  begin();
  *a = *b;
  commit();
  EXPECT_EQ(blocks(), 14u);
  EXPECT_NE(a->title, b->title);
  EXPECT_NE(a->kids.val, b->kids.val);
  EXPECT_NE(a->kids.val[1].name, b->kids.val[1].name);
  EXPECT_EQ(words_of(*a), words_of(*b));
  begin();
  give(&a->kids.val[1].name, "mine");
  ASSERT_EQ(IW_free(segment_, b), 0) << IW_strerror();
  commit();
  EXPECT_EQ(blocks(), 7u);
  EXPECT_EQ(words_of(*a), "b,1,2/b!{{}mine{{}}}");
  EXPECT_EQ(read_elsewhere("a"), words_of(*a));
}

TEST_F(OwnedPads, Copy4ABlockOfTheSameSectionGoesToOneOfTheFieldsThatLeadToIt) {
  begin();
  Pad* const a = make("a");
  Pad* const b = make("b");
  fill(b, "new");
  *a = *b;
  commit();
  EXPECT_EQ(blocks(), 14u);
  EXPECT_NE(a->title, b->title);
  EXPECT_EQ(read_elsewhere("a"), words_of(*b));
}

TEST_F(OwnedPads, Copy4BlocksThatMoveAreNotCopied) {
  begin();
  Pad* const a = make("a");
  Pad* const b = make("b");
  fill(a, "one");
  fill(b, "two");
  commit();
  const char* const title = a->title;
  begin();
  std::swap(*a, *b);
  commit();
  EXPECT_EQ(blocks(), 14u);
  EXPECT_EQ(b->title, title);
  EXPECT_EQ(read_elsewhere("a"), words_of(*a));
  EXPECT_EQ(read_elsewhere("b"), "one,1,2/one!{{}one?{{}}}");
}

TEST_F(OwnedPads, Copy4WhatNoFieldLeadsToIsFreed) {
  begin();
  Pad* const a = make("a");
  fill(a, "text");
  commit();
  begin();
  a->title = nullptr;
  a->extra.kind = 2;  // an arm without a block
  a->extra.number = 7;
  a->kids = {0, nullptr};  // and what the kids own
  commit();
  EXPECT_EQ(blocks(), 2u);
  EXPECT_EQ(read_elsewhere("a"), ",1,2/7{}");
  EXPECT_EQ(agent_.tell("blocks"), "2");
}

TEST_F(OwnedPads, Copy4AValueThatWasTakenOutlivesItsOldField) {
  begin();
  Pad* const a = make("a");
  Pad* const b = make("b");
  fill(b, "b");
  commit();
  begin();
  *a = *b;
  give(&b->title, "another");
  ASSERT_EQ(IW_free(segment_, a), 0) << IW_strerror();
  Pad* const c = make("c");
  *c = *b;
  ASSERT_EQ(IW_free(segment_, b), 0) << IW_strerror();
  commit();
  EXPECT_EQ(blocks(), 7u);
  EXPECT_EQ(words_of(*c), "another,1,2/b!{{}b?{{}}}");
  EXPECT_EQ(read_elsewhere("c"), words_of(*c));
}

TEST_F(OwnedPads, Copy4ASequenceThatWouldContainItselfIsRefusedByName) {
  begin();
  Pad* const a = make("a");
  fill(a, "text");
  commit();
  begin();
  a->kids.val[0].kids = a->kids;
  EXPECT_EQ(IW_wl_release(segment_), IW_EBAD_VALUE);
  EXPECT_NE(std::string(IW_strerror()).find("test_kid), unit 1: a sequence that would contain"),
            std::string::npos)
      << IW_strerror();
  a->kids.val[0].kids = {0, nullptr};
  commit();
  EXPECT_EQ(read_elsewhere("a"), "text,1,2/text!{{}text?{{}}}");
}

// A chain of three whose last leads to its first, by claims that are each harmless alone.
TEST_F(OwnedPads, Copy4ACycleOfSeveralNewFieldsIsRefused) {
  begin();
  Pad* const a = make("a");
  ASSERT_EQ(IW_assign(segment_, &a->kids, nullptr, 1), 0) << IW_strerror();
  Kids* const second = &a->kids.val[0].kids;
  ASSERT_EQ(IW_assign(segment_, second, nullptr, 1), 0) << IW_strerror();
  Kids* const third = &second->val[0].kids;
  ASSERT_EQ(IW_assign(segment_, third, nullptr, 1), 0) << IW_strerror();
  third->val[0].kids = *second;
  EXPECT_EQ(IW_wl_release(segment_), IW_EBAD_VALUE) << IW_strerror();
  third->val[0].kids = {0, nullptr};
  commit();
  EXPECT_EQ(read_elsewhere("a"), "/{{{{}}}}");
}

// What looks for cycles follows each field once. If it began anew for each new field, this release
// would take many minutes.
TEST_F(OwnedPads, Copy4ADeepValueIsLookedThroughOnce) {
  constexpr std::size_t depth = 100'000;
  begin();
  Pad* const a = make("a");
  Kids* last = &a->kids;
  for (std::size_t i = 0; i < depth; ++i) {
    ASSERT_EQ(IW_assign(segment_, last, nullptr, 1), 0) << IW_strerror();
    last = &last->val[0].kids;
  }
  commit();
  EXPECT_EQ(blocks(), depth + 1);
  const std::shared_ptr<memory::Heap> heap = (*segment_)->heap();
  copy::OwnedCycles cycles(*heap);
  memory::Block block;
  for (std::uint64_t serial = 0; heap->next_by_serial(serial, block); serial = block.serial) {
    cycles.follow(block);
  }
  EXPECT_EQ(cycles.steps(), depth);
  // Freed value by value: the server, too, is asked for nothing deep at once.
  begin();
  ASSERT_EQ(IW_free(segment_, a), 0) << IW_strerror();
  commit();
  EXPECT_EQ(blocks(), 0u);
}

// A union whose discriminant selects nothing keeps what it held until that is put right.
TEST_F(OwnedPads, Copy4ARefusedReleaseGivesUpNothing) {
  begin();
  Pad* const a = make("a");
  fill(a, "text");
  commit();
  begin();
  give(&a->extra.text, "newer");
  a->extra.kind = 9;
  EXPECT_EQ(IW_wl_release(segment_), IW_EBAD_VALUE);
  a->extra.kind = 1;
  commit();
  EXPECT_EQ(blocks(), 7u);
  EXPECT_EQ(read_elsewhere("a"), "text,1,2/newer{{}text?{{}}}");
}

TEST_F(OwnedPads, Copy4MoreCopiesThanTheGrantHasSerials) {
  constexpr unsigned int count = 5000;
  begin();
  auto* const pads = static_cast<Pad*>(IW_malloc_array(segment_, &pad_type, count, "pads"));
  ASSERT_NE(pads, nullptr) << IW_strerror();
  give(&pads[0].title, "shared");
  for (unsigned int i = 1; i < count; ++i) pads[i] = pads[0];
  commit();
  EXPECT_EQ(blocks(), 1u + count);
  begin();
  for (unsigned int i = 0; i < count; ++i) pads[i].title = nullptr;
  commit();
  EXPECT_EQ(blocks(), 1u);
}

// A value that is replaced again and again takes the room of one, here, at the server and in every
// other copy.
TEST_F(OwnedPads, Copy4TenThousandReassignmentsTakeTheRoomOfOne) {
  begin();
  Pad* const a = make("a");
  commit();
  for (int i = 0; i < 10000; ++i) {
    begin();
    give(&a->title, "value " + std::to_string(i));
    commit();
    ASSERT_EQ(blocks(), 2u);
  }
  EXPECT_EQ(read_elsewhere("a"), "value 9999/{}");
  EXPECT_EQ(agent_.tell("blocks"), "2");
  EXPECT_LT(std::stoi(agent_.tell("diff_bytes")), 1000) << "a complete copy";
}

}  // namespace
}  // namespace iw::test
