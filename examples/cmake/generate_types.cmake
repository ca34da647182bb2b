# generate_types(TARGET FILE.x): compiles FILE.x to C while building and adds the result to TARGET.
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
  add_custom_command(
    OUTPUT ${out}/${name}.h ${out}/${name}.c
    COMMAND ${IW_IDL} ${source} --lang c --out ${out}
    DEPENDS ${source}
    COMMENT "Compiling ${name}.x"
    VERBATIM)
  target_sources(${target} PRIVATE ${out}/${name}.c)
  target_include_directories(${target} PUBLIC ${out})
endfunction()
