# weft_grpc.cmake: weft::grpc, headers over libgrpc++, if WEFT_GRPC (AUTO, ON or OFF) and the system
# allow it. They are templates over code that protoc generates, so there is nothing to compile, and
# programs need the headers of libgrpc++ anyway.
if(NOT WEFT_GRPC MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "weft: WEFT_GRPC is \"${WEFT_GRPC}\"; it must be AUTO, ON or OFF")
endif()
if(WEFT_GRPC STREQUAL "OFF")
  return()
endif()
find_path(weft_grpc_include grpcpp/grpcpp.h)
find_library(weft_grpc_library grpc++)
find_library(weft_grpc_core_library grpc)
find_library(weft_grpc_gpr_library gpr)
find_library(weft_grpc_absl_library absl_synchronization)  # headers of libgrpc++ call it
find_library(weft_protobuf_library protobuf)
find_program(weft_protoc protoc)
find_program(weft_grpc_plugin grpc_cpp_plugin)
mark_as_advanced(weft_grpc_include weft_grpc_library
  weft_grpc_core_library weft_grpc_gpr_library weft_grpc_absl_library weft_protobuf_library weft_protoc weft_grpc_plugin)
set(weft_grpc_lacks)
if(NOT weft_system STREQUAL "linux")
  set(weft_grpc_lacks "it needs Linux")
elseif(NOT (weft_grpc_include AND weft_grpc_library AND
    weft_grpc_core_library AND weft_grpc_gpr_library AND weft_grpc_absl_library AND weft_protobuf_library AND weft_protoc AND weft_grpc_plugin))
  set(weft_grpc_lacks "no libgrpc++ or protoc; run: apt-get install libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler")
endif()
if(weft_grpc_lacks)
  if(WEFT_GRPC STREQUAL "ON")
    message(FATAL_ERROR "weft: weft::grpc: ${weft_grpc_lacks} (or configure with -DWEFT_GRPC=OFF)")
  endif()
  message(STATUS "weft: weft::grpc left out: ${weft_grpc_lacks}")
  return()
endif()

file(GLOB weft_grpc_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/weft/grpc/*.h" "${PROJECT_SOURCE_DIR}/include/weft/grpc/detail/*.h")
add_library(weft_grpc INTERFACE)
add_library(weft::grpc ALIAS weft_grpc)
target_sources(weft_grpc INTERFACE FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${weft_grpc_headers})
target_include_directories(weft_grpc SYSTEM INTERFACE "$<BUILD_INTERFACE:${weft_grpc_include}>")
target_link_libraries(weft_grpc INTERFACE weft
  "$<BUILD_INTERFACE:${weft_grpc_library};${weft_grpc_core_library};${weft_grpc_gpr_library};${weft_grpc_absl_library};${weft_protobuf_library}>"
  "$<INSTALL_INTERFACE:grpc++;grpc;gpr;absl_synchronization;protobuf>")
set_target_properties(weft_grpc PROPERTIES EXPORT_NAME grpc)

# weft_grpc_generate(TARGET FILE.proto): adds the code that protoc generates to a target.
function(weft_grpc_generate target proto)
  get_filename_component(folder "${proto}" DIRECTORY)
  get_filename_component(name "${proto}" NAME_WE)
  set(to "${CMAKE_CURRENT_BINARY_DIR}/${target}_generated")
  file(MAKE_DIRECTORY "${to}")
  set(made "${to}/${name}.pb.cc" "${to}/${name}.grpc.pb.cc")
  add_custom_command(OUTPUT ${made} "${to}/${name}.pb.h" "${to}/${name}.grpc.pb.h"
    COMMAND "${weft_protoc}" "--proto_path=${folder}" "--cpp_out=${to}" "--grpc_out=${to}"
      "--plugin=protoc-gen-grpc=${weft_grpc_plugin}" "${proto}"
    DEPENDS "${proto}" VERBATIM)
  add_library(${target}_proto STATIC ${made} "${to}/${name}.pb.h" "${to}/${name}.grpc.pb.h")
  target_compile_features(${target}_proto PUBLIC cxx_std_20)
  target_include_directories(${target}_proto SYSTEM PUBLIC "${to}" "${weft_grpc_include}")
  weft_own_flags(${target}_proto)
  target_link_libraries(${target} PRIVATE ${target}_proto)
endfunction()
