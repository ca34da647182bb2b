# GoogleTest: the distribution's library, or, when building for another machine, its sources.
set(IW_GTEST_SOURCE "/usr/src/googletest" CACHE PATH
    "GoogleTest's sources (Debian: package googletest), for cross builds")

if(CMAKE_CROSSCOMPILING AND EXISTS "${IW_GTEST_SOURCE}/CMakeLists.txt")
  set(INSTALL_GTEST OFF CACHE BOOL "" FORCE)
  set(BUILD_GMOCK OFF CACHE BOOL "" FORCE)
  add_subdirectory("${IW_GTEST_SOURCE}" googletest EXCLUDE_FROM_ALL)
  foreach(library IN ITEMS gtest gtest_main)  # as the distribution's: its headers give no warnings
    get_target_property(folders ${library} INTERFACE_INCLUDE_DIRECTORIES)
    set_target_properties(${library} PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${folders}")
  endforeach()
else()
  find_package(GTest)
  if(NOT GTest_FOUND)
    message(FATAL_ERROR "GoogleTest was not found. Install it (Debian, Ubuntu: apt-get install "
                        "libgtest-dev) or configure with -DIW_TESTS=OFF.")
  endif()
endif()
