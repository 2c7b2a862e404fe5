# cmake -DBUILD_DIR=… -DTEST_DIR=… -DWORK_DIR=… -DSOURCE_DIR=… -DGENERATOR=… -DCXX=… -DSTRIP=… -DNM=…
#       -DCUDART_INCLUDE_DIR=… -DCUDART=… -DHAS_COMMAND=0|1 -DHAS_SHARED=0|1 -P install_test.cmake
#
# Installs into a prefix, moves it, and builds and runs programs of all kinds against it.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE log ERROR_VARIABLE log)
  if(failed)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}\nfailed (${failed}):\n${log}")
  endif()
  message("${log}")
  set(log "${log}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix "${WORK_DIR}/first prefix")
set(prefix "${WORK_DIR}/moved prefix")
file(RENAME "${WORK_DIR}/first prefix" ${prefix})

foreach(file include/hotgemm/types.hpp include/hotgemm/gemm_types.hpp include/hotgemm/hotgemm.h share/hotgemm/cache/README.md)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
  if(IS_SYMLINK ${prefix}/${file})
    message(FATAL_ERROR "${file} was installed as a link into the source tree")
  endif()
endforeach()
if(HAS_COMMAND)
  run(${prefix}/bin/hotgemm --help)
  foreach(file hotgemm/json/bench.json bash-completion/completions/hotgemm zsh/site-functions/_hotgemm
               fish/vendor_completions.d/hotgemm.fish)
    if(NOT EXISTS ${prefix}/share/${file})
      message(FATAL_ERROR "share/${file} was not installed")
    endif()
  endforeach()
endif()

# Debug information names source files; nothing else of an installed file may name this machine's trees.
file(GLOB_RECURSE installed ${prefix}/*)
list(FILTER installed EXCLUDE REGEX "/share/hotgemm/cache/")
foreach(file IN LISTS installed)
  set(copy ${WORK_DIR}/stripped)
  execute_process(COMMAND ${STRIP} --strip-debug -o ${copy} ${file} RESULT_VARIABLE is_text OUTPUT_QUIET ERROR_QUIET)
  if(is_text)
    file(COPY_FILE ${file} ${copy})
  endif()
  foreach(tree ${SOURCE_DIR} ${BUILD_DIR})
    execute_process(COMMAND grep -qaF ${tree} ${copy} RESULT_VARIABLE is_clean)
    if(NOT is_clean)
      message(FATAL_ERROR "${file} names ${tree}")
    endif()
  endforeach()
  file(REMOVE ${copy})
endforeach()
if(HAS_COMMAND)
  execute_process(COMMAND ${prefix}/bin/hotgemm info --json OUTPUT_VARIABLE info)
  string(JSON shipped GET "${info}" records shipped)
  file(REAL_PATH ${prefix}/share/hotgemm/cache expected)
  if(NOT shipped STREQUAL expected)
    message(FATAL_ERROR "the installed command finds its records in ${shipped}, not in ${expected}")
  endif()
endif()

# All global names of the static library are hotgemm's own.
file(GLOB_RECURSE archive ${prefix}/libhotgemm.a)
execute_process(COMMAND ${NM} -g --defined-only --format=just-symbols ${archive} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
list(FILTER symbols EXCLUDE REGEX "^(hotgemm_|_Z(GVZ|Z|T.)?NK?7hotgemm|.*:$)")
if(symbols)
  list(JOIN symbols "\n" symbols)
  message(FATAL_ERROR "${archive} defines:\n${symbols}")
endif()

# build(<name> <directory> <option>...): configures, builds and runs a project of tests/install.
function(build name directory)
  run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${TEST_DIR}/${directory} -B ${WORK_DIR}/${name}
      "-DCMAKE_PREFIX_PATH=${prefix}" -DCMAKE_CXX_COMPILER=${CXX} --no-warn-unused-cli ${ARGN})
  run(${CMAKE_COMMAND} --build ${WORK_DIR}/${name})
  run(${WORK_DIR}/${name}/app)
endfunction()

build(cxx_program app -DCMAKE_BUILD_TYPE=Release)
build(c_program c_app)

# The examples, as a project of their own.
if(CUDART)
  run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE_DIR}/examples -B ${WORK_DIR}/examples "-DCMAKE_PREFIX_PATH=${prefix}"
      -DCMAKE_CXX_COMPILER=${CXX} -DHOTGEMM_CUDART_INCLUDE_DIR=${CUDART_INCLUDE_DIR} -DHOTGEMM_CUDART=${CUDART})
  run(${CMAKE_COMMAND} --build ${WORK_DIR}/examples)
  foreach(example hgemm_c hgemm_cpp)
    if(NOT EXISTS ${WORK_DIR}/examples/example_${example})
      message(FATAL_ERROR "example_${example} was not built")
    endif()
  endforeach()
else()
  message("No CUDA runtime: the examples are not built")
endif()

# The shared library finds the records of the moved prefix: without them the digest is another.
if(HAS_SHARED)
  set(ENV{HOTGEMM_CACHE_DIR} ${WORK_DIR}/cache)
  run(${WORK_DIR}/c_program/app --digest)
  set(with_records ${log})
  file(RENAME ${prefix}/share/hotgemm/cache ${prefix}/share/hotgemm/elsewhere)
  run(${WORK_DIR}/c_program/app --digest)
  if(log STREQUAL with_records)
    message(FATAL_ERROR "the installed library does not find its records")
  endif()
endif()

# pkg_config(<words for it> <word of the compiler>...): the same with what pkg-config says. It escapes the space in the
# prefix, so a shell reads it.
find_program(pkg_config NAMES pkg-config pkgconf)
file(GLOB_RECURSE pc ${prefix}/hotgemm.pc)
cmake_path(GET pc PARENT_PATH pc_dir)
function(pkg_config words)
  string(REPLACE ";" " " compiler "${ARGN}")
  set(ENV{PKG_CONFIG_PATH} ${pc_dir})
  run(sh -c "flags=\$('${pkg_config}' --cflags --libs ${words}) && eval ${compiler} -o program $flags" WORKING_DIRECTORY ${WORK_DIR})
  cmake_path(GET pc_dir PARENT_PATH lib_dir)
  set(ENV{LD_LIBRARY_PATH} ${lib_dir})
  run(${WORK_DIR}/program)
  unset(ENV{LD_LIBRARY_PATH})
endfunction()
if(pkg_config)
  set(c_program cc -std=c99 ${TEST_DIR}/c_app/main.c)
  pkg_config(hotgemm ${c_program})
  pkg_config("--static hotgemm" ${c_program})
  pkg_config(hotgemm-cxx ${c_program})
  pkg_config(hotgemm-cxx ${CXX} -std=c++20 ${TEST_DIR}/app/main.cpp)
endif()

# A project that embeds the sources: see embedding/CMakeLists.txt. Without CUDA's headers the error says what to do, and
# nothing is downloaded.
set(embedding ${CMAKE_COMMAND} -G ${GENERATOR} -S ${TEST_DIR}/embedding -DHOTGEMM_DIR=${SOURCE_DIR}
              -DCMAKE_CXX_COMPILER=${CXX})
run(${embedding} -B ${WORK_DIR}/embedding)
run(${embedding} -B ${WORK_DIR}/embedding -DBUILD_SHARED_LIBS=ON -DHOTGEMM_BUILD_SHARED=ON)
execute_process(COMMAND ${embedding} -B ${WORK_DIR}/embedding -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON
                RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE log)
string(REGEX REPLACE "[ \n]+" " " log "${log}")
if(NOT failed OR NOT log MATCHES "It downloads nothing, because HOTGEMM_OFFLINE is on")
  message(FATAL_ERROR "without CUDA's headers, an embedding project says:\n${log}")
endif()
