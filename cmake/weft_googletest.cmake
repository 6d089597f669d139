# weft_googletest.cmake: GoogleTest from Debian's source package, compiled with the flags of this
# build.
#
# A sanitizer, another compiler, or a cross build each need their own copy. This way they need no
# other package.
set(googletest_dir /usr/src/googletest CACHE PATH "Where the sources of GoogleTest lie")

if(NOT EXISTS "${googletest_dir}/googletest/src/gtest-all.cc")
  message(FATAL_ERROR
    "weft: no GoogleTest under ${googletest_dir}; run: apt-get install googletest (or configure with -DWEFT_BUILD_TESTS=OFF)")
endif()

add_library(weft_googletest STATIC
  "${googletest_dir}/googletest/src/gtest-all.cc"
  "${googletest_dir}/googlemock/src/gmock-all.cc")
target_include_directories(weft_googletest SYSTEM PUBLIC
  "${googletest_dir}/googletest/include" "${googletest_dir}/googlemock/include")
target_include_directories(weft_googletest PRIVATE
  "${googletest_dir}/googletest" "${googletest_dir}/googlemock")
target_compile_features(weft_googletest PUBLIC cxx_std_20)
target_compile_options(weft_googletest PRIVATE -w -O0)  # halves the compile time
target_link_libraries(weft_googletest PUBLIC Threads::Threads)

add_library(weft_googletest_main STATIC "${googletest_dir}/googlemock/src/gmock_main.cc")
target_compile_options(weft_googletest_main PRIVATE -w -O0)
target_link_libraries(weft_googletest_main PUBLIC weft_googletest)
