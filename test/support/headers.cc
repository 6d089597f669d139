// headers.cc: nothing. The headers that all tests include are compiled beforehand for the target of this file (test/CMakeLists.txt).
