# weft_install.cmake: headers, library, CMake package and pkg-config file. The installed tree may be
# moved.
include(CMakePackageConfigHelpers)

set(weft_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weft")

# weft_install_library(target name component development [HEADERS]): the library target, and its
# CMake package file weft[-name]-targets.cmake. Each file has a component of the installation, for
# packages (weft_packages.cmake): COMPONENT, which programs need, or DEVELOPMENT.
function(weft_install_library target name component development)
  cmake_parse_arguments(PARSE_ARGV 4 more "HEADERS" "" "")
  set(headers)
  if(more_HEADERS)
    set(headers FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT ${development})
  endif()
  install(TARGETS ${target} EXPORT ${target}_targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${development}
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${component} NAMELINK_COMPONENT ${development}
    RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT ${component}
    ${headers})
  install(EXPORT ${target}_targets
    NAMESPACE weft::
    FILE weft${name}-targets.cmake
    DESTINATION "${weft_package_dir}"
    COMPONENT ${development})
endfunction()

# weft_install_pc(name development): the pkg-config file of a library.
function(weft_install_pc name development)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT ${development})
endfunction()

weft_install_library(weft "" weft weft_dev HEADERS)
install(TARGETS weft_instrument EXPORT weft_targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT weft_dev)
if(TARGET weft_static)
  install(TARGETS weft_static EXPORT weft_targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT weft_dev)
endif()
weft_install_library(weft_asio -asio weft weft_dev HEADERS)
if(TARGET weft_grpc)
  weft_install_library(weft_grpc -grpc weft weft_dev HEADERS)
endif()
if(TARGET weft_tls)
  weft_install_library(weft_tls -tls tls tls_dev HEADERS)
endif()
if(TARGET weft_http)
  weft_install_library(weft_http -http http http_dev HEADERS)
endif()
if(TARGET weft_http_client)
  weft_install_library(weft_http_client -http_client http_client http_client_dev HEADERS)
endif()
foreach(client redis postgres nats)
  if(TARGET weft_${client})
    weft_install_library(weft_${client} -${client} ${client} ${client}_dev HEADERS)
  endif()
endforeach()
if(TARGET weft_hooks)
  weft_install_library(weft_hooks -hooks hooks hooks_dev)
endif()
weft_install_library(weft_sim -sim sim sim_dev HEADERS)
if(TARGET weft_observe)
  weft_install_library(weft_observe -observe observe observe_dev)
endif()
if(TARGET weft_observe_page)
  weft_install_library(weft_observe_page -observe_page observe_page observe_dev)
endif()
if(TARGET weft_program)
  install(TARGETS weft_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
  install(FILES "${PROJECT_SOURCE_DIR}/programs/weft.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT manual)
endif()

# The C++ standard library, which the C++ compiler links implicitly and a C compiler does not.
set(weft_cxx_runtime ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(FILTER weft_cxx_runtime INCLUDE REGEX "^(stdc\\+\\+|c\\+\\+|c\\+\\+abi|m)$")
list(REMOVE_DUPLICATES weft_cxx_runtime)
list(TRANSFORM weft_cxx_runtime PREPEND "-l" OUTPUT_VARIABLE weft_cxx_runtime_flags)
list(JOIN weft_cxx_runtime_flags " " weft_cxx_runtime_flags)

configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/weft-config.cmake.in" "${PROJECT_BINARY_DIR}/weft-config.cmake"
  INSTALL_DESTINATION "${weft_package_dir}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/weft-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/weft-config.cmake"
  "${PROJECT_BINARY_DIR}/weft-config-version.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/weft_target.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/weft_instrument.cmake"
  DESTINATION "${weft_package_dir}"
  COMPONENT weft_dev)

# pkg-config finds the tree relative to its own file.
file(RELATIVE_PATH weft_pc_to_prefix
  "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
set(weft_dl_flag)
if(CMAKE_DL_LIBS)
  list(TRANSFORM CMAKE_DL_LIBS PREPEND "-l" OUTPUT_VARIABLE weft_dl_flag)
  list(JOIN weft_dl_flag " " weft_dl_flag)
endif()
weft_install_pc(weft weft_dev)
if(TARGET weft_tls)
  weft_install_pc(weft-tls tls_dev)
endif()
if(TARGET weft_http)
  weft_install_pc(weft-http http_dev)
endif()
if(TARGET weft_http_client)
  weft_install_pc(weft-http-client http_client_dev)
endif()
foreach(client redis postgres nats)
  if(TARGET weft_${client})
    weft_install_pc(weft-${client} ${client}_dev)
  endif()
endforeach()
if(TARGET weft_hooks)
  weft_install_pc(weft-hooks hooks_dev)
endif()
weft_install_pc(weft-sim sim_dev)
if(TARGET weft_observe)
  weft_install_pc(weft-observe observe_dev)
endif()
if(TARGET weft_observe_page)
  weft_install_pc(weft-observe-page observe_dev)
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/weft" COMPONENT licence)
