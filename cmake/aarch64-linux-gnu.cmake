# aarch64-linux-gnu.cmake: cross compiler and emulator, as Debian packages them
# (g++-aarch64-linux-gnu, qemu-user).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

execute_process(
  COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libc.so.6
  OUTPUT_VARIABLE libc OUTPUT_STRIP_TRAILING_WHITESPACE)
get_filename_component(root "${libc}" DIRECTORY)
get_filename_component(root "${root}/.." REALPATH)

# -cpu max has branch-target and pointer authentication; the emulator's own cipher makes the latter
# fast. The emulator's child of a fork may find a lock of glib's allocator held by another thread,
# and wait for ever before it executes a program. malloc's locks are safe there.
find_program(WEFT_ENV env)
mark_as_advanced(WEFT_ENV)
set(CMAKE_CROSSCOMPILING_EMULATOR "${WEFT_ENV}" G_SLICE=always-malloc qemu-aarch64 -L "${root}" -cpu max,pauth-impdef=on)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
