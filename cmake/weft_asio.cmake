# weft_asio.cmake: weft::asio, headers for Boost.Asio and Boost.Beast. The including project
# provides Boost.
#
# They are installed with the package, whether or not the build has Boost, because there is nothing
# to compile. Their tests and examples need it: WEFT_ASIO is AUTO (where Boost 1.81 or later is
# found), ON, or OFF.
if(NOT WEFT_ASIO MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "weft: WEFT_ASIO is \"${WEFT_ASIO}\"; it must be AUTO, ON or OFF")
endif()

file(GLOB weft_asio_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/weft/asio/*.h")
add_library(weft_asio INTERFACE)
add_library(weft::asio ALIAS weft_asio)
target_sources(weft_asio INTERFACE
  FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${weft_asio_headers})
target_link_libraries(weft_asio INTERFACE weft)
set_target_properties(weft_asio PROPERTIES EXPORT_NAME asio)

set(weft_has_boost FALSE)
if(NOT WEFT_ASIO STREQUAL "OFF")
  set(Boost_NO_WARN_NEW_VERSIONS ON)
  find_package(Boost 1.81 QUIET)
  if(Boost_FOUND)
    set(weft_has_boost TRUE)
    target_link_libraries(weft_asio INTERFACE "$<BUILD_INTERFACE:Boost::headers>")
    set_target_properties(weft_asio PROPERTIES VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})
  elseif(WEFT_ASIO STREQUAL "ON")
    message(FATAL_ERROR "weft: no Boost 1.81 for weft::asio; run: apt-get install libboost1.81-dev (or configure with -DWEFT_ASIO=OFF)")
  else()
    message(STATUS "weft: tests and examples of weft::asio left out: no Boost 1.81; run: apt-get install libboost1.81-dev")
  endif()
endif()
