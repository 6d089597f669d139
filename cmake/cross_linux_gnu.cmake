# cross_linux_gnu.cmake: cross compiler and emulator for CMAKE_SYSTEM_PROCESSOR, as Debian packages
# them (g++-PROCESSOR-linux-gnu, qemu-user). Included by toolchain files. weft_emulator_options: of
# the emulator.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_CXX_COMPILER ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-g++)

execute_process(
  COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libc.so.6
  OUTPUT_VARIABLE libc OUTPUT_STRIP_TRAILING_WHITESPACE)
get_filename_component(root "${libc}" DIRECTORY)
get_filename_component(root "${root}/.." REALPATH)

# The emulator's child of a fork may find a lock of glib's allocator held by another thread, and wait
# for ever before it executes a program. malloc's locks are safe there.
find_program(WEFT_ENV env)
mark_as_advanced(WEFT_ENV)
set(CMAKE_CROSSCOMPILING_EMULATOR
  "${WEFT_ENV}" G_SLICE=always-malloc qemu-${CMAKE_SYSTEM_PROCESSOR} -L "${root}" ${weft_emulator_options})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
