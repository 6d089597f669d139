# weft_sources.cmake: selects the files of src/ for this platform.
#
# A file named x_linux.cc, x_darwin.cc, x_freebsd.cc or x_windows.cc is for that system, x_bsd.cc for
# macOS and FreeBSD, x_posix.cc for all but Windows. x_x86_64.S, x_aarch64.cc or x_riscv64.cc is for
# that processor, and x_linux_aarch64.S for the two together. All other files are for every platform.
# Where a file for a system or a group of them exists, the file of the same name without a system is
# for the other systems. There is no list to maintain.

# The last path component without its extension, and without the _test of a unit test.
function(weft_stem path result)
  get_filename_component(stem "${path}" NAME_WE)
  string(REGEX REPLACE "_test$" "" stem "${stem}")
  set(${result} "${stem}" PARENT_SCOPE)
endfunction()

# weft_system_names: the suffixes of files for this system.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(weft_system linux)
  set(weft_system_names linux posix)
elseif(APPLE)
  set(weft_system darwin)
  set(weft_system_names darwin bsd posix)
elseif(CMAKE_SYSTEM_NAME STREQUAL "FreeBSD")
  set(weft_system freebsd)
  set(weft_system_names freebsd bsd posix)
elseif(WIN32)
  set(weft_system windows)
  set(weft_system_names windows)
else()
  set(weft_system none)
  set(weft_system_names)
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(weft_processor x86_64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  set(weft_processor aarch64)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "riscv64")
  set(weft_processor riscv64)
else()
  set(weft_processor none)
endif()

# Removes files from the list in the variable files whose names end in another system or processor.
function(weft_keep_platform files)
  set(kept)
  foreach(file IN LISTS ${files})
    weft_stem("${file}" stem)
    set(keep TRUE)
    if(stem MATCHES "_(x86_64|aarch64|riscv64)$")
      if(NOT CMAKE_MATCH_1 STREQUAL weft_processor)
        set(keep FALSE)
      endif()
      string(REGEX REPLACE "_(x86_64|aarch64|riscv64)$" "" stem "${stem}")
    endif()
    if(stem MATCHES "_(linux|darwin|freebsd|windows|bsd|posix)$" AND NOT CMAKE_MATCH_1 IN_LIST weft_system_names)
      set(keep FALSE)
    endif()
    if(keep)
      list(APPEND kept "${file}")
    endif()
  endforeach()
  foreach(file IN LISTS kept)
    foreach(name IN LISTS weft_system_names)
      string(REGEX REPLACE "_${name}((_x86_64|_aarch64|_riscv64)?\\.[a-zA-Z]+)$" "\\1" for_others "${file}")
      if(NOT for_others STREQUAL file)
        list(REMOVE_ITEM kept "${for_others}")
      endif()
    endforeach()
  endforeach()
  set(${files} ${kept} PARENT_SCOPE)
endfunction()

# All sources of the library.
function(weft_glob_sources result)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cc" "${PROJECT_SOURCE_DIR}/src/*.S")
  list(FILTER found EXCLUDE REGEX "_test\\.cc$")
  list(FILTER found EXCLUDE REGEX "/src/(instrument|tls|observe|sim|http|http_client|redis|postgres|nats|hooks)/")  # separate libraries
  weft_keep_platform(found)
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# All unit tests beside them.
function(weft_glob_unit_tests result)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*_test.cc")
  weft_keep_platform(found)
  weft_leave_out(found)
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Removes tests that test/left_out_on_SYSTEM.txt names, and prints each with its reason. A line has a
# path and the reason; a path that does not exist is an error.
function(weft_leave_out files)
  set(list "${PROJECT_SOURCE_DIR}/test/left_out_on_${weft_system}.txt")
  if(NOT EXISTS "${list}")
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
  file(STRINGS "${list}" lines REGEX "^[^#]")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([^ ]+) +(.+)$" matched "${line}")
    set(path "${PROJECT_SOURCE_DIR}/${CMAKE_MATCH_1}")
    set(reason "${CMAKE_MATCH_2}")
    if(NOT matched OR NOT EXISTS "${path}")
      message(FATAL_ERROR "weft: ${list}: no such test, or no reason: ${line}")
    endif()
    if(path IN_LIST ${files})
      message(STATUS "weft: left out on ${weft_system}: ${CMAKE_MATCH_1}: ${reason}")
      list(REMOVE_ITEM ${files} "${path}")
    endif()
  endforeach()
  set(${files} ${${files}} PARENT_SCOPE)
endfunction()
