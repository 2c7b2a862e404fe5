# cpack -G DEB: Debian packages, one of each component of the installation.
#
# Configure with -DCMAKE_INSTALL_PREFIX=/usr, as the preset `deb` does: Debian's library directory follows from it.

set(package_library libhotgemm${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})  # the SONAME is in the name
set(package_development libhotgemm-dev)
set(package_command hotgemm)
set(package_records hotgemm-records)
set(package_interposer hotgemm-cublas)
set(components development records)
if(TARGET hotgemm_shared)
  list(APPEND components library)
endif()
if(TARGET hotgemm_command)
  list(APPEND components command)
endif()
if(TARGET hotgemm_cublas)
  list(APPEND components interposer)
endif()

if(NOT CPACK_PACKAGE_CONTACT)
  set(CPACK_PACKAGE_CONTACT "hotgemm maintainers <hotgemm@localhost>")
endif()

set(what_it_is
    "hotgemm computes products of matrices on NVIDIA GPUs (GEMM). It renders
kernels for the GPU that it finds, compiles them with NVRTC, checks and times
them, and remembers the fastest.
.")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "GEMM kernels for NVIDIA GPUs, tuned at run time - C library
${what_it_is}
This package has the shared library with the C interface. It opens libcuda
and libnvrtc (CUDA 12.9 or later), which come from NVIDIA, when they are
first needed.")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "GEMM kernels for NVIDIA GPUs, tuned at run time - development files
${what_it_is}
This package has the headers for C and C++, the static library with both
interfaces, and files for CMake and pkg-config.")
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "GEMM kernels for NVIDIA GPUs, tuned at run time - command
${what_it_is}
This package has the command that tunes and compiles kernels in advance,
compares them with cuBLAS, and looks after caches and records. Programs that
tune let it measure new kernels in a process of its own.")
set(CPACK_DEBIAN_RECORDS_DESCRIPTION "GEMM kernels for NVIDIA GPUs, tuned at run time - tuning records
${what_it_is}
This package has the tuning records of some GPU models. The library picks its
kernels by them, so that most problems need no tuning there.")
set(CPACK_DEBIAN_INTERPOSER_DESCRIPTION "GEMM kernels for NVIDIA GPUs, tuned at run time - in front of cuBLAS
${what_it_is}
This package has libhotgemm_cublas.so. With it in LD_PRELOAD, programs that
call cuBLAS get hotgemm's kernels where they are known to be faster.")
# By this text CPack knows that the first line of each description is the summary.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_NAME} built using CMake")

set(release 1)
set(full_version ${PROJECT_VERSION}-${release})
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libssl-dev")
if(NOT HOTGEMM_STATIC_DEPENDENCIES)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libfmt-dev")
endif()
if(HOTGEMM_BUILD_SHARED)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", ${package_library} (= ${full_version})")
endif()
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "${package_records}, ${package_command}")
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "${package_records}")
set(CPACK_DEBIAN_INTERPOSER_PACKAGE_DEPENDS "${package_library} (= ${full_version})")
set(CPACK_DEBIAN_INTERPOSER_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_INTERPOSER_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RECORDS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RECORDS_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/triggers)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# These are installed with a component alone, that is in packages: `cmake --install` installs all without them.
find_program(HOTGEMM_GZIP gzip)
mark_as_advanced(HOTGEMM_GZIP)
set(changelog ${PROJECT_BINARY_DIR}/generated/changelog.Debian)
configure_file(packaging/debian/changelog.in ${changelog} @ONLY)
if(HOTGEMM_GZIP)
  execute_process(COMMAND ${HOTGEMM_GZIP} -9nfk ${changelog})
endif()
foreach(component IN LISTS components)
  string(TOUPPER ${component} upper)
  set(package ${package_${component}})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(doc_dir ${CMAKE_INSTALL_DATADIR}/doc/${package})
  install(FILES packaging/debian/copyright DESTINATION ${doc_dir} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${changelog}.gz DESTINATION ${doc_dir} COMPONENT ${component} EXCLUDE_FROM_ALL OPTIONAL)
endforeach()
if(HOTGEMM_PAGES_DIR)
  install(DIRECTORY ${HOTGEMM_PAGES_DIR}/zsh/ DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
          COMPONENT command EXCLUDE_FROM_ALL)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_NAME hotgemm)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${release})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
include(CPack)
