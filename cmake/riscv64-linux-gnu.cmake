# riscv64-linux-gnu.cmake: see cross_linux_gnu.cmake.
set(CMAKE_SYSTEM_PROCESSOR riscv64)
include("${CMAKE_CURRENT_LIST_DIR}/cross_linux_gnu.cmake")
