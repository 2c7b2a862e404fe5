# The manual pages and the completions of shells, which the command writes about itself. HOTGEMM_PAGES_DIR has them as
# soon as it is built, unless it is for another machine.

find_program(HOTGEMM_GZIP gzip)
mark_as_advanced(HOTGEMM_GZIP)
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  return()
endif()
set(HOTGEMM_PAGES_DIR ${PROJECT_BINARY_DIR}/generated/pages)
set(compress "")
if(HOTGEMM_GZIP)
  set(compress COMMAND sh -c "${HOTGEMM_GZIP} -9nf '${HOTGEMM_PAGES_DIR}'/man/*.1")
endif()
add_custom_command(
  TARGET hotgemm_command
  POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${HOTGEMM_PAGES_DIR}
  # The presets give the options of sanitizers to tests only.
  COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 ${CMAKE_CROSSCOMPILING_EMULATOR}
          $<TARGET_FILE:hotgemm_command> pages ${HOTGEMM_PAGES_DIR} ${compress}
  VERBATIM)
