# cmake --install: installs the library, its headers, the command and the shipped tuning records, for
# find_package(hotgemm).

include(CMakePackageConfigHelpers)

install(TARGETS hotgemm EXPORT hotgemmTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET hotgemm_command)
  install(TARGETS hotgemm_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/hotgemm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(FILES templates/shared/gemm_types.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hotgemm)
install(DIRECTORY cache DESTINATION ${CMAKE_INSTALL_DATADIR}/hotgemm)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hotgemm)
install(EXPORT hotgemmTargets NAMESPACE hotgemm:: DESTINATION ${config_dir})
configure_package_config_file(cmake/hotgemmConfig.cmake.in ${PROJECT_BINARY_DIR}/generated/hotgemmConfig.cmake
                              INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/hotgemmConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/hotgemmConfig.cmake
              ${PROJECT_BINARY_DIR}/generated/hotgemmConfigVersion.cmake DESTINATION ${config_dir})
