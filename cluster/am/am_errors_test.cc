// Each call that is misused returns an error.
#include "am/am_processes.h"

using namespace iw::am_test;

namespace {

int result_in_handler[4];
ep_t endpoint_in_handler;
int index_in_handler;

void misbehave(void* token, int) {
  en_t name;
  AM_GetSourceEndpoint(token, &name);
  eb_t bundle;
  result_in_handler[0] = AM_Request0(endpoint_in_handler, index_in_handler, 1);
  result_in_handler[1] = AM_Map(endpoint_in_handler, 200, name, 0);
  result_in_handler[2] = AM_AllocateBundle(AM_SEQ, &bundle);
  result_in_handler[3] = AM_Reply0(token, 5000);
}

void on_answer(void*) {}

}  // namespace

TEST(Errors, BeforeInit) {
  eb_t bundle;
  EXPECT_EQ(AM_AllocateBundle(AM_SEQ, &bundle), AM_ERR_NOT_INIT);
  EXPECT_EQ(AM_Terminate(), AM_ERR_NOT_INIT);
  en_t name{};
  EXPECT_EQ(AMNS_Register("a", name), AM_ERR_NOT_INIT);
  EXPECT_EQ(AMNS_Lookup("a", &name), AM_ERR_NOT_INIT);
  EXPECT_EQ(AMNS_Unregister("a"), AM_ERR_NOT_INIT);
}

TEST(Errors, BeforeInitWhateverTheArgumentsAre) {
  en_t name{};
  for (const char* string : {static_cast<const char*>(nullptr), "", "no name"}) {
    EXPECT_EQ(AMNS_Init(string), AM_ERR_NOT_INIT);
    EXPECT_EQ(AMNS_Register(string, name), AM_ERR_NOT_INIT);
    EXPECT_EQ(AMNS_Lookup(string, nullptr), AM_ERR_NOT_INIT);
    EXPECT_EQ(AMNS_Unregister(string), AM_ERR_NOT_INIT);
  }
}

TEST(Errors, InitIsCounted) {
  const Library first;
  { const Library second; }
  const Endpoint still_works;
}

TEST(Errors, ArgumentsOutOfRange) {
  const Library library;
  const Endpoint here;
  eb_t bundle;
  ep_t ep;
  EXPECT_EQ(AM_AllocateBundle(7, &bundle), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_AllocateBundle(AM_SEQ, nullptr), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_AllocateEndpoint(nullptr, &ep, nullptr), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_AllocateKnownEndpoint(here.bundle, &ep, 0x10000), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Poll(nullptr), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Wait(here.bundle), AM_ERR_BAD_ARG) << "no event is awaited";
  EXPECT_EQ(AM_SetEventMask(here.bundle, 2), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_SetHandler(here.ep, 256, nullptr), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_SetHandler(here.ep, -1, nullptr), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_SetNumHandlers(here.ep, 0), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_SetNumTranslations(here.ep, 1 << 20), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_SetExpectedResources(here.ep, 1, 0), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_SetExpectedResources(here.ep, 1, 1025), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_SetSeg(here.ep, nullptr, 1), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_SetRequestWait(here.bundle, -1), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Map(here.ep, 256, here.name, 0), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Map(here.ep, 0, en_t{}, 0), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_UnMap(here.ep, 0), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Request0(here.ep, 0, 1), AM_ERR_BAD_ARG) << "not mapped";
  EXPECT_EQ(AM_GetSourceEndpoint(nullptr, nullptr), AM_ERR_BAD_ARG);
  for (int result = AM_OK; result <= AM_ERR_IN_USE; result++) {
    EXPECT_STRNE(AM_StrError(result), AM_StrError(99));
  }
}

