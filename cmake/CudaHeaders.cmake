# Finds the headers of the CUDA driver API, NVRTC and cuBLAS, and the directories of their libraries.
#
# They come from a CUDA toolkit, or from PyPI wheels that are unpacked in HOTGEMM_CUDA_WHEELS_DIR, unless HOTGEMM_OFFLINE
# forbids to get them. No CUDA library is linked. The libraries are opened at run time, first by name and then, with
# HOTGEMM_SEARCH_CUDA_OF_BUILD, in HOTGEMM_CUDA_LIBRARY_DIRS.
# Sets HOTGEMM_CUDA_INCLUDE_DIRS, HOTGEMM_CUDA_LIBRARY_DIRS and HOTGEMM_CUDA_ORIGIN.

set(hotgemm_min_cuda 12090)  # in the form of CUDA_VERSION in cuda.h; kernels need NVRTC 12.9 or later

# Sets `out` to the CUDA_VERSION of the headers in `dirs`, or to 0 if a required header is missing.
function(hotgemm_cuda_headers_version dirs out)
  set(${out} 0 PARENT_SCOPE)
  foreach(header cuda.h nvrtc.h cublas_v2.h cublasLt.h crt/host_defines.h nv/target)
    unset(found)
    find_file(found ${header} PATHS ${dirs} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH NO_CACHE)
    if(NOT found)
      return()
    endif()
    if(header STREQUAL "cuda.h")
      file(STRINGS ${found} line REGEX "^#define CUDA_VERSION [0-9]+")
      string(REGEX MATCH "[0-9]+" version "${line}")
    endif()
  endforeach()
  set(${out} ${version} PARENT_SCOPE)
endfunction()

# Unpacks the wheels below the build directory. The packages of the Python interpreter are not changed.
function(hotgemm_install_cuda_wheels prefix)
  set(wheels "nvidia-cuda-nvrtc==13.0.*" "nvidia-cuda-runtime==13.0.*" "nvidia-cuda-crt==13.0.*"
             "nvidia-cuda-cccl==13.0.*" "nvidia-cublas==13.0.*")
  find_program(HOTGEMM_PYTHON NAMES python3 python REQUIRED)
  set(python ${HOTGEMM_PYTHON})
  execute_process(COMMAND ${python} -m pip --version RESULT_VARIABLE no_pip OUTPUT_QUIET ERROR_QUIET)
  if(no_pip)
    set(venv ${PROJECT_BINARY_DIR}/cuda-wheels-venv)
    execute_process(COMMAND ${python} -m venv ${venv} RESULT_VARIABLE failed OUTPUT_VARIABLE log ERROR_VARIABLE log)
    if(failed)
      message(FATAL_ERROR "neither pip nor venv works with ${python}; install python3-venv or a CUDA toolkit\n${log}")
    endif()
    set(python ${venv}/bin/python)
  endif()
  message(NOTICE "No CUDA toolkit 12.9 or later: getting NVIDIA's headers and libraries from PyPI (500 MB)")
  execute_process(
    COMMAND ${python} -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --upgrade
            --target ${prefix} ${wheels} RESULT_VARIABLE failed OUTPUT_VARIABLE log ERROR_VARIABLE log)
  if(failed)
    message(FATAL_ERROR "pip could not install ${wheels}:\n${log}\n"
                        "Install a CUDA toolkit (12.9 or later) or point -DCUDAToolkit_ROOT at one.")
  endif()
endfunction()

set(HOTGEMM_CUDA_WHEELS_DIR ${PROJECT_BINARY_DIR}/cuda-wheels CACHE PATH "Where wheels are unpacked; about 800 MB")
set(HOTGEMM_CUDA_ORIGIN "")
if(NOT HOTGEMM_CUDA_FROM_WHEELS)
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_FOUND)
    hotgemm_cuda_headers_version("${CUDAToolkit_INCLUDE_DIRS}" version)
    if(version GREATER_EQUAL hotgemm_min_cuda)
      set(HOTGEMM_CUDA_INCLUDE_DIRS ${CUDAToolkit_INCLUDE_DIRS})
      set(HOTGEMM_CUDA_LIBRARY_DIRS ${CUDAToolkit_LIBRARY_DIR})
      set(HOTGEMM_CUDA_ORIGIN "toolkit ${CUDAToolkit_VERSION}")
    endif()
  endif()
endif()

if(NOT HOTGEMM_CUDA_ORIGIN)
  set(prefix ${HOTGEMM_CUDA_WHEELS_DIR})
  set(HOTGEMM_CUDA_INCLUDE_DIRS ${prefix}/nvidia/cu13/include)
  set(HOTGEMM_CUDA_LIBRARY_DIRS ${prefix}/nvidia/cu13/lib)
  hotgemm_cuda_headers_version("${HOTGEMM_CUDA_INCLUDE_DIRS}" version)
  if(version LESS hotgemm_min_cuda AND HOTGEMM_OFFLINE)
    message(
      FATAL_ERROR
        "hotgemm needs the headers of CUDA 12.9 or later (cuda.h, nvrtc.h, cublas_v2.h, cublasLt.h) to be compiled, and "
        "found none: neither a CUDA toolkit nor NVIDIA's wheels in ${prefix}. It downloads nothing, because "
        "HOTGEMM_OFFLINE is on. Install a toolkit, point -DCUDAToolkit_ROOT at one, or allow it to get the headers from "
        "PyPI with -DHOTGEMM_OFFLINE=OFF.")
  endif()
  if(version LESS hotgemm_min_cuda)
    hotgemm_install_cuda_wheels(${prefix})
    hotgemm_cuda_headers_version("${HOTGEMM_CUDA_INCLUDE_DIRS}" version)
  endif()
  if(version LESS hotgemm_min_cuda)
    message(FATAL_ERROR "${HOTGEMM_CUDA_INCLUDE_DIRS} lacks a header that hotgemm needs, though pip reported success")
  endif()
  set(HOTGEMM_CUDA_ORIGIN "PyPI wheels, CUDA_VERSION ${version}")
endif()
message(STATUS "CUDA headers: ${HOTGEMM_CUDA_INCLUDE_DIRS} (${HOTGEMM_CUDA_ORIGIN})")
