# weft_exports.cmake: which names the shared libraries export, and their versions.
#
# weft_exports(target) gives a shared library the soname lib….so.ABI and a version script, made from
# exports/TARGET.txt, which tools/exports.py writes. Public names get the version WEFT_ABI. Names
# that only weft's own libraries and programs use get WEFT_PRIVATE_VERSION, so a package that mixes
# libraries of two versions of weft is refused by the dynamic linker. All other names are hidden. In
# a build with tests they are private instead, because tests call the functions of src/.
#
# The compiler is not told (-fvisibility=hidden), because the public headers, which C programs
# include too, have no attributes for that. What it would save is saved otherwise: hidden names have
# no entry in the dynamic table, the linker binds calls to them directly, and
# -fno-semantic-interposition (weft_flags.cmake) lets the compiler inline them.

# The number of the binary interface. A release that removes or changes an exported name or the
# layout of a public type increments it: docs/releasing.md.
set(weft_abi 0)

# The patterns of the names in a list, for a version script.
function(weft_version_patterns result)
  set(patterns_of_c)
  set(patterns_of_cxx)
  foreach(name IN LISTS ARGN)
    if(name MATCHES "::")
      # The linker matches names with parameters, and knows no ( in a pattern. ? is any character.
      string(REGEX REPLACE "[^a-zA-Z0-9_:]" "?" pattern "${name}")
      string(REGEX REPLACE "([^:]):([^:])" "\\1?\\2" pattern "${pattern}")
      string(APPEND patterns_of_cxx "    \"${name}\";\n")
      if(NOT name MATCHES "^(typeinfo|vtable)")
        string(APPEND patterns_of_cxx "    ${pattern}[!a-zA-Z0-9_]*;\n")
      endif()
    else()
      string(APPEND patterns_of_c "    ${name};\n")
    endif()
  endforeach()
  if(patterns_of_cxx)
    string(APPEND patterns_of_c "    extern \"C++\" {\n${patterns_of_cxx}    };\n")
  endif()
  set(${result} "${patterns_of_c}" PARENT_SCOPE)
endfunction()

function(weft_exports target)
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${weft_abi})
  if(NOT BUILD_SHARED_LIBS OR NOT weft_system STREQUAL "linux")
    return()
  endif()
  set(list "${PROJECT_SOURCE_DIR}/cmake/exports/${target}.txt")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
  file(STRINGS "${list}" lines REGEX "^[^#]")
  set(section)
  foreach(line IN LISTS lines)
    if(line MATCHES "^\\[(public|private)\\]$")
      set(section "${CMAKE_MATCH_1}")
    elseif(line)
      list(APPEND ${section} "${line}")
    endif()
  endforeach()
  weft_version_patterns(public_patterns ${public})
  weft_version_patterns(private_patterns ${private})
  if(WEFT_BUILD_TESTS)
    string(APPEND private_patterns "    *;\n")
    set(hidden)
  else()
    set(hidden "  local:\n    *;\n")
  endif()
  set(script "WEFT_${weft_abi} {\n  global:\n${public_patterns}${hidden}};\n")
  if(private_patterns)
    string(APPEND script "WEFT_PRIVATE_${PROJECT_VERSION} {\n  global:\n${private_patterns}};\n")
  endif()
  set(file "${PROJECT_BINARY_DIR}/generated/${target}.version")
  file(CONFIGURE OUTPUT "${file}" CONTENT "${script}" @ONLY)
  target_link_options(${target} PRIVATE "LINKER:--version-script=${file}")
  if(NOT WEFT_SANITIZE)  # its functions are in the program
    target_link_options(${target} PRIVATE LINKER:--no-undefined)
  endif()
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${file}")
endfunction()
