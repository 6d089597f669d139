# weft_no_scripts.cmake: CPack runs this after it has made packages: removes the maintainer scripts.
#
# CPack gives each package with a shared library a postinst and a postrm that call ldconfig, and has
# no setting against it. Debian's policy forbids the call: the trigger in packaging/debian/triggers
# does it once for all packages.
foreach(package IN LISTS CPACK_PACKAGE_FILES)
  if(NOT package MATCHES "\\.deb$")
    continue()
  endif()
  set(folder "${package}.unpacked")
  execute_process(COMMAND dpkg-deb --raw-extract "${package}" "${folder}" COMMAND_ERROR_IS_FATAL ANY)
  if(EXISTS "${folder}/DEBIAN/postinst" OR EXISTS "${folder}/DEBIAN/postrm")
    file(REMOVE "${folder}/DEBIAN/postinst" "${folder}/DEBIAN/postrm")
    execute_process(COMMAND dpkg-deb --root-owner-group --build "${folder}" "${package}" COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
  endif()
  file(REMOVE_RECURSE "${folder}")
endforeach()
