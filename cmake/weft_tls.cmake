# weft_tls.cmake: weft::tls, a separate library: TLS streams by OpenSSL 3. Without OpenSSL 3 it is
# left out.
#
# The library weft is independent of it and of what it needs. The headers include/weft/tls/ are
# installed only with it.
add_custom_target(weft_components)  # those that are built
if(NOT WEFT_TLS MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "weft: WEFT_TLS is \"${WEFT_TLS}\"; it must be AUTO, ON or OFF")
endif()
if(WEFT_TLS STREQUAL "OFF")
  return()
endif()
find_package(OpenSSL 3 QUIET COMPONENTS SSL)
if(NOT OPENSSL_FOUND)
  if(WEFT_TLS STREQUAL "ON")
    message(FATAL_ERROR "weft: no OpenSSL 3 for weft::tls; run: apt-get install libssl-dev (or configure with -DWEFT_TLS=OFF)")
  endif()
  message(STATUS "weft: weft::tls left out: no OpenSSL 3; run: apt-get install libssl-dev")
  return()
endif()

file(GLOB weft_tls_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/tls/*.cc")
file(GLOB weft_tls_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/weft/tls/*.h")
add_library(weft_tls ${weft_tls_sources})
add_library(weft::tls ALIAS weft_tls)
target_sources(weft_tls PUBLIC
  FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${weft_tls_headers})
target_include_directories(weft_tls PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(weft_tls PUBLIC weft PRIVATE OpenSSL::SSL)
set_target_properties(weft_tls PROPERTIES
  EXPORT_NAME tls
  VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})
weft_library_flags(weft_tls)
weft_exports(weft_tls)
weft_strict_warnings(weft_tls)
if(WEFT_TEST_TOGETHER)
  weft_library_together(weft_tls)
endif()
add_dependencies(weft_components weft_tls)
