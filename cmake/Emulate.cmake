# hotgemm_emulate: the emulated device (src/emulate) and the kernels compiled for it. Optional, because it needs
# Boost.Context.
#
# Kernels include "ptx/x.hpp", which a compiler first searches in the directory of the including file. So the compiler
# sees the templates in a directory of links in which `ptx` is src/emulate/ptx. The templates themselves are unchanged.

find_package(Boost 1.74 CONFIG QUIET COMPONENTS context)
if(NOT TARGET Boost::context)
  message(STATUS "Emulated device: not built (it needs Boost.Context: libboost-context-dev)")
  return()
endif()

set(HOTGEMM_EMULATED_TEMPLATES ${PROJECT_BINARY_DIR}/generated/emulated_templates)

# hotgemm_link_templates(<directory>): fills the directory with links to templates/ and to the twins of templates/ptx.
function(hotgemm_link_templates directory)
  file(MAKE_DIRECTORY ${directory}/ptx)
  file(GLOB families CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/templates/*.cuh)
  file(GLOB twins CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/emulate/ptx/*.hpp)
  foreach(file IN LISTS families)
    cmake_path(GET file FILENAME name)
    file(CREATE_LINK ${file} ${directory}/${name} SYMBOLIC)
  endforeach()
  foreach(file IN LISTS twins)
    cmake_path(GET file FILENAME name)
    file(CREATE_LINK ${file} ${directory}/ptx/${name} SYMBOLIC)
  endforeach()
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/templates/shared ${directory}/shared SYMBOLIC)
  # This header has no instructions, so it has no twin.
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/templates/ptx/element.hpp ${directory}/ptx/element.hpp SYMBOLIC)
endfunction()

# hotgemm_emulated_kernel_options(<target> <templates>): for targets that include kernels. They are optimised in every
# build type, because they take most of the run time; less in Debug builds and under sanitizers, because they take most of
# the compile time, too. They use fused multiply-adds, because a GPU computes a*b+c with them. GCC fuses only with
# expensive optimisations.
function(hotgemm_emulated_kernel_options target templates)
  hotgemm_compile_options(${target})
  if(HOTGEMM_SANITIZE)
    # The emulated device checks the accesses itself; UndefinedBehaviorSanitizer checks the indices of arrays.
    set(level -O1 -fno-sanitize=address)
  else()
    set(level -O2)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      set(level "$<IF:$<CONFIG:Debug>,-O1;-fexpensive-optimizations;-fno-stack-protector,-O2>")
    endif()
  endif()
  # Templates get warnings where they are compiled for a GPU. A host compiler does not know #pragma unroll, or that it
  # uses a variable.
  target_compile_options(${target} PRIVATE "${level}" -ffp-contract=fast -Wno-conversion -Wno-unknown-pragmas
                                           -Wno-unused-variable)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(${target} PRIVATE -mfma)
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${HOTGEMM_GENERATED_INCLUDE_DIR}
                                               ${PROJECT_SOURCE_DIR}/src ${templates})
endfunction()

hotgemm_link_templates(${HOTGEMM_EMULATED_TEMPLATES})

file(GLOB emulate_sources CONFIGURE_DEPENDS src/emulate/*.cpp)
file(GLOB emulated_kernels CONFIGURE_DEPENDS src/emulate/kernels/*.cpp)
add_library(hotgemm_emulated_kernels OBJECT ${emulated_kernels})
hotgemm_emulated_kernel_options(hotgemm_emulated_kernels ${HOTGEMM_EMULATED_TEMPLATES})

add_library(hotgemm_emulate STATIC ${emulate_sources} $<TARGET_OBJECTS:hotgemm_emulated_kernels>)
hotgemm_compile_options(hotgemm_emulate)
hotgemm_join_tests(hotgemm_emulate 3)
hotgemm_private_includes(hotgemm_emulate)
target_compile_options(hotgemm_emulate PRIVATE -O2)
target_link_libraries(hotgemm_emulate PUBLIC hotgemm_static Boost::context ${hotgemm_fmt})
if(HOTGEMM_SANITIZE MATCHES "address")
  # With use-after-return checks, each of thousands of fibers would get a second stack of some MiB. The flag is PUBLIC,
  # because inline functions shared with the library are compiled only once.
  foreach(flag --param=asan-use-after-return=0 -fsanitize-address-use-after-return=never)
    string(MAKE_C_IDENTIFIER "HOTGEMM_HAS${flag}" result)
    check_cxx_compiler_flag(${flag} ${result})
    if(${result})
      target_compile_options(hotgemm_emulate PUBLIC ${flag})
      target_compile_options(hotgemm_emulated_kernels PRIVATE ${flag})
    endif()
  endforeach()
  set_source_files_properties(src/emulate/fiber.cpp PROPERTIES COMPILE_OPTIONS "-fno-sanitize=all"
                                                               COMPILE_DEFINITIONS HOTGEMM_ASAN_FIBERS=1)
endif()
message(STATUS "Emulated device: Boost ${Boost_VERSION_STRING}")
