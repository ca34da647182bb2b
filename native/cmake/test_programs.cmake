# Programs and libraries that only tests need. `cmake --build` leaves them out; the target `tests`
# builds them all.
#   iw_test_programs(<target>...)
if(NOT TARGET tests)
  add_custom_target(tests)
endif()

# iw_define_for(<source> NAME=VALUE...): for this file alone, since a path in the definitions of a
# whole program keeps ccache from serving another clone.
function(iw_define_for source)
  set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS ${ARGN})
endfunction()

function(iw_test_programs)
  set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(tests ${ARGN})
endfunction()
