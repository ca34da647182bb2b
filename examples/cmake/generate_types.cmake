# generate_types(TARGET FILE.x [cpp|fortran]): compiles FILE.x to C, and to C++ or Fortran if that
# is asked, while building and adds the result to TARGET.
#
# IW_IDL is the compiler as a command: `interweave compile` of an installation, or the build's own
# `interweave-idl data`. The top of the repository sets it; alone, the installed one is looked for.
if(NOT IW_IDL)
  find_program(IW_PROGRAM interweave)
  if(IW_PROGRAM)
    set(IW_IDL "${IW_PROGRAM};compile" CACHE STRING "The command that compiles .x files")
  endif()
endif()

function(generate_types target file)
  get_filename_component(source ${file} ABSOLUTE)
  get_filename_component(name ${file} NAME_WE)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/types)
  file(MAKE_DIRECTORY ${out})
  set(language c)
  set(generated ${out}/${name}.h ${out}/${name}.c)
  if("cpp" IN_LIST ARGN)
    set(language cpp)
    set(generated ${out}/${name}.h ${out}/${name}.hpp ${out}/${name}.cpp)
  elseif("fortran" IN_LIST ARGN)
    set(language fortran)
    list(APPEND generated ${out}/${name}.f90)
    set_target_properties(${target} PROPERTIES Fortran_MODULE_DIRECTORY ${out})
  endif()
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${IW_IDL} ${source} --lang ${language} --out ${out}
    DEPENDS ${source}
    COMMENT "Compiling ${name}.x"
    VERBATIM)
  list(FILTER generated EXCLUDE REGEX "\\.h(pp)?$")
  target_sources(${target} PRIVATE ${generated})
  target_include_directories(${target} PUBLIC ${out})
endfunction()
