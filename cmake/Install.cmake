# cmake --install: the libraries, their headers, the command and the shipped tuning records, for find_package(hotgemm) and
# pkg-config. They find each other by paths that are relative, so the prefix may be moved.
#
# The components are packages of distributions: library (libhotgemm.so), development, command, records;
# and interposer (src/interpose). zsh is in none.

include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hotgemm)

# The C interface and the rest are exported apart: who uses the first need not have what the other is linked with.
install(TARGETS hotgemm EXPORT hotgemmTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT hotgemmTargets NAMESPACE hotgemm:: DESTINATION ${config_dir} COMPONENT development)
if(TARGET hotgemm_shared)
  install(TARGETS hotgemm_shared EXPORT hotgemmCTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
                                                                NAMELINK_COMPONENT development)
else()
  install(TARGETS hotgemm_c EXPORT hotgemmCTargets)
endif()
install(EXPORT hotgemmCTargets NAMESPACE hotgemm:: DESTINATION ${config_dir} COMPONENT development)
if(TARGET hotgemm_command)
  install(TARGETS hotgemm_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
  install(DIRECTORY docs/json DESTINATION ${CMAKE_INSTALL_DATADIR}/hotgemm COMPONENT command)
endif()
if(HOTGEMM_PAGES_DIR)
  install(DIRECTORY ${HOTGEMM_PAGES_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
  install(DIRECTORY ${HOTGEMM_PAGES_DIR}/bash/ DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          COMPONENT command)
  # In no package: Debian's zsh looks elsewhere.
  install(DIRECTORY ${HOTGEMM_PAGES_DIR}/zsh/ DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT zsh)
  install(DIRECTORY ${HOTGEMM_PAGES_DIR}/fish/ DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
          COMPONENT command)
endif()
install(DIRECTORY include/hotgemm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(FILES templates/shared/gemm_types.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hotgemm COMPONENT development)
install(DIRECTORY cache DESTINATION ${CMAKE_INSTALL_DATADIR}/hotgemm COMPONENT records)

configure_package_config_file(cmake/hotgemmConfig.cmake.in ${PROJECT_BINARY_DIR}/generated/hotgemmConfig.cmake
                              INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/hotgemmConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/hotgemmConfig.cmake
              ${PROJECT_BINARY_DIR}/generated/hotgemmConfigVersion.cmake DESTINATION ${config_dir} COMPONENT development)

# hotgemm.pc is the C interface, hotgemm-cxx.pc C++ and C from libhotgemm.a. Where there is no other library, the first
# is the same as the second: `pkg-config --libs` of both links as it stands.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(base ${CMAKE_INSTALL_PREFIX})
foreach(directory LIBDIR INCLUDEDIR)
  cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_${directory} BASE_DIRECTORY ${base} OUTPUT_VARIABLE path)
  cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${base} OUTPUT_VARIABLE pc_${directory})
endforeach()
cmake_path(ABSOLUTE_PATH pc_dir BASE_DIRECTORY ${base} OUTPUT_VARIABLE path)
cmake_path(RELATIVE_PATH base BASE_DIRECTORY ${path} OUTPUT_VARIABLE pc_prefix)
set(static_libs "-lstdc++ -lm -ldl -pthread")
set(static_requires "libcrypto >= 3")
if(NOT HOTGEMM_STATIC_DEPENDENCIES)
  string(APPEND static_requires ", fmt")
endif()
foreach(name hotgemm hotgemm-cxx)
  if(TARGET hotgemm_shared AND name STREQUAL "hotgemm")
    set(pc_libs -lhotgemm)
    set(pc_libs_private ${static_libs})
    set(pc_requires "")
    set(pc_requires_private ${static_requires})
  else()
    set(pc_libs "-l:libhotgemm.a ${static_libs}")
    set(pc_libs_private "")
    set(pc_requires ${static_requires})
    set(pc_requires_private "")
  endif()
  configure_file(cmake/hotgemm.pc.in ${PROJECT_BINARY_DIR}/generated/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/generated/${name}.pc DESTINATION ${pc_dir} COMPONENT development)
endforeach()
