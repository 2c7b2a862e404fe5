# cmake -DBUILD_DIR=… -DAPP_DIR=… -DWORK_DIR=… -DGENERATOR=… -DCXX=… -DHAS_COMMAND=0|1 -P install_test.cmake

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE log ERROR_VARIABLE log)
  if(failed)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}\nfailed (${failed}):\n${log}")
  endif()
  message("${log}")
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
set(prefix ${WORK_DIR}/prefix)
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})

foreach(file include/hotgemm/types.hpp include/hotgemm/gemm_types.hpp share/hotgemm/cache/README.md)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
  if(IS_SYMLINK ${prefix}/${file})
    message(FATAL_ERROR "${file} was installed as a link into the source tree")
  endif()
endforeach()
if(HAS_COMMAND)
  run(${prefix}/bin/hotgemm --help)
endif()

run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${APP_DIR} -B ${WORK_DIR}/app -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${WORK_DIR}/app)
run(${WORK_DIR}/app/app)
