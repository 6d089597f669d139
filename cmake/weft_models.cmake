# weft_models.cmake: the model checks of test/model.
#
# x_model.cc is a program for the Relacy model checker. It includes the library's own headers, is
# compiled with WEFT_MODEL=1 and is not linked with weft. A line "// mutants: A B" in it (there may
# be several) makes two more programs, compiled with MUTANT_A and MUTANT_B. These must fail, or the
# check proves nothing. Headers in test/model/stand_in come before the library's.
#
# x.pml is a model for Spin. Each comment line of the form
#     /* spin: NAME expect=ok|fail pan="-a -m200000" defs="-DTSO" cc="-O2 -DSAFETY" */
# is one run of it; see test/house/spin_run.py.
#
# test/house/model_record.py runs them for ./dev model and ./dev test, and keeps the record of their
# results. The tests here are for ctest.
#
# They check algorithms, not builds: one native GCC build is enough.
if(CMAKE_CROSSCOMPILING OR WEFT_SANITIZE OR WEFT_LTO OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  return()
endif()

set(model_dir "${PROJECT_SOURCE_DIR}/test/model")
set(model_timeout 600)
add_custom_target(models)

find_path(relacy_include relacy/relacy.hpp)
file(GLOB model_files CONFIGURE_DEPENDS "${model_dir}/*_model.cc")
if(model_files AND NOT relacy_include)
  message(STATUS "weft: model checks left out: no Relacy; run: apt-get install relacy-dev")
  set(model_files)
endif()

function(weft_model_flags target)
  # Stand-ins for headers of the library come before them.
  target_include_directories(${target} PRIVATE
    "${model_dir}/stand_in" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_include_directories(${target} SYSTEM PRIVATE "${relacy_include}")
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_definitions(${target} PRIVATE WEFT_MODEL=1 ${ARGN})
endfunction()

# The checker itself, compiled once with optimization, because a model spends its time there.
if(model_files)
  add_library(model_search OBJECT EXCLUDE_FROM_ALL "${model_dir}/search.cc")
  weft_model_flags(model_search)
endif()

# Models take longer to compile than to run. -O0 would refer to symbols that a model does not have.
function(weft_model_options target)
  target_compile_options(${target} PRIVATE -O1 -g0)
endfunction()

# The headers that all models include are also compiled once. Mutants come after them.
if(model_files)
  add_library(model_headers OBJECT EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/test/support/headers.cc")
  weft_model_flags(model_headers)
  weft_model_options(model_headers)
  # The standard headers come before model.h, which defines macros with some of their names.
  target_precompile_headers(model_headers PRIVATE
    <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <cstdlib> <cstring> <exception> <functional>
    <future> <iterator> <limits> <memory> <mutex> <new> <optional> <source_location> <stdexcept> <stop_token> <string>
    <string_view> <system_error> <type_traits> <utility> <variant> <vector>
    "${model_dir}/model.h")
endif()

function(weft_add_model target file)
  add_executable(${target} EXCLUDE_FROM_ALL "${file}")
  target_link_libraries(${target} PRIVATE model_search)
  weft_model_flags(${target} ${ARGN})
  target_precompile_headers(${target} REUSE_FROM model_headers)
  weft_model_options(${target})
  target_compile_options(${target} PRIVATE -Wall -Wextra)
  add_dependencies(models ${target})
endfunction()

foreach(file IN LISTS model_files)
  get_filename_component(name "${file}" NAME_WE)
  string(REGEX REPLACE "_model$" "" name "${name}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  weft_add_model(model_${name} "${file}")
  add_test(NAME model.${name} COMMAND model_${name})
  set_tests_properties(model.${name} PROPERTIES LABELS model TIMEOUT ${model_timeout})

  file(STRINGS "${file}" lines REGEX "^// mutants:")
  string(REGEX REPLACE "// mutants:|;" " " mutants "${lines}")
  separate_arguments(mutants UNIX_COMMAND "${mutants}")
  foreach(mutant IN LISTS mutants)
    weft_add_model(model_${name}_${mutant} "${file}" MUTANT_${mutant}=1)
    target_compile_options(model_${name}_${mutant} PRIVATE -w)
    add_test(NAME model.${name}.mutant_${mutant}
      COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/test/house/mutant.py" --model
      $<TARGET_FILE:model_${name}_${mutant}>)
    set_tests_properties(model.${name}.mutant_${mutant} PROPERTIES LABELS model TIMEOUT ${model_timeout})
  endforeach()
endforeach()

find_program(spin_program spin)
file(GLOB spin_files CONFIGURE_DEPENDS "${model_dir}/*.pml")
if(spin_files AND NOT spin_program)
  message(STATUS "weft: Spin models left out: no spin; run: apt-get install spin")
  set(spin_files)
endif()

foreach(file IN LISTS spin_files)
  get_filename_component(name "${file}" NAME_WE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(STRINGS "${file}" lines REGEX "^/\\* spin: ")
  if(NOT lines)
    message(FATAL_ERROR "weft: ${file} has no line of the form /* spin: NAME expect=ok ... */")
  endif()
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^/\\* spin: ([A-Za-z0-9_]+)" ignored "${line}")
    set(run "${CMAKE_MATCH_1}")
    add_test(NAME spin.${name}.${run}
      COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/test/house/spin_run.py" "${file}" "${run}"
      --spin "${spin_program}" --work "${PROJECT_BINARY_DIR}/spin/${name}.${run}")
    set_tests_properties(spin.${name}.${run} PROPERTIES LABELS spin TIMEOUT ${model_timeout})
  endforeach()
endforeach()
