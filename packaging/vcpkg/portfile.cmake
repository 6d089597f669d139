# WEFT_REPOSITORY and WEFT_COMMIT: the address of the repository, and the hash of the release's
# commit. A copy of this port in a registry has both in it as text (docs/releasing.md).
vcpkg_from_git(
  OUT_SOURCE_PATH SOURCE_PATH
  URL "$ENV{WEFT_REPOSITORY}"
  REF "$ENV{WEFT_COMMIT}")

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
  FEATURES
    tls WEFT_TLS)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${feature_options}
    -DWEFT_ASIO=OFF
    -DWEFT_OBSERVE=OFF
    -DWEFT_PROBES=OFF
    -DWEFT_BUILD_TESTS=OFF
    -DWEFT_BUILD_EXAMPLES=OFF
    -DWEFT_BUILD_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/weft)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE
  "${CURRENT_PACKAGES_DIR}/debug/include"
  "${CURRENT_PACKAGES_DIR}/debug/share"
  "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
