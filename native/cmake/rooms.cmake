# How a room is declared, so that every room is built with the same flags:
#   iw_room(memory SOURCES heap.cc DEPENDS platform types)
#   iw_room_tests(memory SOURCES heap_test.cc [DEPENDS ...])
# DEPENDS names rooms and is where the import edges of ARCHITECTURE.md show. Includes are written
# from native/: #include "memory/heap.h".

add_library(iw_build_flags INTERFACE)
target_include_directories(iw_build_flags INTERFACE
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
# -Wrestrict is wrong about std::string in GCC 12 (GCC bug 105651). gfortran does not know these.
set(c_warnings
  -Wall -Wextra $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  -Werror=return-type -Werror=uninitialized $<$<CXX_COMPILER_ID:GNU>:-Wno-error=maybe-uninitialized>
  -Werror=format -Werror=unused-result -Werror=implicit-fallthrough -Werror=switch)
target_compile_options(iw_build_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:${c_warnings}>
  $<$<COMPILE_LANGUAGE:CXX>:-Werror=delete-non-virtual-dtor>)
target_link_libraries(iw_build_flags INTERFACE Threads::Threads)

# Some 32-bit machines have 64-bit atomics only in a library of their own.
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("
  #include <atomic>
  #include <cstdint>
  std::atomic<std::uint64_t> value;
  int main() { return static_cast<int>(value.fetch_add(1)); }" IW_ATOMICS_ARE_BUILT_IN)
if(NOT IW_ATOMICS_ARE_BUILT_IN)
  target_link_libraries(iw_build_flags INTERFACE atomic)
endif()

if(IW_SANITIZE)
  target_compile_options(iw_build_flags INTERFACE
    -fsanitize=${IW_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(iw_build_flags INTERFACE -fsanitize=${IW_SANITIZE})
endif()

include(cmake/emulated.cmake)

# Reading headers is most of the work of an ordinary file. So the standard library's headers are
# compiled once for all rooms, and a room's files are compiled a few at a time. With
# IW_READ_HEADERS_ONCE=OFF each file is compiled alone, and one that lacks an include fails, as in
# make/thread_safety.sh.
option(IW_READ_HEADERS_ONCE
  "Precompile the standard library's headers; compile a room's files together" ON)
if(IW_READ_HEADERS_ONCE)
  set(standard_headers ${CMAKE_CURRENT_BINARY_DIR}/standard_headers.cc)
  file(CONFIGURE OUTPUT ${standard_headers} CONTENT "int main() { return 0; }\n")
  # Libraries are compiled with -fPIC and programs with -fPIE; a precompiled header
  # serves one of them.
  add_library(iw_library_headers OBJECT EXCLUDE_FROM_ALL ${standard_headers})
  add_executable(iw_program_headers EXCLUDE_FROM_ALL ${standard_headers})
  foreach(target iw_library_headers iw_program_headers)
    target_link_libraries(${target} PRIVATE iw_build_flags)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <atomic> <bit> <charconv> <chrono> <condition_variable> <cstddef>
      <cstdint> <cstdlib> <cstring> <deque> <functional> <limits> <map> <memory> <mutex> <optional>
      <set> <span> <string> <string_view> <thread> <unordered_map> <utility> <vector>)
  endforeach()
endif()

# iw_precompile(<target>): the target is compiled with these headers. It must have the rooms' flags,
# and no source in C.
function(iw_precompile target)
  if(NOT IW_READ_HEADERS_ONCE)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_precompile_headers(${target} REUSE_FROM iw_program_headers)
  else()
    target_precompile_headers(${target} REUSE_FROM iw_library_headers)
  endif()
endfunction()

function(iw_room room)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(iw_${room} STATIC ${ARG_SOURCES})
  iw_precompile(iw_${room})
  if(IW_READ_HEADERS_ONCE)
    set_target_properties(iw_${room} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
  target_link_libraries(iw_${room} PUBLIC iw_build_flags)
  foreach(other IN LISTS ARG_DEPENDS)
    target_link_libraries(iw_${room} PUBLIC iw_${other})
  endforeach()
endfunction()

# Most of a room's tests read the same headers, and a few walk through a million worlds.
option(IW_TESTS_ARE_QUICK
  "For make/mutants.sh: a room's tests are compiled as one file, and walk less far" OFF)

# One test program per room, <room>_test, registered with ctest as native.<room>.
function(iw_room_tests room)
  if(NOT IW_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${room}_test ${ARG_SOURCES})
  iw_compile_tests(${room}_test)
  if(IW_TESTS_ARE_QUICK)
    set_target_properties(${room}_test PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    list(FILTER ARG_SOURCES EXCLUDE REGEX "_test\\.cc$")
    set_source_files_properties(${ARG_SOURCES} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  target_link_libraries(${room}_test PRIVATE iw_${room} GTest::gtest GTest::gtest_main)
  foreach(other IN LISTS ARG_DEPENDS)
    target_link_libraries(${room}_test PRIVATE iw_${other})
  endforeach()
  add_test(NAME native.${room} COMMAND ${room}_test)
  set_tests_properties(native.${room} PROPERTIES TIMEOUT 600)
  if(WIN32) # the status of a crashed program can be 0 in wine: what it says counts
    set_tests_properties(native.${room} PROPERTIES
      PASS_REGULAR_EXPRESSION "\\[  PASSED  \\]" FAIL_REGULAR_EXPRESSION "\\[  FAILED  \\]")
  endif()
endfunction()
