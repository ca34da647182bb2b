# How a room is declared, so that every room is built with the same flags:
#   iw_room(memory SOURCES heap.cc DEPENDS platform types)
#   iw_room_tests(memory SOURCES heap_test.cc [DEPENDS ...])
# DEPENDS names rooms and is where the import edges of ARCHITECTURE.md show. Includes are written
# from native/: #include "memory/heap.h".

add_library(iw_build_flags INTERFACE)
target_include_directories(iw_build_flags INTERFACE
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
# -Wrestrict is wrong about std::string in GCC 12 (GCC bug 105651).
target_compile_options(iw_build_flags INTERFACE
  -Wall -Wextra $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  -Werror=return-type -Werror=uninitialized $<$<CXX_COMPILER_ID:GNU>:-Wno-error=maybe-uninitialized> -Werror=format -Werror=unused-result
  -Werror=implicit-fallthrough -Werror=switch $<$<COMPILE_LANGUAGE:CXX>:-Werror=delete-non-virtual-dtor>)
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

function(iw_room room)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(iw_${room} STATIC ${ARG_SOURCES})
  target_link_libraries(iw_${room} PUBLIC iw_build_flags)
  foreach(other IN LISTS ARG_DEPENDS)
    target_link_libraries(iw_${room} PUBLIC iw_${other})
  endforeach()
endfunction()

# One test program per room, <room>_test, registered with ctest as native.<room>.
function(iw_room_tests room)
  if(NOT IW_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${room}_test ${ARG_SOURCES})
  iw_compile_tests(${room}_test)
  target_link_libraries(${room}_test PRIVATE iw_${room} GTest::gtest GTest::gtest_main)
  foreach(other IN LISTS ARG_DEPENDS)
    target_link_libraries(${room}_test PRIVATE iw_${other})
  endforeach()
  add_test(NAME native.${room} COMMAND ${room}_test)
  set_tests_properties(native.${room} PROPERTIES TIMEOUT 300)
  if(WIN32) # the status of a crashed program can be 0 in wine: what it says counts
    set_tests_properties(native.${room} PROPERTIES
      PASS_REGULAR_EXPRESSION "\\[  PASSED  \\]" FAIL_REGULAR_EXPRESSION "\\[  FAILED  \\]")
  endif()
endfunction()
