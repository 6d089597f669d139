# weft_observe.cmake: weft::observe, a separate library that shows what happens in a running program:
# lines and inlined calls in reports, by elfutils; recordings and profiles, which protozero writes and
# zlib compresses; metrics.
# Without these it is left out.
#
# A program gets it by linking it. Its functions are found by name (src/symbols/debug_information.h),
# so the linker is told to take them although no source mentions them.
if(NOT WEFT_OBSERVE MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "weft: WEFT_OBSERVE is \"${WEFT_OBSERVE}\"; it must be AUTO, ON or OFF")
endif()
if(WEFT_OBSERVE STREQUAL "OFF")
  return()
endif()
find_path(WEFT_LIBDW_INCLUDE elfutils/libdwfl.h)
find_library(WEFT_LIBDW dw)
find_path(WEFT_PROTOZERO_INCLUDE protozero/pbf_writer.hpp)
find_path(WEFT_ZLIB_INCLUDE zlib.h)
find_library(WEFT_ZLIB z)
mark_as_advanced(WEFT_LIBDW_INCLUDE WEFT_LIBDW WEFT_PROTOZERO_INCLUDE WEFT_ZLIB_INCLUDE WEFT_ZLIB)
if(NOT WEFT_LIBDW OR NOT WEFT_LIBDW_INCLUDE OR NOT WEFT_PROTOZERO_INCLUDE OR NOT WEFT_ZLIB OR NOT WEFT_ZLIB_INCLUDE)
  set(remedy "run: apt-get install libdw-dev libprotozero-dev zlib1g-dev")
  if(WEFT_OBSERVE STREQUAL "ON")
    message(FATAL_ERROR "weft: no elfutils, protozero or zlib for weft::observe; ${remedy} (or configure with -DWEFT_OBSERVE=OFF)")
  endif()
  message(STATUS "weft: weft::observe left out: no elfutils, protozero or zlib; ${remedy}")
  return()
endif()

file(GLOB weft_observe_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/observe/*.cc" "${PROJECT_SOURCE_DIR}/src/observe/outside/*.cc")
list(FILTER weft_observe_sources EXCLUDE REGEX "_test\\.cc$")
add_library(weft_observe ${weft_observe_sources})
add_library(weft::observe ALIAS weft_observe)
target_include_directories(weft_observe PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_include_directories(weft_observe SYSTEM PRIVATE "${WEFT_LIBDW_INCLUDE}" "${WEFT_PROTOZERO_INCLUDE}" "${WEFT_ZLIB_INCLUDE}")
target_link_libraries(weft_observe PUBLIC weft PRIVATE dw z)  # by name, so that the installed package names no path
target_link_options(weft_observe INTERFACE LINKER:--undefined=weft_find_in_debug_information
  $<$<BOOL:${BUILD_SHARED_LIBS}>:LINKER:--no-as-needed>)  # a linker may leave out a library that no source mentions
# What profilers outside of the process look for (src/observe/thread_record.h).
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-mtls-dialect=gnu2 WEFT_HAS_TLS_DESCRIPTORS)
if(WEFT_HAS_TLS_DESCRIPTORS)  # where they are an option; on aarch64 they are the default
  set_source_files_properties("${PROJECT_SOURCE_DIR}/src/observe/thread_record.cc" PROPERTIES COMPILE_OPTIONS -mtls-dialect=gnu2)
endif()
target_link_options(weft_observe INTERFACE LINKER:--export-dynamic-symbol=otel_thread_ctx_v1)
set_target_properties(weft_observe PROPERTIES
  EXPORT_NAME observe)
weft_library_flags(weft_observe)
weft_exports(weft_observe)
weft_strict_warnings(weft_observe)
if(WEFT_TEST_TOGETHER)
  weft_library_together(weft_observe)
endif()
add_dependencies(weft_components weft_observe)

# The program weft, which reads recordings and other processes. `weft top` needs ncurses for its terminal.
if(PROJECT_IS_TOP_LEVEL)
  file(GLOB weft_program_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/programs/*.cc")
  list(FILTER weft_program_sources EXCLUDE REGEX "/top_(no_)?terminal\\.cc$")
  set(CURSES_NEED_WIDE TRUE)
  find_package(Curses QUIET)
  if(CURSES_FOUND)
    list(APPEND weft_program_sources "${PROJECT_SOURCE_DIR}/programs/top_terminal.cc")
  else()
    message(STATUS "weft: `weft top` without a terminal: no ncurses; run: apt-get install libncurses-dev")
    list(APPEND weft_program_sources "${PROJECT_SOURCE_DIR}/programs/top_no_terminal.cc")
  endif()
  add_executable(weft_program ${weft_program_sources})
  if(CURSES_FOUND)
    target_include_directories(weft_program SYSTEM PRIVATE ${CURSES_INCLUDE_DIRS})
    target_link_libraries(weft_program PRIVATE ${CURSES_LIBRARIES})
  endif()
  set_target_properties(weft_program PROPERTIES OUTPUT_NAME weft RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/programs"
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  target_link_libraries(weft_program PRIVATE weft_observe)
  weft_own_flags(weft_program)
  weft_warnings(weft_program)
  add_dependencies(weft_components weft_program)
endif()
