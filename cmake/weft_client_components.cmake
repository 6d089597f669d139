# weft_client_components.cmake: the components that are clients of other servers, each over a C library.
#
# weft_client_component(name WHAT INSTALL HEADER header LIBRARY library): the library weft_NAME, from
# src/NAME/ and include/weft/NAME/, if WEFT_NAME (AUTO, ON or OFF) and the system allow it. The C
# library appears in no public header: a program that links the component needs it only to link.
function(weft_client_component name what install)
  cmake_parse_arguments(PARSE_ARGV 3 is "" "HEADER;LIBRARY" "")
  string(TOUPPER "${name}" upper)
  set(wanted "${WEFT_${upper}}")
  if(NOT wanted MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "weft: WEFT_${upper} is \"${wanted}\"; it must be AUTO, ON or OFF")
  endif()
  if(wanted STREQUAL "OFF")
    return()
  endif()
  find_path(weft_${name}_include ${is_HEADER} PATH_SUFFIXES postgresql)
  find_library(weft_${name}_library ${is_LIBRARY})
  mark_as_advanced(weft_${name}_include weft_${name}_library)
  set(lacks)
  if(NOT weft_system STREQUAL "linux")
    set(lacks "it needs Linux")
  elseif(NOT weft_${name}_include OR NOT weft_${name}_library)
    set(lacks "no ${what}; run: ${install}")
  endif()
  if(lacks)
    if(wanted STREQUAL "ON")
      message(FATAL_ERROR "weft: weft::${name}: ${lacks} (or configure with -DWEFT_${upper}=OFF)")
    endif()
    message(STATUS "weft: weft::${name} left out: ${lacks}")
    return()
  endif()

  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${name}/*.cc")
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/weft/${name}/*.h")
  set(target weft_${name})
  add_library(${target} ${sources})
  add_library(weft::${name} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${headers})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_include_directories(${target} SYSTEM PRIVATE "${weft_${name}_include}")
  # By its name for those who link the installed library.
  target_link_libraries(${target} PUBLIC weft
    PRIVATE "$<BUILD_INTERFACE:${weft_${name}_library}>" "$<INSTALL_INTERFACE:${is_LIBRARY}>")
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})
  weft_library_flags(${target})
  weft_exports(${target})
  weft_strict_warnings(${target})
  if(WEFT_TEST_TOGETHER)
    weft_library_together(${target})
  endif()
  add_dependencies(weft_components ${target})
endfunction()

# weft::redis has the parser of hiredis. It is independent of weft::tls: a program that uses Redis
# over TLS links both.
weft_client_component(redis hiredis "apt-get install libhiredis-dev" HEADER hiredis/hiredis.h LIBRARY hiredis)

# weft::postgres has libpq for the protocol, from version 14, which has pipelines.
weft_client_component(postgres libpq "apt-get install libpq-dev" HEADER libpq-fe.h LIBRARY pq)

# weft::nats has libnats for the protocol, from version 3.4.
weft_client_component(nats libnats "apt-get install libnats-dev" HEADER nats/nats.h LIBRARY nats)
