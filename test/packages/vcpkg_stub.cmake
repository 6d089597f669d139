# vcpkg_stub.cmake: the functions of vcpkg that packaging/vcpkg/portfile.cmake calls, for one
# release build, as vcpkg documents them. test/packages/vcpkg.py runs the portfile with them:
#
#   cmake -DSOURCE=… -DCURRENT_PACKAGES_DIR=… -DBUILD=… -DPORTFILE=… -DJOBS=… -P vcpkg_stub.cmake
cmake_minimum_required(VERSION 3.25)
set(PORT weft)

function(stub_run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_from_git)
  cmake_parse_arguments(PARSE_ARGV 0 is "" "OUT_SOURCE_PATH;URL;REF;HEAD_REF" "PATCHES")
  if(is_UNPARSED_ARGUMENTS OR NOT is_URL OR NOT is_REF MATCHES "^[0-9a-f]+$")
    message(FATAL_ERROR "vcpkg_from_git needs URL and REF, a hash: ${ARGV}")
  endif()
  set(${is_OUT_SOURCE_PATH} "${SOURCE}" PARENT_SCOPE)
endfunction()

function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 is "" "OUT_FEATURE_OPTIONS" "FEATURES;INVERTED_FEATURES")
  if(is_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vcpkg_check_features: ${ARGV}")
  endif()
  set(options)
  while(is_FEATURES)
    list(POP_FRONT is_FEATURES feature variable)
    list(APPEND options "-D${variable}=OFF")  # no feature is chosen
  endwhile()
  set(${is_OUT_FEATURE_OPTIONS} "${options}" PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 is "" "SOURCE_PATH" "OPTIONS;OPTIONS_RELEASE;OPTIONS_DEBUG")
  if(is_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vcpkg_cmake_configure: ${ARGV}")
  endif()
  stub_run("${CMAKE_COMMAND}" -G Ninja -S "${is_SOURCE_PATH}" -B "${BUILD}" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF
    "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" -DCMAKE_INSTALL_LIBDIR=lib ${is_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  stub_run("${CMAKE_COMMAND}" --build "${BUILD}" -j "${JOBS}")
  stub_run("${CMAKE_COMMAND}" --install "${BUILD}")
endfunction()

function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 is "" "CONFIG_PATH;PACKAGE_NAME" "")
  if(NOT IS_DIRECTORY "${CURRENT_PACKAGES_DIR}/${is_CONFIG_PATH}")
    message(FATAL_ERROR "vcpkg_cmake_config_fixup: there is no ${is_CONFIG_PATH}")
  endif()
  file(COPY "${CURRENT_PACKAGES_DIR}/${is_CONFIG_PATH}/" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/${is_CONFIG_PATH}")
  # The files compute the prefix from their own place, which is one folder higher now.
  file(GLOB files "${CURRENT_PACKAGES_DIR}/share/${PORT}/*.cmake")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(REPLACE "\${CMAKE_CURRENT_LIST_DIR}/../../../" "\${CMAKE_CURRENT_LIST_DIR}/../../" text "${text}")
    string(REGEX REPLACE "get_filename_component\\(_IMPORT_PREFIX \"\\\${CMAKE_CURRENT_LIST_FILE}\" PATH\\)\n"
      "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_DIR}\" PATH)\n" text "${text}")
    string(REGEX REPLACE "(get_filename_component\\(_IMPORT_PREFIX \"\\\${_IMPORT_PREFIX}\" PATH\\)\n)+"
      "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n" text "${text}")
    file(WRITE "${file}" "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 is "" "" "FILE_LIST")
  file(COPY_FILE "${is_FILE_LIST}" "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright")
endfunction()

include("${PORTFILE}")
