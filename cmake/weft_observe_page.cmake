# weft_observe_page.cmake: weft::observe_page, a separate library: a web page that shows a runtime.
#
# It is built where weft::observe is, and the headers of Boost 1.81 are found (weft_asio.cmake). It is
# no part of weft::observe, so that this is the same with and without Boost, and a program that only
# records or writes metrics has no HTTP server in it. Who links it needs no Boost.
if(NOT TARGET weft_observe OR NOT weft_has_boost)
  message(STATUS "weft: weft::observe_page left out: it takes weft::observe and Boost 1.81")
  return()
endif()

# The page as a string of C++.
set(weft_page_html "${PROJECT_SOURCE_DIR}/src/observe/page/page.html")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${weft_page_html}")
file(READ "${weft_page_html}" weft_page_text)
if(weft_page_text MATCHES "\\)html\"")
  message(FATAL_ERROR "weft: ${weft_page_html} has )html\" in it, which ends the string of C++ that it becomes")
endif()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/page_html.cc" @ONLY CONTENT
  "#include \"observe/page/page_html.h\"\n\nconst char* const weft::observe::detail::page_template = R\"html(\@weft_page_text\@)html\";\n")

file(GLOB weft_observe_page_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/observe/page/*.cc")
list(FILTER weft_observe_page_sources EXCLUDE REGEX "_test\\.cc$")
add_library(weft_observe_page ${weft_observe_page_sources} "${PROJECT_BINARY_DIR}/generated/page_html.cc")
add_library(weft::observe_page ALIAS weft_observe_page)
target_include_directories(weft_observe_page PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(weft_observe_page PUBLIC weft_observe PRIVATE "$<BUILD_INTERFACE:Boost::headers>")
set_target_properties(weft_observe_page PROPERTIES
  EXPORT_NAME observe_page)
weft_library_flags(weft_observe_page)
weft_exports(weft_observe_page)
weft_strict_warnings(weft_observe_page)
if(WEFT_TEST_TOGETHER)
  weft_library_together(weft_observe_page)
endif()
add_dependencies(weft_components weft_observe_page)
