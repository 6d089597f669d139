# aarch64-linux-gnu.cmake: see cross_linux_gnu.cmake.
set(CMAKE_SYSTEM_PROCESSOR aarch64)

# It has branch-target and pointer authentication; the emulator's own cipher makes the latter fast.
set(weft_emulator_options -cpu max,pauth-impdef=on)
include("${CMAKE_CURRENT_LIST_DIR}/cross_linux_gnu.cmake")
