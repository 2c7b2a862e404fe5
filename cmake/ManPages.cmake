# Writes the manual pages of the command and its subcommands from their --help. Included when the command is packaged,
# with `command`, `directory`, `help2man` and `gzip` set.

function(write_page page name)
  execute_process(COMMAND ${help2man} --no-info --section=1 "--name=${name}" --output=${directory}/${page}.1 ${ARGN}
                  RESULT_VARIABLE failed ERROR_VARIABLE log)
  if(failed)
    message(FATAL_ERROR "help2man could not write the page of ${page}:\n${log}")
  endif()
  execute_process(COMMAND ${gzip} -9nf ${directory}/${page}.1 COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(MAKE_DIRECTORY ${directory})
execute_process(COMMAND ${command} --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${command} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
write_page(hotgemm "tune, compile and compare matrix multiplication kernels" ${command})
string(REGEX MATCH "Subcommands:\n.*" help "${help}")
string(REGEX MATCHALL "\n  [a-z]+ +[^\n;]+" lines "${help}")
foreach(line IN LISTS lines)
  string(REGEX MATCH "^\n  ([a-z]+) +(.*)" line "${line}")
  write_page(hotgemm-${CMAKE_MATCH_1} "${CMAKE_MATCH_2}" --version-string=${version} "${command} ${CMAKE_MATCH_1}")
endforeach()
