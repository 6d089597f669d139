# weft_sim.cmake: weft::sim, a separate library for tests: it runs a test in many orders of its green
# threads. The library weft is independent of it.
file(GLOB weft_sim_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/sim/*.cc")
list(FILTER weft_sim_sources EXCLUDE REGEX "_test\\.cc$")
weft_keep_platform(weft_sim_sources)
file(GLOB weft_sim_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/weft/sim/*.h" "${PROJECT_SOURCE_DIR}/include/weft/run/sim.h")
add_library(weft_sim ${weft_sim_sources})
add_library(weft::sim ALIAS weft_sim)
target_sources(weft_sim PUBLIC
  FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${weft_sim_headers})
target_include_directories(weft_sim PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(weft_sim PUBLIC weft)
set_target_properties(weft_sim PROPERTIES
  EXPORT_NAME sim
  VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})
weft_library_flags(weft_sim)
weft_exports(weft_sim)
weft_strict_warnings(weft_sim)
if(WEFT_TEST_TOGETHER)
  weft_library_together(weft_sim)
endif()
add_dependencies(weft_components weft_sim)
