# Programs and libraries that only tests need. `cmake --build` leaves them out; the target `tests` builds
# them all.
#   iw_test_programs(<target>...)
if(NOT TARGET tests)
  add_custom_target(tests)
endif()

function(iw_test_programs)
  set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(tests ${ARGN})
endfunction()