TEST(Errors, TranslationsAndHandlersThatAreTaken) {
  const Library library;
  const Endpoint here;
  EXPECT_EQ(AM_Map(here.ep, 3, here.name, 5), AM_OK);
  EXPECT_EQ(AM_Map(here.ep, 3, here.name, 5), AM_ERR_IN_USE);
  int index = -1, count = 0;
  EXPECT_EQ(AM_MapAny(here.ep, &index, here.name, 5), AM_OK);
  EXPECT_EQ(index, 0);
  EXPECT_EQ(AM_GetTranslationInuse(here.ep, 3), AM_OK);
  EXPECT_EQ(AM_GetTranslationInuse(here.ep, 2), AM_ERR_RESOURCE);
  tag_t tag = 0;
  EXPECT_EQ(AM_GetTranslationTag(here.ep, 3, &tag), AM_OK);
  EXPECT_EQ(tag, 5u);
  en_t name;
  EXPECT_EQ(AM_GetTranslationName(here.ep, 3, &name), AM_OK);
  EXPECT_EQ(std::memcmp(name.bytes, here.name.bytes, sizeof name.bytes), 0);
  EXPECT_EQ(AM_SetNumTranslations(here.ep, 3), AM_ERR_IN_USE);
  EXPECT_EQ(AM_UnMap(here.ep, 3), AM_OK);
  EXPECT_EQ(AM_SetNumTranslations(here.ep, 1), AM_OK);
  EXPECT_EQ(AM_GetNumTranslations(here.ep, &count), AM_OK);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(AM_MapAny(here.ep, &index, here.name, 5), AM_ERR_RESOURCE);
  handler_t any = -1;
  EXPECT_EQ(AM_SetHandlerAny(here.ep, &any, handler(&on_answer)), AM_OK);
  EXPECT_EQ(any, 1);
  EXPECT_EQ(AM_SetNumHandlers(here.ep, 1), AM_ERR_IN_USE);
  EXPECT_EQ(AM_SetHandler(here.ep, any, nullptr), AM_OK);
  EXPECT_EQ(AM_SetNumHandlers(here.ep, 1), AM_OK);
  EXPECT_EQ(AM_SetHandlerAny(here.ep, &any, handler(&on_answer)), AM_ERR_RESOURCE);
}

TEST(Errors, RequestsNeedExpectedResourcesAndANewEndpointTakesNothing) {
  const Library library;
  const Endpoint here;
  ep_t ep = nullptr;
  ASSERT_EQ(AM_AllocateEndpoint(here.bundle, &ep, nullptr), AM_OK);
  ASSERT_EQ(AM_Map(ep, 0, here.name, right_tag), AM_OK);
  EXPECT_EQ(AM_Request0(ep, 0, 1), AM_ERR_NOT_INIT);
  tag_t tag = 1;
  EXPECT_EQ(AM_GetTag(ep, &tag), AM_OK);
  EXPECT_EQ(tag, AM_NONE);
}

TEST(Errors, BlocksThatAreTooLong) {
  const Library library;
  const Endpoint here;
  const int self = here.map(here.name);
  const std::vector<std::byte> block(static_cast<std::size_t>(AM_MaxLong()) + 1);
  EXPECT_EQ(
      AM_RequestI0(here.ep, self, 1, block.data(), static_cast<std::size_t>(AM_MaxMedium()) + 1),
      AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_RequestXfer0(here.ep, self, 0, 1, block.data(), block.size()), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_GetXfer0(here.ep, self, 0, 1, 0, block.size()), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Request0(here.ep, self, 0), AM_ERR_BAD_ARG) << "0 is for what comes back";
}

TEST(Errors, WhatAHandlerMayNot) {
  const Library library;
  const Endpoint here;
  endpoint_in_handler = here.ep;
  index_in_handler = here.map(here.name);
  here.set(10, handler(&misbehave));
  here.set(1, handler(&on_answer));
  result_in_handler[3] = -1;
  ASSERT_EQ(AM_Request1(here.ep, index_in_handler, 10, 0), AM_OK);
  EXPECT_EQ(result_in_handler[3], -1) << "a handler ran before the program polled";
  ASSERT_TRUE(here.poll_until([] { return result_in_handler[3] != -1; }));
  for (int i = 0; i < 3; i++) EXPECT_EQ(result_in_handler[i], AM_ERR_RESOURCE) << i;
  EXPECT_EQ(result_in_handler[3], AM_ERR_BAD_ARG);
}

TEST(Errors, AMappedEndpointDoesNotMove) {
  const Library library;
  const Endpoint here, there;
  ep_t ep = nullptr;
  en_t before, after;
  ASSERT_EQ(AM_AllocateEndpoint(here.bundle, &ep, &before), AM_OK);
  EXPECT_EQ(AM_MoveEndpoint(ep, there.bundle, here.bundle), AM_ERR_BAD_ARG);
  ASSERT_EQ(AM_MoveEndpoint(ep, here.bundle, there.bundle), AM_OK);
  ASSERT_EQ(AM_GetEndpointName(ep, &after), AM_OK);
  EXPECT_NE(std::memcmp(before.bytes, after.bytes, sizeof before.bytes), 0);
  ASSERT_EQ(AM_Map(ep, 0, here.name, 1), AM_OK);
  EXPECT_EQ(AM_MoveEndpoint(ep, there.bundle, here.bundle), AM_ERR_IN_USE);
}
