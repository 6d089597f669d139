cmake_minimum_required(VERSION 3.25)
project(hello LANGUAGES CXX)
include(FetchContent)
FetchContent_Declare(weft
  GIT_REPOSITORY "${WEFT_REPOSITORY}"
  GIT_TAG "${WEFT_TAG}"
  GIT_SHALLOW ON)
FetchContent_MakeAvailable(weft)
add_executable(hello "${HELLO}")
target_link_libraries(hello PRIVATE weft::weft)
weft_target(hello)
