# interweave_types(TARGET FILE.x [cpp|fortran]): compiles FILE.x to C, and to C++ or Fortran if that
# is asked, while building and adds the result to TARGET.
#
# IW_IDL is the compiler as a command. Without it, the function looks for the `interweave` program:
# IW_PROGRAM, or the one on the path. A project that commits the compiler's output needs neither.
function(_interweave_compiler result)
  if(NOT IW_IDL)
    find_program(IW_PROGRAM interweave)
    if(NOT IW_PROGRAM)
      message(FATAL_ERROR "interweave_types needs the program `interweave`, which is not on the "
        "path. Install it, name it with -DIW_PROGRAM=FILE, or compile the .x files elsewhere and "
        "add the compiler's output to your sources.")
    endif()
    set(IW_IDL "${IW_PROGRAM};compile")
  endif()
  set(${result} "${IW_IDL}" PARENT_SCOPE)
endfunction()

function(interweave_types target file)
  _interweave_compiler(compiler)
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
    COMMAND ${compiler} ${source} --lang ${language} --out ${out}
    DEPENDS ${source}
    COMMENT "Compiling ${name}.x"
    VERBATIM)
  list(FILTER generated EXCLUDE REGEX "\\.h(pp)?$")
  target_sources(${target} PRIVATE ${generated})
  target_include_directories(${target} PUBLIC ${out})
endfunction()
