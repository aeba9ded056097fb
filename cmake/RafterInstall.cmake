# Installation: both libraries, headers, CMake package, pkg-config file, the command and its data.
#
# The shared library's target stands in an export set of its own, so that a plain C program can use the
# package without finding OpenMP; the static one drags its dependencies in (cmake/rafterConfig.cmake.in).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rafter)
install(TARGETS rafter EXPORT rafterSharedTargets)
install(TARGETS rafter_static EXPORT rafterStaticTargets)
install(DIRECTORY include/rafter TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(EXPORT rafterSharedTargets NAMESPACE rafter:: DESTINATION ${package_dir})
install(EXPORT rafterStaticTargets NAMESPACE rafter:: DESTINATION ${package_dir})

configure_package_config_file(cmake/rafterConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/rafterConfig.cmake
                              INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/rafterConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rafterConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/rafterConfigVersion.cmake
        DESTINATION ${package_dir})

# The .pc file finds the prefix from its own place, so an installed tree may be moved.
file(RELATIVE_PATH RAFTER_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" RAFTER_PC_TO_PREFIX "${RAFTER_PC_TO_PREFIX}")
configure_file(cmake/rafter.pc.in ${CMAKE_CURRENT_BINARY_DIR}/rafter.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rafter.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET rafter_cli)
  install(TARGETS rafter_cli RUNTIME)
  install(DIRECTORY bench/suites DESTINATION ${CMAKE_INSTALL_DATADIR}/rafter
          FILES_MATCHING PATTERN "*.txt")
  install(DIRECTORY roofline/machines DESTINATION ${CMAKE_INSTALL_DATADIR}/rafter
          FILES_MATCHING PATTERN "*.json")
endif()
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
