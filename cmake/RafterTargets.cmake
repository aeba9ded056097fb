# All compiler flags, and the targets of the library.
#
#   rafter_objects   every source of include/, jit/, runtime/, kernels/ (compiled once, position independent)
#   rafter           librafter.so     only RAFTER_EXPORT symbols are visible
#   rafter_static    librafter.a      also what roofline, bench, cli and tests link: they see hidden symbols
#   rafter_internal  what code inside the project links to look behind the public headers

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
  endif()
  find_program(RAFTER_CCACHE ccache)
  if(RAFTER_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${RAFTER_CCACHE})
  endif()
endif()

# Headers of dependencies take half of the time of a build. ccache does better without precompiled ones.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(rafter_precompile OFF)
else()
  set(rafter_precompile ${PROJECT_IS_TOP_LEVEL})
endif()
option(RAFTER_PRECOMPILE_HEADERS "Precompile headers of the standard library and of dependencies"
       ${rafter_precompile})

# The standard headers that most sources include, and these.
function(rafter_precompile_headers target)
  if(RAFTER_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} PRIVATE
                              <algorithm> <array> <cstdint> <memory> <optional> <string> <utility> <vector> ${ARGN})
  endif()
endfunction()

# Flags of every target of ours. No -march: all vector code is emitted at run time.
add_library(rafter_flags INTERFACE)
target_compile_options(rafter_flags INTERFACE -Wall -Wextra -Wshadow -fvisibility=hidden
                       $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
if(RAFTER_WERROR)
  target_compile_options(rafter_flags INTERFACE -Werror)
endif()
if(RAFTER_SANITIZE)
  target_compile_options(rafter_flags INTERFACE -fsanitize=${RAFTER_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(rafter_flags INTERFACE -fsanitize=${RAFTER_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang AND RAFTER_SANITIZE MATCHES undefined)
    # The check reads a signature in front of the callee; generated code carries none.
    target_compile_options(rafter_flags INTERFACE -fno-sanitize=function)
  endif()
endif()
if(RAFTER_FUZZ)
  target_compile_options(rafter_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(rafter_add_library_targets)
  add_library(rafter_objects OBJECT)
  target_include_directories(rafter_objects PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_include_directories(rafter_objects SYSTEM PUBLIC ${RAFTER_XBYAK_INCLUDE_DIR})
  target_link_libraries(rafter_objects PRIVATE rafter_flags OpenMP::OpenMP_CXX Threads::Threads)

  rafter_precompile_headers(rafter_objects ${PROJECT_SOURCE_DIR}/jit/assembler.h)
  if(RAFTER_PRECOMPILE_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # In a precompiled header GCC forgets that xbyak is a system header, and warns about its inlined code.
    target_compile_options(rafter_objects PRIVATE -Wno-array-bounds)
  endif()

  add_library(rafter SHARED $<TARGET_OBJECTS:rafter_objects>)
  add_library(rafter_static STATIC $<TARGET_OBJECTS:rafter_objects>)
  foreach(target rafter rafter_static)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                               $<INSTALL_INTERFACE:include>)
    # Installed, it is the package that asks for C++20: plain C programs must not need a C++ compiler.
    target_compile_features(${target} PUBLIC $<BUILD_INTERFACE:cxx_std_20>)
    target_link_libraries(${target} PRIVATE OpenMP::OpenMP_CXX Threads::Threads)
  endforeach()
  set_target_properties(rafter_static PROPERTIES OUTPUT_NAME rafter)

  # Before 1.0 every minor version may change the binary interface.
  set(soversion ${PROJECT_VERSION_MAJOR})
  if(soversion EQUAL 0)
    set(soversion 0.${PROJECT_VERSION_MINOR})
  endif()
  set(map ${PROJECT_SOURCE_DIR}/cmake/rafter.map)
  set_target_properties(rafter PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${soversion}
                        LINK_DEPENDS ${map})
  target_link_options(rafter PRIVATE -Wl,--version-script=${map} -Wl,-z,relro,-z,now)
  if(RAFTER_SANITIZE)
    target_link_options(rafter PRIVATE -fsanitize=${RAFTER_SANITIZE})
  else()
    target_link_options(rafter PRIVATE -Wl,--no-undefined)
  endif()
  add_library(rafter::rafter ALIAS rafter)
  add_library(rafter::rafter_static ALIAS rafter_static)

  add_library(rafter_internal INTERFACE)
  target_link_libraries(rafter_internal INTERFACE rafter_flags rafter_static OpenMP::OpenMP_CXX
                        Threads::Threads)
  target_include_directories(rafter_internal INTERFACE ${PROJECT_SOURCE_DIR})
  target_include_directories(rafter_internal SYSTEM INTERFACE ${RAFTER_XBYAK_INCLUDE_DIR})
endfunction()
