# weft_flags.cmake: how our own code is compiled.
#
# weft_own_flags(target) adds the code generation that backtraces, guard regions and indirect-branch
# protection need. weft_library_flags adds what a library needs besides. weft_warnings and
# weft_strict_warnings add warnings. Sanitizers and link-time optimization are settings of the whole
# build, because everything in it, including GoogleTest, must agree.
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)
include(weft_target)

get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT multi_config)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

set(weft_clang FALSE)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(weft_clang TRUE)
endif()

# weft_add_if_known(list flag...): adds those flags to the list that the compiler knows.
function(weft_add_if_known list)
  foreach(flag IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER "weft_has${flag}" known)
    check_cxx_compiler_flag("${flag}" ${known})
    if(${known})
      list(APPEND ${list} "${flag}")
    endif()
  endforeach()
  set(${list} "${${list}}" PARENT_SCOPE)
endfunction()
set(weft_codegen -g -fno-omit-frame-pointer)
weft_add_if_known(weft_codegen -mno-omit-leaf-frame-pointer)
if(NOT WIN32)  # where each large frame is touched in any case; and GCC 12 fails at the flag there
  weft_add_if_known(weft_codegen -fstack-clash-protection)
endif()

# Code that may end up in a shared object, including the static library, which plug-ins link. It
# costs next to nothing in a program:
#   -fno-semantic-interposition   functions of the same file are still inlined and called directly
#   -ftls-model=initial-exec      a thread-local is read by two instructions, which the linker turns into one in a program, and without
#                                 a call into the dynamic linker that a signal handler may not make. A plug-in takes its 66 bytes from the
#                                 reserve that the dynamic linker keeps for that (docs/building.md)
#   -fno-gnu-unique               plug-ins do not share variables
set(weft_shareable)
weft_add_if_known(weft_shareable -fno-semantic-interposition -ftls-model=initial-exec -fno-gnu-unique)

# Indirect-branch protection. The assembler files test the macros that these flags define.
set(weft_branch_protection)
if(weft_processor STREQUAL "x86_64")
  check_cxx_compiler_flag(-fcf-protection weft_has_cf_protection)
  if(weft_has_cf_protection)
    set(weft_branch_protection -fcf-protection)
  endif()
elseif(weft_processor STREQUAL "aarch64")
  check_cxx_compiler_flag(-mbranch-protection=standard weft_has_branch_protection)
  if(weft_has_branch_protection)
    set(weft_branch_protection -mbranch-protection=standard)
  endif()
endif()

set(weft_sanitize_flags)
if(WEFT_SANITIZE STREQUAL "address")
  set(weft_sanitize_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(WEFT_SANITIZE STREQUAL "thread")
  set(weft_sanitize_flags -fsanitize=thread)
elseif(WEFT_SANITIZE)
  message(FATAL_ERROR "weft: WEFT_SANITIZE is \"${WEFT_SANITIZE}\"; it must be address, thread, or empty")
endif()
if(weft_sanitize_flags)
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:${weft_sanitize_flags}>")
  add_link_options(${weft_sanitize_flags})
endif()

# weft_sanitized_programs(): does not optimize sanitized code in this directory. Compiling a test
# then takes a third of the time of -O1. The library keeps the optimization of the build. Its inline
# functions are tested optimized by GCC and Clang builds without sanitizers.
macro(weft_sanitized_programs)
  if(WEFT_SANITIZE)
    add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-O0>")
  endif()
endmacro()

if(WEFT_LTO)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()

# The inline form of the context switch is for plain builds. A sanitizer must see the switch, and a
# link-time optimizer may inline what must not be inlined.
if(NOT WEFT_CONTEXT MATCHES "^(auto|asm)$")
  message(FATAL_ERROR "weft: WEFT_CONTEXT is \"${WEFT_CONTEXT}\"; it must be auto or asm")
endif()
set(weft_force_asm_switch FALSE)
if(WEFT_CONTEXT STREQUAL "asm" OR WEFT_LTO OR WEFT_SANITIZE)
  set(weft_force_asm_switch TRUE)
endif()

function(weft_library_flags target)
  weft_own_flags(${target})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${weft_shareable}>")
endfunction()

function(weft_own_flags target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${weft_codegen}>"
    ${weft_branch_protection})
  if(weft_force_asm_switch)
    target_compile_definitions(${target} PRIVATE WEFT_FORCE_ASM_SWITCH=1)
  endif()
  if(WEFT_DEBUG_CHECKS OR CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_definitions(${target} PRIVATE WEFT_DEBUG_CHECKS=1)
  endif()
endfunction()

function(weft_warnings target)
  set(warnings
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wimplicit-fallthrough)
  if(weft_clang)
    list(APPEND warnings -Wthread-safety -DWEFT_THREAD_SAFETY_CHECKS=1)  # detail/thread_safety.h
  endif()
  if(WEFT_WERROR)
    list(APPEND warnings -Werror)
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")
endfunction()

# For what ships: the library and the examples. Tests compare sizes with literals too often.
function(weft_strict_warnings target)
  weft_warnings(${target})
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wconversion;-Wsign-conversion;-Wold-style-cast>")
endfunction()

# Precompiled headers without a timestamp, so that a compiler cache finds what was compiled with
# them.
function(weft_reproducible_precompile target)
  if(weft_clang)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endfunction()

# Before version 20, libc++ has std::stop_token only with -fexperimental-library. Then weft's users
# need that flag too.
function(weft_need_stop_token target)
  set(program "#include <stop_token>\nint main() { return std::stop_source().stop_requested(); }")
  set(CMAKE_REQUIRED_FLAGS "${CMAKE_CXX20_STANDARD_COMPILE_OPTION}")
  check_cxx_source_compiles("${program}" weft_has_stop_token)
  if(weft_has_stop_token)
    return()
  endif()
  set(CMAKE_REQUIRED_FLAGS "${CMAKE_CXX20_STANDARD_COMPILE_OPTION} -fexperimental-library")
  check_cxx_source_compiles("${program}" weft_has_experimental_stop_token)
  if(NOT weft_has_experimental_stop_token)
    message(FATAL_ERROR "weft: this standard library has no std::stop_token; weft needs libstdc++ 10 or libc++ 18 and later")
  endif()
  target_compile_options(${target} PUBLIC "$<$<COMPILE_LANGUAGE:CXX>:-fexperimental-library>")
  target_link_options(${target} PUBLIC -fexperimental-library)
endfunction()

# weft_need_atomic(result): the library with atomic operations that the compiler does not inline: on
# RISC-V, GCC before 14 calls functions for those of one and two bytes. (With -pthread it would link
# them by itself.)
function(weft_need_atomic result)
  set(program "#include <atomic>\nstd::atomic<short> word;\nint main() { return word.fetch_or(1); }")
  set(CMAKE_REQUIRED_FLAGS "${CMAKE_CXX20_STANDARD_COMPILE_OPTION}")
  check_cxx_source_compiles("${program}" weft_has_inlined_atomic)
  set(library)
  if(NOT weft_has_inlined_atomic)
    set(library atomic)
  endif()
  set(${result} "${library}" PARENT_SCOPE)
endfunction()
