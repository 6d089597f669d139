# weft_strip_archives.cmake: CPack runs this before it makes packages: removes the debug information
# of static libraries.
find_program(weft_strip NAMES strip)
if(weft_strip)
  file(GLOB_RECURSE archives "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*.a")
  foreach(archive IN LISTS archives)
    execute_process(COMMAND "${weft_strip}" --strip-debug --enable-deterministic-archives --remove-section=.comment "${archive}")
  endforeach()
endif()
