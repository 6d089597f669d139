# weft_hooks.cmake: weft::hooks, a separate library: blocking calls of the C library park the green
# thread that makes them. For Linux with glibc.
#
# A program that links it has the functions of the C library replaced (docs/hooks.md). The library
# weft is independent of it.
if(NOT weft_system STREQUAL "linux")
  return()
endif()
check_cxx_source_compiles("#include <features.h>\n#if !defined(__GLIBC__)\n#error\n#endif\nint main() {}" weft_has_glibc)
if(NOT weft_has_glibc)
  message(STATUS "weft: weft::hooks left out: it needs glibc")
  return()
endif()
file(GLOB weft_hooks_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/hooks/*.cc")
add_library(weft_hooks ${weft_hooks_sources})
add_library(weft::hooks ALIAS weft_hooks)
target_include_directories(weft_hooks PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(weft_hooks PUBLIC weft PRIVATE ${CMAKE_DL_LIBS})
# No program calls a name of it, so without these a linker would leave it out.
target_link_options(weft_hooks INTERFACE "LINKER:--undefined=weft_hooks_are_linked")
set_target_properties(weft_hooks PROPERTIES EXPORT_NAME hooks)
weft_library_flags(weft_hooks)
# Checks of sizes are the callers' (__read_chk), and their names are defined here.
target_compile_options(weft_hooks PRIVATE -U_FORTIFY_SOURCE)
set_target_properties(weft_hooks PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${weft_abi})
if(BUILD_SHARED_LIBS)
  # Without versions: the dynamic linker takes read@WEFT_0 for no reference to read@GLIBC_2.2.5.
  set(weft_hooks_list "${PROJECT_SOURCE_DIR}/cmake/exports/weft_hooks.txt")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${weft_hooks_list}")
  file(STRINGS "${weft_hooks_list}" weft_hooks_names REGEX "^[^#[]")
  weft_version_patterns(weft_hooks_patterns ${weft_hooks_names})
  set(weft_hooks_script "${PROJECT_BINARY_DIR}/generated/weft_hooks.map")
  file(CONFIGURE OUTPUT "${weft_hooks_script}" CONTENT "{\n  global:\n${weft_hooks_patterns}  local:\n    *;\n};\n" @ONLY)
  target_link_options(weft_hooks PRIVATE "LINKER:--version-script=${weft_hooks_script}")
  set_property(TARGET weft_hooks APPEND PROPERTY LINK_DEPENDS "${weft_hooks_script}")
endif()
weft_strict_warnings(weft_hooks)
add_dependencies(weft_components weft_hooks)
