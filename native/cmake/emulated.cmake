# A test's program that another process starts by its path: the program itself, or, when it is
# another machine's, a script that starts it in the emulator. (Wine starts programs of Windows by
# itself.)
#   iw_startable(test_agent path)   -> the variable `path`, fit for a test's environment
function(iw_startable target result)
  if(NOT CMAKE_CROSSCOMPILING_EMULATOR OR WIN32)
    set(${result} "$<TARGET_FILE:${target}>" PARENT_SCOPE)
    return()
  endif()
  list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${target}.sh")
  file(GENERATE OUTPUT "${script}"
    CONTENT "#!/bin/sh\nexec ${emulator} '$<TARGET_FILE:${target}>' \"$@\"\n"
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(${result} "${script}" PARENT_SCOPE)
endfunction()
