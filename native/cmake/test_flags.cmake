# How test programs are compiled: lightly optimised (tests of all orders of events compute for
# minutes otherwise), without the checks for undefined behaviour in the tests' own code (the rooms
# under test have them), and with GoogleTest's header compiled once for all of them. Otherwise the
# tests would take two to three times as long to build.
#   iw_compile_tests(<target>)
include(${CMAKE_CURRENT_LIST_DIR}/test_programs.cmake)
add_library(iw_test_flags INTERFACE)
target_compile_options(iw_test_flags INTERFACE $<$<CONFIG:Release>:-O1>)
if(CMAKE_CROSSCOMPILING_EMULATOR)
  target_compile_definitions(iw_test_flags INTERFACE IW_EMULATED)
endif()
# Last, because it takes back what the rooms' flags switch on.
add_library(iw_unchecked INTERFACE)
if(IW_SANITIZE)
  target_compile_options(iw_unchecked INTERFACE -fno-sanitize=undefined)
endif()
target_link_libraries(iw_test_flags INTERFACE iw_build_flags GTest::gtest iw_unchecked)

# All who use the precompiled header must be compiled with the same flags.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/googletest_header.cc "int main() { return 0; }\n")
add_executable(iw_googletest_header ${CMAKE_CURRENT_BINARY_DIR}/googletest_header.cc)
target_link_libraries(iw_googletest_header PRIVATE iw_test_flags)
iw_test_programs(iw_googletest_header)
target_precompile_headers(iw_googletest_header PRIVATE
  <gtest/gtest.h> <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <cstring>
  <filesystem> <fstream> <functional> <map> <memory> <mutex> <optional> <random> <set> <span>
  <sstream> <string> <string_view> <thread> <unordered_map> <vector>)

function(iw_compile_tests target)
  iw_test_programs(${target})
  target_link_libraries(${target} PRIVATE iw_test_flags)
  target_precompile_headers(${target} REUSE_FROM iw_googletest_header)
endfunction()
