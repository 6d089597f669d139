# weft_debuggers.cmake: the commands for gdb and lldb, and where programs say that they are.
#
# gdb loads the script that the section .debug_gdb_scripts names: docs/debuggers.md.
set(WEFT_GDB_SCRIPT AUTO CACHE STRING "What programs name for gdb: a path of weft-gdb.py, nothing, or AUTO (the installed one, else that of the sources)")
if(NOT WEFT_GDB_SCRIPT STREQUAL "AUTO")
  set(weft_gdb_script "${WEFT_GDB_SCRIPT}")
elseif(WEFT_INSTALL)
  set(weft_gdb_script "${CMAKE_INSTALL_FULL_DATADIR}/weft/gdb/weft-gdb.py")
else()
  set(weft_gdb_script "${PROJECT_SOURCE_DIR}/tools/gdb/weft-gdb.py")
endif()
if(weft_gdb_script)
  set_property(SOURCE src/sched/g_pool.cc APPEND PROPERTY COMPILE_DEFINITIONS "WEFT_GDB_SCRIPT=\"${weft_gdb_script}\"")
endif()
if(WEFT_INSTALL)
  foreach(folder IN ITEMS debuggers gdb lldb)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/tools/${folder}/" DESTINATION "${CMAKE_INSTALL_DATADIR}/weft/${folder}" COMPONENT tools
      FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
  endforeach()
endif()
