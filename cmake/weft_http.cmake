# weft_http.cmake: weft::http, a separate library: an HTTP server. It is built where the headers of
# Boost 1.81 are found (weft_asio.cmake). Programs that link it need no Boost. It has HTTP/2 where
# nghttp2 is found; programs then need that, too.
#
# The library weft is independent of it. It is independent of weft::tls: a program that serves over
# TLS links both.
if(NOT WEFT_HTTP MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "weft: WEFT_HTTP is \"${WEFT_HTTP}\"; it must be AUTO, ON or OFF")
endif()
if(WEFT_HTTP STREQUAL "OFF")
  return()
endif()
if(NOT weft_has_boost)
  if(WEFT_HTTP STREQUAL "ON")
    message(FATAL_ERROR "weft: no Boost 1.81 for weft::http; run: apt-get install libboost1.81-dev (or configure with -DWEFT_HTTP=OFF)")
  endif()
  message(STATUS "weft: weft::http left out: no Boost 1.81; run: apt-get install libboost1.81-dev")
  return()
endif()

file(GLOB weft_http_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/http/*.cc")
weft_keep_platform(weft_http_sources)
set(weft_http2 OFF)
set(weft_http2_libs "")  # weft-http.pc.in
if(NOT WEFT_HTTP2 MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "weft: WEFT_HTTP2 is \"${WEFT_HTTP2}\"; it must be AUTO, ON or OFF")
endif()
if(NOT WEFT_HTTP2 STREQUAL "OFF")
  find_path(weft_nghttp2_include nghttp2/nghttp2.h)
  find_library(weft_nghttp2_library nghttp2)
  mark_as_advanced(weft_nghttp2_include weft_nghttp2_library)
  if(weft_nghttp2_include AND weft_nghttp2_library)
    set(weft_http2 ON)
    set(weft_http2_libs " -lnghttp2")
  elseif(WEFT_HTTP2 STREQUAL "ON")
    message(FATAL_ERROR "weft: no nghttp2 for HTTP/2 in weft::http; run: apt-get install libnghttp2-dev (or configure with -DWEFT_HTTP2=OFF)")
  else()
    message(STATUS "weft: HTTP/2 left out of weft::http: no nghttp2; run: apt-get install libnghttp2-dev")
  endif()
endif()
if(weft_http2)
  list(FILTER weft_http_sources EXCLUDE REGEX "/http2_absent[.]cc$")
else()
  list(FILTER weft_http_sources EXCLUDE REGEX "/http2_(callbacks|session|stream)[.]cc$")
endif()
file(GLOB_RECURSE weft_http_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/weft/http/*.h")
list(FILTER weft_http_headers EXCLUDE REGEX "/http/client[.]h$")  # weft_http_client.cmake
add_library(weft_http ${weft_http_sources})
add_library(weft::http ALIAS weft_http)
target_sources(weft_http PUBLIC
  FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${weft_http_headers})
target_include_directories(weft_http PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(weft_http PUBLIC weft PRIVATE "$<BUILD_INTERFACE:Boost::headers>")
if(weft_http2)  # by its name for those who link the installed library
  target_include_directories(weft_http SYSTEM PRIVATE "${weft_nghttp2_include}")
  target_link_libraries(weft_http PRIVATE "$<BUILD_INTERFACE:${weft_nghttp2_library}>" "$<INSTALL_INTERFACE:nghttp2>")
endif()
set_target_properties(weft_http PROPERTIES
  EXPORT_NAME http
  VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})
weft_library_flags(weft_http)
weft_exports(weft_http)
weft_strict_warnings(weft_http)
if(WEFT_TEST_TOGETHER)
  weft_library_together(weft_http)
endif()
add_dependencies(weft_components weft_http)
