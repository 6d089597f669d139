# weft_instrument.cmake: weft_instrument(target [LOOPS]) makes a user's target yield to other green
# threads while it computes.
#
# The compiler puts a check into the target's code, for that target only, and the function that the
# check calls is linked into it:
#
#   at each function's beginning   -fsplit-stack: one comparison. GCC for x86-64 Linux, without link-time optimization
#   at each edge of the code       -fsanitize-coverage: a call, so it costs 1.3 to 10 times the time of a tight loop, but loops that
#                                  call nothing are covered. All others; and with LOOPS
#
# To exclude a source: set_source_files_properties(x.cc PROPERTIES COMPILE_OPTIONS
# "-fno-split-stack") (or -fno-sanitize-coverage=…). docs/preemption.md has the cost of each, and
# the functions that are left alone. Installed with the package: find_package(weft) defines it.
include_guard(GLOBAL)

function(weft_instrument target)
  cmake_parse_arguments(PARSE_ARGV 1 asked "LOOPS" "" "")
  if(NOT TARGET ${target})
    message(FATAL_ERROR "weft_instrument: there is no target \"${target}\"")
  endif()
  if(asked_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weft_instrument: unknown argument \"${asked_UNPARSED_ARGUMENTS}\"; the only one is LOOPS")
  endif()

  get_target_property(optimized ${target} INTERPROCEDURAL_OPTIMIZATION)
  set(flags -fsanitize-coverage=trace-pc)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Without no-prune, loops with only one path get no check.
    set(flags -fsanitize-coverage=edge,no-prune,trace-pc)
  elseif(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$"
         AND NOT asked_LOOPS AND NOT optimized)
    set(flags -fsplit-stack)
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C,CXX>:${flags}>")
  target_compile_definitions(${target} PRIVATE WEFT_INSTRUMENTED=1)
  target_link_libraries(${target} PRIVATE weft::instrument)
endfunction()
