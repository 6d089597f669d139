# weft_install.cmake: headers, library, CMake package and pkg-config file. The installed tree may be
# moved.
include(CMakePackageConfigHelpers)

set(weft_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weft")

install(TARGETS weft weft_instrument EXPORT weft_targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT weft_targets
  NAMESPACE weft::
  FILE weft-targets.cmake
  DESTINATION "${weft_package_dir}")

if(TARGET weft_tls)
  install(TARGETS weft_tls EXPORT weft_tls_targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(EXPORT weft_tls_targets
    NAMESPACE weft::
    FILE weft-tls-targets.cmake
    DESTINATION "${weft_package_dir}")
endif()

if(TARGET weft_program)
  install(TARGETS weft_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
if(TARGET weft_observe)
  install(TARGETS weft_observe EXPORT weft_observe_targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(EXPORT weft_observe_targets
    NAMESPACE weft::
    FILE weft-observe-targets.cmake
    DESTINATION "${weft_package_dir}")
endif()

if(TARGET weft_observe_page)
  install(TARGETS weft_observe_page EXPORT weft_observe_page_targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(EXPORT weft_observe_page_targets
    NAMESPACE weft::
    FILE weft-observe_page-targets.cmake
    DESTINATION "${weft_package_dir}")
endif()

install(TARGETS weft_asio EXPORT weft_asio_targets
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT weft_asio_targets
  NAMESPACE weft::
  FILE weft-asio-targets.cmake
  DESTINATION "${weft_package_dir}")

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
  DESTINATION "${weft_package_dir}")

# pkg-config finds the tree relative to its own file.
file(RELATIVE_PATH weft_pc_to_prefix
  "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
set(weft_dl_flag)
if(CMAKE_DL_LIBS)
  list(TRANSFORM CMAKE_DL_LIBS PREPEND "-l" OUTPUT_VARIABLE weft_dl_flag)
  list(JOIN weft_dl_flag " " weft_dl_flag)
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/weft.pc.in" "${PROJECT_BINARY_DIR}/weft.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/weft.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(TARGET weft_tls)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/weft-tls.pc.in" "${PROJECT_BINARY_DIR}/weft-tls.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/weft-tls.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()
if(TARGET weft_observe)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/weft-observe.pc.in" "${PROJECT_BINARY_DIR}/weft-observe.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/weft-observe.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()
if(TARGET weft_observe_page)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/weft-observe-page.pc.in" "${PROJECT_BINARY_DIR}/weft-observe-page.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/weft-observe-page.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/weft")
