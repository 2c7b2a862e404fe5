# The targets format, format-check and tidy. They cover the files that git would track.

file(GLOB_RECURSE code_files CONFIGURE_DEPENDS include/*.hpp src/*.hpp src/*.cpp src/*.h src/*.c templates/*.hpp templates/*.cuh
     tests/*.hpp tests/*.cpp tools/command/*.cpp tools/command/*.hpp examples/*.cpp examples/*.c)

find_program(HOTGEMM_CLANG_FORMAT NAMES clang-format)
if(HOTGEMM_CLANG_FORMAT AND code_files)
  add_custom_target(format COMMAND ${HOTGEMM_CLANG_FORMAT} -i ${code_files} VERBATIM)
  set(HOTGEMM_FORMAT_CHECK ${HOTGEMM_CLANG_FORMAT} --dry-run --Werror ${code_files})
  add_custom_target(format-check COMMAND ${HOTGEMM_FORMAT_CHECK} VERBATIM)
endif()

find_program(HOTGEMM_RUN_CLANG_TIDY NAMES run-clang-tidy run-clang-tidy-14 run-clang-tidy-18)
if(HOTGEMM_RUN_CLANG_TIDY)
  add_custom_target(
    tidy COMMAND ${HOTGEMM_RUN_CLANG_TIDY} -quiet -p ${PROJECT_BINARY_DIR} "${PROJECT_SOURCE_DIR}/(src|tools|tests)/.*"
    VERBATIM)
endif()
