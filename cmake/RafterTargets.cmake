# All compiler flags, and the targets of the library.
#
#   rafter_objects   sources of include/, jit/, runtime/, kernels/ (compiled once, position independent)
#   rafter_small_objects  those of them that are compiled for size
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

# Most of the time of a build goes into reading headers again for every source: headers are precompiled, and the
# sources of a folder are compiled as one, which also makes the library smaller. ccache can't keep objects that used a
# precompiled header.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(rafter_precompile OFF)
else()
  set(rafter_precompile ${PROJECT_IS_TOP_LEVEL})
endif()
option(RAFTER_PRECOMPILE_HEADERS "Precompile headers of the standard library and of dependencies"
       ${rafter_precompile})
option(RAFTER_UNITY_BUILD "Compile the sources of each folder as one translation unit" ${PROJECT_IS_TOP_LEVEL})

# The standard headers that most sources include, and these.
function(rafter_precompile_headers target)
  if(RAFTER_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} PRIVATE
                              <algorithm> <array> <cstdint> <memory> <optional> <string> <utility> <vector> ${ARGN})
  endif()
endfunction()

# Compiles the sources that the target has by now as one unit per folder. SPLIT: folders whose sources are compiled in
# this many units, as FOLDER=COUNT (paths from the project's root). No two files of a folder may therefore define the
# same name, not even in anonymous namespaces.
function(rafter_unity_build target)
  if(NOT RAFTER_UNITY_BUILD)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" SPLIT)
  foreach(split IN LISTS arg_SPLIT)
    string(REGEX MATCH "^(.*)=([0-9]+)$" matched ${split})
    string(MAKE_C_IDENTIFIER ${CMAKE_MATCH_1} group)
    set(units_${group} ${CMAKE_MATCH_2})
    set(next_${group} 0)
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  get_target_property(source_dir ${target} SOURCE_DIR)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${source_dir})
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER ${folder} group)
    if(DEFINED units_${group})
      math(EXPR unit "${next_${group}} % ${units_${group}}")
      math(EXPR next_${group} "${next_${group}} + 1")
      string(APPEND group "_${unit}")
    endif()
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group})
  endforeach()
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
  foreach(target rafter_objects rafter_small_objects)
    add_library(${target} OBJECT)
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
    target_include_directories(${target} SYSTEM PUBLIC ${RAFTER_XBYAK_INCLUDE_DIR})
    target_link_libraries(${target} PRIVATE rafter_flags OpenMP::OpenMP_CXX Threads::Threads)
    rafter_precompile_headers(${target} ${PROJECT_SOURCE_DIR}/jit/assembler.h)
    if(RAFTER_PRECOMPILE_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      # In a precompiled header GCC forgets that xbyak is a system header, and warns about its inlined code.
      target_compile_options(${target} PRIVATE -Wno-array-bounds)
    endif()
  endforeach()
  # Text, and emitters that run once per kernel: librafter.so is at most 1.5 MB stripped. The tile engine's emitters
  # stay fast: creating its plans has a bar.
  target_compile_options(rafter_small_objects PRIVATE $<$<CONFIG:Release>:-Os>)

  set(objects $<TARGET_OBJECTS:rafter_objects> $<TARGET_OBJECTS:rafter_small_objects>)
  add_library(rafter SHARED ${objects})
  add_library(rafter_static STATIC ${objects})
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
