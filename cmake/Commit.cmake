# hotgemm_commit: the definition of build_commit(), tools/command/build_commit.hpp. Each build asks git again, and
# compiles it only if the answer is another. -DHOTGEMM_COMMIT=… says it where there is no git repository, as in an image.
#
# As a script, with `file`, `directory` and `commit` set, it writes the definition.

if(CMAKE_SCRIPT_MODE_FILE)
  if(NOT commit AND EXISTS ${directory}/.git)  # git would also answer for a repository around the source
    execute_process(COMMAND git -C ${directory} describe --always --dirty OUTPUT_VARIABLE commit ERROR_QUIET
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  if(NOT commit)
    set(commit unknown)
  endif()
  set(text "#include \"command/build_commit.hpp\"\n\nconst char* hotgemm::command::build_commit() { return \"${commit}\"; }\n")
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}")  # leaves a file alone that has this content
  return()
endif()

set(HOTGEMM_COMMIT "" CACHE STRING "The commit that `hotgemm --version` prints; empty: git is asked")
set(commit_file ${PROJECT_BINARY_DIR}/generated/build_commit.cpp)
add_custom_target(
  hotgemm_ask_commit
  COMMAND ${CMAKE_COMMAND} -Dfile=${commit_file} -Ddirectory=${PROJECT_SOURCE_DIR} -Dcommit=${HOTGEMM_COMMIT} -P
          ${CMAKE_CURRENT_LIST_FILE}
  BYPRODUCTS ${commit_file}
  VERBATIM)
add_library(hotgemm_commit OBJECT ${commit_file})
add_dependencies(hotgemm_commit hotgemm_ask_commit)
target_include_directories(hotgemm_commit PRIVATE ${PROJECT_SOURCE_DIR}/tools)
target_link_libraries(hotgemm_command PRIVATE hotgemm_commit)
