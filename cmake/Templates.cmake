# Embeds templates/ into the library, and makes the one header that users share with the kernels available as
# <hotgemm/gemm_types.hpp>.

set(HOTGEMM_GENERATED_INCLUDE_DIR ${PROJECT_BINARY_DIR}/generated/include)
file(MAKE_DIRECTORY ${HOTGEMM_GENERATED_INCLUDE_DIR}/hotgemm)
# A link, not a copy: `#pragma once` must see one file if a source includes it by both names.
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/templates/shared/gemm_types.hpp
     ${HOTGEMM_GENERATED_INCLUDE_DIR}/hotgemm/gemm_types.hpp SYMBOLIC)

file(GLOB_RECURSE template_files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/templates templates/*.cuh
     templates/*.hpp)
list(SORT template_files)
list(TRANSFORM template_files PREPEND ${PROJECT_SOURCE_DIR}/templates/ OUTPUT_VARIABLE template_paths)

set(HOTGEMM_EMBEDDED_TEMPLATES ${PROJECT_BINARY_DIR}/generated/embedded_templates.cpp)
add_custom_command(
  OUTPUT ${HOTGEMM_EMBEDDED_TEMPLATES}
  COMMAND ${CMAKE_COMMAND} "-DFILES=${template_files}" -DDIRECTORY=${PROJECT_SOURCE_DIR}/templates
          -DOUTPUT=${HOTGEMM_EMBEDDED_TEMPLATES} -P ${PROJECT_SOURCE_DIR}/cmake/EmbedTemplates.cmake
  DEPENDS ${template_paths} ${PROJECT_SOURCE_DIR}/cmake/EmbedTemplates.cmake
  COMMENT "Embedding templates/"
  VERBATIM)
