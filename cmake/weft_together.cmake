# weft_together.cmake: compiles several sources as one.
#
# weft_together(result SIZE source...) sets result to generated sources that include SIZE of the
# given ones each. That takes a third of the time of compiling them one by one. CMake's own
# UNITY_BUILD writes absolute paths, so a compiler cache would miss in another clone of the
# repository; these paths are relative. Sources with the property WEFT_ALONE or with options of
# their own are passed through.
#
# weft_library_together(target) does that with each folder of a library. The names of one file's
# anonymous namespace must then be in no other file of the folder.
include_guard(GLOBAL)

function(weft_together result size)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/together")
  set(sources)
  set(batch)
  set(number 0)
  foreach(file IN LISTS ARGN)
    get_source_file_property(alone "${file}" WEFT_ALONE)
    get_source_file_property(options "${file}" COMPILE_OPTIONS)
    if(alone OR options OR NOT file MATCHES "\\.cc$")
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

function(weft_library_together target)
  get_target_property(files ${target} SOURCES)
  set(folders)
  foreach(file IN LISTS files)
    get_filename_component(file "${file}" ABSOLUTE)
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    list(APPEND folders ${folder})
    list(APPEND files_of_${folder} "${file}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(sources)
  foreach(folder IN LISTS folders)
    set(result ${target}_${folder})
    weft_together(${result} 16 ${files_of_${folder}})
    list(APPEND sources ${${result}})
  endforeach()
  set_property(TARGET ${target} PROPERTY SOURCES ${sources})
  # A local name in one file may hide a name of another file, GCC's flow analysis has false positives
  # in large units, and what is included is no header here.
  target_compile_options(${target} PRIVATE -Wno-shadow
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-subobject-linkage>"
    # First, because a using-directive of one file would apply to what the next one includes.
    "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include weft/weft.h>")
endfunction()
