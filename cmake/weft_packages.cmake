# weft_packages.cmake: Debian packages by CPack: `cpack -G DEB` in a build of the preset packages.
#
# Each shared library has a package of its own, named by its soname, so a program that uses only
# libweft needs no OpenSSL, elfutils or ncurses. libweft-dev has what compiling against the core
# needs, also statically. A component has its own development package, because its CMake and
# pkg-config files depend on other libraries. docs/packages.md lists the packages.
set(WEFT_PACKAGE_CONTACT "The authors of weft <weft@weft-project.org>" CACHE STRING "The maintainer that packages name")
find_program(WEFT_GZIP gzip)
mark_as_advanced(WEFT_GZIP)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_VENDOR "The authors of weft")
set(CPACK_PACKAGE_CONTACT "${WEFT_PACKAGE_CONTACT}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES OFF)  # debug information goes into packages of its own
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/weft_strip_archives.cmake")
set(CPACK_POST_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/weft_no_scripts.cmake")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)
set(CPACK_COMPONENTS_ALL)
set(weft_package_version "${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")

# Documents that each package must have. SOURCE_DATE_EPOCH is the date of a reproducible build.
set(weft_package_files "${PROJECT_BINARY_DIR}/generated/debian")
file(READ "${PROJECT_SOURCE_DIR}/LICENSE" licence_text)
string(STRIP "${licence_text}" licence_text)
string(REPLACE "\n" "\n " licence_text " ${licence_text}")
string(REPLACE "\n \n" "\n .\n" licence_text "${licence_text}")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(name IN ITEMS copyright changelog)
  configure_file("${PROJECT_SOURCE_DIR}/packaging/debian/${name}.in" "${weft_package_files}/${name}" @ONLY)
endforeach()
if(WEFT_GZIP)
  function(weft_gzip from to)
    execute_process(COMMAND "${WEFT_GZIP}" -9nc "${from}" OUTPUT_FILE "${weft_package_files}/${to}")
  endfunction()
  weft_gzip("${weft_package_files}/changelog" changelog.Debian.gz)
  weft_gzip("${PROJECT_SOURCE_DIR}/CHANGELOG.md" changelog.gz)
  weft_gzip("${PROJECT_SOURCE_DIR}/programs/weft.1" weft.1.gz)
endif()

# weft_package(component name SECTION s SUMMARY s TEXT t [DEPENDS d] [RECOMMENDS r] [SUGGESTS s])
function(weft_package component name)
  cmake_parse_arguments(PARSE_ARGV 2 is "" "SECTION;SUMMARY;TEXT;DEPENDS;RECOMMENDS;SUGGESTS" "")
  string(TOUPPER "${component}" upper)
  set(settings
    PACKAGE_NAME "${name}" PACKAGE_SECTION "${is_SECTION}" DESCRIPTION "${is_SUMMARY}\n${is_TEXT}"
    PACKAGE_DEPENDS "${is_DEPENDS}" PACKAGE_RECOMMENDS "${is_RECOMMENDS}" PACKAGE_SUGGESTS "${is_SUGGESTS}")
  if(is_SECTION STREQUAL "libs")
    set("CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA" "${PROJECT_SOURCE_DIR}/packaging/debian/triggers" PARENT_SCOPE)
    set("CPACK_DEBIAN_${upper}_PACKAGE_MULTIARCH" same PARENT_SCOPE)
  endif()
  while(settings)
    list(POP_FRONT settings key value)
    set("CPACK_DEBIAN_${upper}_${key}" "${value}" PARENT_SCOPE)
  endwhile()
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
  # Not by `cmake --install`, which installs no package.
  install(FILES "${weft_package_files}/copyright" "${weft_package_files}/changelog.Debian.gz" "${weft_package_files}/changelog.gz"
    DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${name}" COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

set(weft_about "weft is Go's scheduler for C++20: green threads, channels and\nselect on all cores.")
weft_package(weft libweft${weft_abi} SECTION libs SUMMARY "green threads and channels for C++"
  TEXT "${weft_about}\nThis package has the shared library.")
weft_package(weft_dev libweft-dev SECTION libdevel SUMMARY "green threads and channels for C++ (development files)"
  DEPENDS "libweft${weft_abi} (= ${weft_package_version}), libc6-dev"
  SUGGESTS "libboost-dev (>= 1.81), weft-tools"
  TEXT "${weft_about}\nThis package has the headers, the static library, and the files for\nCMake and pkg-config.")
if(TARGET weft_tls)
  weft_package(tls libweft-tls${weft_abi} SECTION libs SUMMARY "TLS streams for weft"
    DEPENDS "libweft${weft_abi} (= ${weft_package_version})"
    TEXT "${weft_about}\nThis package has the shared library of TLS streams, which uses OpenSSL.")
  weft_package(tls_dev libweft-tls-dev SECTION libdevel SUMMARY "TLS streams for weft (development files)"
    DEPENDS "libweft-tls${weft_abi} (= ${weft_package_version}), libweft-dev (= ${weft_package_version}), libssl-dev"
    TEXT "${weft_about}\nThis package has the headers of TLS streams, and the files for CMake\nand pkg-config.")
endif()
if(TARGET weft_http)
  set(weft_http2_dependency)
  if(weft_http2)
    set(weft_http2_dependency ", libnghttp2-dev")
  endif()
  weft_package(http libweft-http${weft_abi} SECTION libs SUMMARY "HTTP server for weft"
    DEPENDS "libweft${weft_abi} (= ${weft_package_version})"
    TEXT "${weft_about}\nThis package has the shared library of the HTTP server.")
  weft_package(http_dev libweft-http-dev SECTION libdevel SUMMARY "HTTP server for weft (development files)"
    DEPENDS "libweft-http${weft_abi} (= ${weft_package_version}), libweft-dev (= ${weft_package_version})${weft_http2_dependency}"
    TEXT "${weft_about}\nThis package has the headers of the HTTP server, and the files for\nCMake and pkg-config.")
endif()
if(TARGET weft_http_client)
  weft_package(http_client libweft-http-client${weft_abi} SECTION libs SUMMARY "HTTP client for weft"
    DEPENDS "libweft-http${weft_abi} (= ${weft_package_version})"
    TEXT "${weft_about}\nThis package has the shared library of the HTTP client, which uses\nlibcurl.")
  weft_package(http_client_dev libweft-http-client-dev SECTION libdevel SUMMARY "HTTP client for weft (development files)"
    DEPENDS "libweft-http-client${weft_abi} (= ${weft_package_version}), libweft-http-dev (= ${weft_package_version}), libcurl4-openssl-dev"
    TEXT "${weft_about}\nThis package has the header of the HTTP client, and the files for\nCMake and pkg-config.")
endif()
# weft_client_packages(name NAME_OF_SERVER LIBRARY development): the packages of a client of another server.
macro(weft_client_packages name server library development)
  if(TARGET weft_${name})
    weft_package(${name} libweft-${name}${weft_abi} SECTION libs SUMMARY "${server} client for weft"
      DEPENDS "libweft${weft_abi} (= ${weft_package_version})"
      TEXT "${weft_about}\nThis package has the shared library of the ${server} client, which uses\n${library}.")
    weft_package(${name}_dev libweft-${name}-dev SECTION libdevel SUMMARY "${server} client for weft (development files)"
      DEPENDS "libweft-${name}${weft_abi} (= ${weft_package_version}), libweft-dev (= ${weft_package_version}), ${development}"
      TEXT "${weft_about}\nThis package has the headers of the ${server} client, and the files for\nCMake and pkg-config.")
  endif()
endmacro()
weft_client_packages(redis Redis hiredis libhiredis-dev)
weft_client_packages(postgres PostgreSQL libpq libpq-dev)
weft_client_packages(nats NATS libnats libnats-dev)
if(TARGET weft_hooks)
  weft_package(hooks libweft-hooks${weft_abi} SECTION libs SUMMARY "blocking calls of libc park green threads of weft"
    DEPENDS "libweft${weft_abi} (= ${weft_package_version})"
    TEXT "${weft_about}\nThis package has the shared library that replaces blocking calls of the\nC library.")
  weft_package(hooks_dev libweft-hooks-dev SECTION libdevel
    SUMMARY "blocking calls of libc park green threads of weft (development files)"
    DEPENDS "libweft-hooks${weft_abi} (= ${weft_package_version}), libweft-dev (= ${weft_package_version})"
    TEXT "${weft_about}\nThis package has the files for CMake and pkg-config of the library that\nreplaces blocking calls of the C library.")
endif()
weft_package(sim libweft-sim${weft_abi} SECTION libs SUMMARY "tests of green threads in controlled orders"
  DEPENDS "libweft${weft_abi} (= ${weft_package_version})"
  TEXT "${weft_about}\nThis package has the shared library that runs tests in many orders of\ntheir green threads.")
weft_package(sim_dev libweft-sim-dev SECTION libdevel
  SUMMARY "tests of green threads in controlled orders (development files)"
  DEPENDS "libweft-sim${weft_abi} (= ${weft_package_version}), libweft-dev (= ${weft_package_version})"
  TEXT "${weft_about}\nThis package has the headers of the library that runs tests in many\norders, and the files for CMake and pkg-config.")
if(TARGET weft_observe)
  weft_package(observe libweft-observe${weft_abi} SECTION libs SUMMARY "recordings, profiles and metrics of green threads"
    DEPENDS "libweft${weft_abi} (= ${weft_package_version})"
    TEXT "${weft_about}\nThis package has the shared library that records and shows what they do.")
  set(weft_page)
  set(weft_page_dependency)
  if(TARGET weft_observe_page)
    weft_package(observe_page libweft-observe-page${weft_abi} SECTION libs SUMMARY "web page that shows green threads"
      DEPENDS "libweft-observe${weft_abi} (= ${weft_package_version})"
      TEXT "${weft_about}\nThis package has the shared library that serves a web page about a\nrunning program.")
    set(weft_page_dependency ", libweft-observe-page${weft_abi} (= ${weft_package_version})")
  endif()
  weft_package(observe_dev libweft-observe-dev SECTION libdevel SUMMARY "observing green threads (development files)"
    DEPENDS "libweft-observe${weft_abi} (= ${weft_package_version})${weft_page_dependency}, libweft-dev (= ${weft_package_version})"
    TEXT "${weft_about}\nThis package has the files for CMake and pkg-config of the libraries\nthat record and show what they do.")
endif()
if(TARGET weft_program)
  install(FILES "${weft_package_files}/weft.1.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tools EXCLUDE_FROM_ALL)
  weft_package(tools weft-tools SECTION devel SUMMARY "show what green threads of a program do"
    DEPENDS "libweft-observe${weft_abi} (= ${weft_package_version})"
    SUGGESTS "gdb"
    TEXT "${weft_about}\nThis package has the program weft, and commands for gdb and lldb.")
endif()
include(CPack)
