// headers.cc: empty. The precompiled headers of all tests belong to its target
// (test/CMakeLists.txt).
