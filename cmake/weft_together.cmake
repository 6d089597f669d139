# weft_together.cmake: compiles several sources as one.
#
# weft_together(result SIZE source...) sets result to generated sources that include SIZE of the
# given ones each. That takes a third of the time of compiling them one by one. CMake's own
# UNITY_BUILD writes absolute paths, so a compiler cache would miss in another clone of the
# repository; these paths are relative. Sources with the property WEFT_ALONE are passed through.
include_guard(GLOBAL)

function(weft_together result size)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/together")
  set(sources)
  set(batch)
  set(number 0)
  foreach(file IN LISTS ARGN)
    get_source_file_property(alone "${file}" WEFT_ALONE)
    if(alone)
      list(APPEND sources "${file}")
      continue()
    endif()
    get_filename_component(file "${file}" ABSOLUTE)
    file(RELATIVE_PATH path "${folder}" "${file}")
    string(APPEND batch "#include \"${path}\"\n")
    math(EXPR number "${number} + 1")
    math(EXPR rest "${number} % ${size}")
    if(rest EQUAL 0)
      list(APPEND batches "${batch}")
      set(batch)
    endif()
  endforeach()
  list(APPEND batches ${batch})
  set(number 0)
  foreach(batch IN LISTS batches)
    math(EXPR number "${number} + 1")
    file(CONFIGURE OUTPUT "${folder}/${result}_${number}.cc" CONTENT "${batch}" @ONLY)
    list(APPEND sources "${folder}/${result}_${number}.cc")
  endforeach()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()
