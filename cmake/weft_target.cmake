# weft_target.cmake: weft_target(target) prepares a user's target to run on green threads.
#
# Adds two flags, for that target only:
#   -fstack-clash-protection   (not on Windows, where it is so anyway) a large frame touches its pages one by one, so that it meets the guard region below
#                              a green stack instead of stepping over it;
#   -fno-omit-frame-pointer    the backtraces in weft::dump reach through the target's functions.
#
# Correct programs do not depend on them. Installed with the package: find_package(weft) defines it.
include_guard(GLOBAL)
include(CheckCXXCompilerFlag)

function(weft_target target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "weft_target: there is no target \"${target}\"")
  endif()
  check_cxx_compiler_flag(-fstack-clash-protection WEFT_HAS_STACK_CLASH_PROTECTION)
  check_cxx_compiler_flag(-fno-omit-frame-pointer WEFT_HAS_FRAME_POINTER)
  if(WEFT_HAS_STACK_CLASH_PROTECTION AND NOT WIN32)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C,CXX>:-fstack-clash-protection>")
  endif()
  if(WEFT_HAS_FRAME_POINTER)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>")
  endif()
endfunction()

# weft_check_mutexes(target): links an executable so that locks of std::mutex and pthread_mutex_t
# are counted in all code that is linked statically into it. A green thread that leaves its OS
# thread (waits, yields, ends) while it holds one is reported: see docs/deadlocks.md. For debugging:
# each lock costs some tens of nanoseconds more.
function(weft_check_mutexes target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "weft_check_mutexes: there is no target \"${target}\"")
  endif()
  foreach(name lock trylock timedlock clocklock unlock)
    target_link_options(${target} PRIVATE "LINKER:--wrap=pthread_mutex_${name}")
  endforeach()
  # Beside a weak pthread_mutex_lock, as ThreadSanitizer's is, the reference is weak too. It would
  # not pull the wrapper out of the library.
  target_link_options(${target} PRIVATE "LINKER:--undefined=__wrap_pthread_mutex_lock")
endfunction()
