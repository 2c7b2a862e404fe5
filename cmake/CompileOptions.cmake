# Warnings, hardening and sanitizers for all targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# Only hotgemm_join_sources knows which sources repeat no name of each other.
set(CMAKE_UNITY_BUILD OFF)

# libhotgemm.a is merged from objects that hold machine code.
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION OFF)
if(CMAKE_CXX_FLAGS MATCHES "-flto")
  string(APPEND CMAKE_CXX_FLAGS " -fno-lto")
endif()

include(CheckCXXCompilerFlag)
include(CheckPIESupported)
check_pie_supported()

# Unique symbols would be shared by two versions of the library in one process.
check_cxx_compiler_flag(-fno-gnu-unique HOTGEMM_HAS_fno_gnu_unique)

foreach(flag -fcf-protection -fstack-clash-protection -ftrivial-auto-var-init=zero)
  string(MAKE_C_IDENTIFIER "HOTGEMM_HAS${flag}" result)
  check_cxx_compiler_flag(${flag} ${result})
  if(${result})
    list(APPEND hotgemm_hardening ${flag})
  endif()
endforeach()

# GCC derives these warnings from its optimiser, so they differ between its versions. They are never errors, and are shown
# only where other warnings are errors.
foreach(warning array-bounds uninitialized stringop-overflow stringop-overread maybe-uninitialized dangling-reference restrict)
  string(MAKE_C_IDENTIFIER "HOTGEMM_HAS_W${warning}" result)
  check_cxx_compiler_flag(-W${warning} ${result})
  if(${result})
    list(APPEND hotgemm_not_errors -Wno-error=${warning})
    list(APPEND hotgemm_not_shown -Wno-${warning})
  endif()
endforeach()

set(hotgemm_sanitized OFF)
if(HOTGEMM_SANITIZE)
  set(hotgemm_sanitized ON)
  add_compile_options(-fsanitize=${HOTGEMM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HOTGEMM_SANITIZE})
  if(HOTGEMM_SANITIZE MATCHES "address")
    # AddressSanitizer reports each access through a null pointer. The other checks for null take a tenth to a quarter of
    # a compilation.
    add_compile_options(-fno-sanitize=null)
  endif()
  if(HOTGEMM_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION
                                                                                     VERSION_LESS 14)
    # With use-after-return checks, frames move to a second stack that aligns variables to at most 32 bytes. A tensor
    # map needs 128 (GCC bug 110027).
    add_compile_options(--param=asan-use-after-return=0)
  endif()
endif()

function(hotgemm_compile_options target)
  # Without fused multiply-adds the model predicts the same to the last bit on every machine, so that ties break alike.
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # The checks of menus and of lists of configs take more steps than Clang allows by default.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fconstexpr-steps=100000000>)
  endif()
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wno-missing-field-initializers
                         "$<$<BOOL:${HOTGEMM_WERROR}>:-Werror;${hotgemm_not_errors}>"
                         "$<$<AND:$<NOT:$<BOOL:${HOTGEMM_WERROR}>>,$<COMPILE_LANGUAGE:CXX>>:${hotgemm_not_shown}>")
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE $<$<BOOL:${HOTGEMM_HAS_fno_gnu_unique}>:-fno-gnu-unique>)
  # What is installed names no directory of this machine. A debugger in the build tree needs the names.
  foreach(tree ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
    target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-ffile-prefix-map=${tree}/=>)
  endforeach()
  target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
  if(NOT hotgemm_sanitized)  # which find more, and take long to compile with both
    target_compile_options(${target} PRIVATE -fstack-protector-strong ${hotgemm_hardening})
    # -U comes first, because the compilers of some distributions define a lower level by default. Without optimisation
    # there would be warnings.
    target_compile_options(
      ${target}
      PRIVATE $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>)
  endif()
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "STATIC_LIBRARY")
    target_link_options(${target} PRIVATE -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed)
  endif()
endfunction()

# For what uses the library, in Debug builds and under sanitizers: optimising it takes as long as all the rest of its
# compilation. The library is optimised there, because most of the time of the tests goes into it.
function(hotgemm_unoptimised_in_debug target)
  target_compile_options(${target} PRIVATE $<$<OR:$<BOOL:${hotgemm_sanitized}>,$<CONFIG:Debug>>:-O0>)
endfunction()

# UndefinedBehaviorSanitizer checks the library's sources, not those of such a test, nor what it instantiates of headers.
# It takes a third of the time in which tests are compiled.
function(hotgemm_leave_out_undefined target)
  if(HOTGEMM_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
  endif()
endfunction()

# Compiles the sources of a target in groups, each as one file: most of their time goes into the same headers and
# templates. The name of a file determines its group, so a new file leaves the groups of the others as they are. No file
# may repeat a name that another file of its group has in an unnamed namespace.
function(hotgemm_join_sources target groups)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(GET source FILENAME name)
    string(MD5 hash ${name})
    string(SUBSTRING ${hash} 0 7 digits)
    math(EXPR group "0x${digits} % ${groups}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP group_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # Each joined source looks like a header.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endfunction()

# For the library, under sanitizers or with HOTGEMM_JOIN_LIBRARY, as packages are. Other builds compile each file alone, so
# that a missing include is found; lint.includes looks for it where they are joined.
function(hotgemm_join_library target groups)
  if(hotgemm_sanitized OR HOTGEMM_JOIN_LIBRARY)
    hotgemm_join_sources(${target} ${groups})
  endif()
endfunction()

# For tests, the emulated device and the command, under sanitizers or with HOTGEMM_JOIN_TESTS.
function(hotgemm_join_tests target groups)
  if(hotgemm_sanitized OR HOTGEMM_JOIN_TESTS)
    hotgemm_join_sources(${target} ${groups})
  endif()
endfunction()
