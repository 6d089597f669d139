# weft_c.cmake: the C compiler, for tests and examples in C. The library itself needs none.
#
# It is the compiler that belongs to the C++ compiler, so that sanitizers, cross builds and warnings
# agree.
if(NOT DEFINED CMAKE_C_COMPILER)
  get_filename_component(weft_cxx_name "${CMAKE_CXX_COMPILER}" NAME)
  get_filename_component(weft_cxx_dir "${CMAKE_CXX_COMPILER}" DIRECTORY)
  string(REPLACE "clang++" "clang" weft_c_name "${weft_cxx_name}")
  string(REPLACE "g++" "gcc" weft_c_name "${weft_c_name}")
  if(NOT weft_c_name STREQUAL weft_cxx_name)
    find_program(weft_c_compiler "${weft_c_name}" HINTS "${weft_cxx_dir}" NO_CACHE)
    if(weft_c_compiler)
      set(CMAKE_C_COMPILER "${weft_c_compiler}")
    endif()
  endif()
endif()
enable_language(C)

# A C99 program that links weft, with warnings.
function(weft_c_program target)
  set_target_properties(${target} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
  target_link_libraries(${target} PRIVATE weft::weft)
  set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion)
  if(WEFT_WERROR)
    list(APPEND warnings -Werror)
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C>:${warnings}>")
  target_compile_definitions(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C>:_POSIX_C_SOURCE=200809L>")
endfunction()
