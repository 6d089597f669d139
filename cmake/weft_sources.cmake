# weft_sources.cmake: selects the files of src/ for this platform.
#
# A file named x_linux.cc, x_darwin.cc or x_windows.cc is for that system. x_x86_64.S or
# x_aarch64.cc is for that processor, and x_linux_aarch64.S for the two together. All other files
# are for every platform. Where a file for a system exists, the file of the same name without a
# system is for the other systems. There is no list to maintain.

# The last path component without its extension, and without the _test of a unit test.
function(weft_stem path result)
  get_filename_component(stem "${path}" NAME_WE)
  string(REGEX REPLACE "_test$" "" stem "${stem}")
  set(${result} "${stem}" PARENT_SCOPE)
endfunction()

if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(weft_system linux)
elseif(APPLE)
  set(weft_system darwin)
elseif(WIN32)
  set(weft_system windows)
else()
  set(weft_system none)
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(weft_processor x86_64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  set(weft_processor aarch64)
else()
  set(weft_processor none)
endif()

# Removes files from the list in the variable files whose names end in another system or processor.
function(weft_keep_platform files)
  set(kept)
  foreach(file IN LISTS ${files})
    weft_stem("${file}" stem)
    set(keep TRUE)
    if(stem MATCHES "_(x86_64|aarch64)$")
      if(NOT CMAKE_MATCH_1 STREQUAL weft_processor)
        set(keep FALSE)
      endif()
      string(REGEX REPLACE "_(x86_64|aarch64)$" "" stem "${stem}")
    endif()
    if(stem MATCHES "_(linux|darwin|windows)$" AND NOT CMAKE_MATCH_1 STREQUAL weft_system)
      set(keep FALSE)
    endif()
    if(keep)
      list(APPEND kept "${file}")
    endif()
  endforeach()
  foreach(file IN LISTS kept)
    string(REGEX REPLACE "_${weft_system}((_x86_64|_aarch64)?\\.[a-zA-Z]+)$" "\\1" for_others "${file}")
    if(NOT for_others STREQUAL file)
      list(REMOVE_ITEM kept "${for_others}")
    endif()
  endforeach()
  set(${files} ${kept} PARENT_SCOPE)
endfunction()

# All sources of the library.
function(weft_glob_sources result)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cc" "${PROJECT_SOURCE_DIR}/src/*.S")
  list(FILTER found EXCLUDE REGEX "_test\\.cc$")
  list(FILTER found EXCLUDE REGEX "/src/(instrument|tls|observe)/")  # separate libraries
  weft_keep_platform(found)
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# All unit tests beside them.
function(weft_glob_unit_tests result)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*_test.cc")
  weft_keep_platform(found)
  set(${result} ${found} PARENT_SCOPE)
endfunction()
