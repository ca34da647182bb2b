# The toolchain of another machine, by the name of its Debian cross compiler:
#   cmake -DIW_TARGET=s390x-linux-gnu --toolchain native/cmake/cross.cmake ...
# Tests run under qemu's user emulation (package qemu-user-static), wine64 for Windows, or natively
# where the processor can. IW_PAGE_BYTES makes the emulated machine's pages larger than the host's.
set(IW_TARGET "" CACHE STRING "Triplet of the machine to build for, e.g. s390x-linux-gnu")
set(IW_PAGE_BYTES "" CACHE STRING
  "Page size that the emulator shows to the tests (aarch64, ppc64, mips64)")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES IW_TARGET IW_PAGE_BYTES)

string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${IW_TARGET}")
set(_iw_variant "")
if(IW_TARGET MATCHES "mingw")
  set(CMAKE_SYSTEM_NAME Windows)
  set(_iw_variant "-posix") # the one of Debian's two that has std::thread
else()
  set(CMAKE_SYSTEM_NAME Linux)
endif()

find_program(_iw_cxx "${IW_TARGET}-g++${_iw_variant}")
find_program(_iw_cc "${IW_TARGET}-gcc${_iw_variant}")
if(NOT _iw_cxx OR NOT _iw_cc)
  set(_iw_package "g++-${IW_TARGET}")
  if(IW_TARGET MATCHES "mingw")
    set(_iw_package "g++-mingw-w64-${CMAKE_SYSTEM_PROCESSOR}-posix")
  endif()
  string(REPLACE "_" "-" _iw_package "${_iw_package}") # which no name of a package has
  message(FATAL_ERROR "The cross compiler ${IW_TARGET}-g++${_iw_variant} is missing. "
                      "On Debian or Ubuntu: apt-get install ${_iw_package}")
endif()
set(CMAKE_C_COMPILER "${_iw_cc}")
set(CMAKE_CXX_COMPILER "${_iw_cxx}")

set(CMAKE_FIND_ROOT_PATH "/usr/${IW_TARGET}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# A static program needs no library of the other machine when it runs. glibc's static start-up code
# crashes qemu's alpha, so that programs for it are dynamic.
set(_iw_libraries "")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "alpha")
  set(_iw_libraries -L "/usr/${IW_TARGET}")
else()
  set(CMAKE_EXE_LINKER_FLAGS_INIT "-static")
endif()

if(IW_TARGET MATCHES "mingw")
  # Debian keeps wine64 off the path. Its debugger would take a crash for a success.
  find_program(_iw_wine wine64 PATHS /usr/lib/wine)
  if(_iw_wine)
    set(CMAKE_CROSSCOMPILING_EMULATOR /usr/bin/env "WINEPREFIX=${CMAKE_BINARY_DIR}/wine"
      WINEDEBUG=-all WINEDLLOVERRIDES=winedbg.exe,mscoree,mshtml=d "${_iw_wine}")
  endif()
elseif(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^i.86$")
  set(_iw_qemu "${CMAKE_SYSTEM_PROCESSOR}")
  if(_iw_qemu STREQUAL "powerpc")
    set(_iw_qemu ppc)
  endif()
  find_program(_iw_emulator "qemu-${_iw_qemu}-static")
  if(_iw_emulator)
    set(CMAKE_CROSSCOMPILING_EMULATOR "${_iw_emulator}" ${_iw_libraries})
    if(IW_PAGE_BYTES)
      list(APPEND CMAKE_CROSSCOMPILING_EMULATOR -p "${IW_PAGE_BYTES}")
    endif()
  endif()
endif()
