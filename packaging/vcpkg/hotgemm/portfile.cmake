# An overlay port: it builds the checkout that it lies in.
#
#   vcpkg install hotgemm --overlay-ports=packaging/vcpkg
#
# The library is static: hotgemm::hotgemm has C++ and C, and hotgemm::c is the C interface of it.

vcpkg_check_linkage(ONLY_STATIC_LIBRARY)
cmake_path(SET SOURCE_PATH NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../..")

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES command HOTGEMM_BUILD_COMMAND)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${features} -DHOTGEMM_BUILD_SHARED=OFF -DHOTGEMM_BUILD_TESTS=OFF -DHOTGEMM_BUILD_EMULATE=OFF -DHOTGEMM_OFFLINE=ON
          -DHOTGEMM_SEARCH_CUDA_OF_BUILD=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/hotgemm)
vcpkg_fixup_pkgconfig()
if("command" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES hotgemm AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
