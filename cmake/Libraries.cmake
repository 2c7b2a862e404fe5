# The libraries, all of the same objects:
#
#   hotgemm         libhotgemm.a: C++ and C, for programs. Alias hotgemm::hotgemm
#   hotgemm_shared  libhotgemm.so: C only. Alias hotgemm::c
#   hotgemm_static  C++ and C, for the command and the tests
#
# Without HOTGEMM_BUILD_SHARED, hotgemm::c is the C interface of libhotgemm.a.

set(objects $<TARGET_OBJECTS:hotgemm_host> $<TARGET_OBJECTS:hotgemm_gpu>)
# What the libraries need at link time. The rest of what they use has no code of its own, or is part of their objects.
set(link_dependencies OpenSSL::Crypto Threads::Threads ${CMAKE_DL_LIBS})
if(NOT HOTGEMM_STATIC_DEPENDENCIES)
  list(APPEND link_dependencies fmt::fmt)
endif()

function(hotgemm_public_includes target)
  target_include_directories(
    ${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                        $<BUILD_INTERFACE:${HOTGEMM_GENERATED_INCLUDE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# hotgemm_localize(<target>): makes the archive's objects one, in which only names of hotgemm are global. So a program
# may have its own version of anything that hotgemm is made of, such as fmt.
function(hotgemm_localize target)
  set(merged ${PROJECT_BINARY_DIR}/generated/$<CONFIG>${target}.o)
  # Functions, classes, and what belongs to inline ones.
  set(names hotgemm_* _ZN7hotgemm* _ZNK7hotgemm* _ZT?N7hotgemm* _ZZN7hotgemm* _ZZNK7hotgemm* _ZGVZN7hotgemm* _ZGVZNK7hotgemm*)
  list(TRANSFORM names PREPEND --keep-global-symbol=)
  add_custom_command(
    TARGET ${target} POST_BUILD
    # Groups hold what several objects define, such as a template's instances. The linker would drop ours for those of
    # the program, although their names are local.
    COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${merged} --whole-archive $<TARGET_FILE:${target}>
    COMMAND ${CMAKE_OBJCOPY} --wildcard ${names} ${merged}
    COMMAND ${CMAKE_COMMAND} -E rm $<TARGET_FILE:${target}>
    COMMAND ${CMAKE_AR} qcs $<TARGET_FILE:${target}> ${merged}
    COMMAND ${CMAKE_COMMAND} -E rm ${merged}
    VERBATIM)
endfunction()

foreach(target hotgemm hotgemm_static)
  add_library(${target} STATIC ${objects})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_compile_features(${target} PUBLIC cxx_std_20)
  hotgemm_public_includes(${target})
  target_link_libraries(${target} PRIVATE ${link_dependencies})
endforeach()
execute_process(COMMAND ${CMAKE_LINKER} --help OUTPUT_VARIABLE linker_help)
if(NOT linker_help MATCHES "--force-group-allocation")
  message(NOTICE "libhotgemm.a has global names of fmt and others: ${CMAKE_LINKER} lacks --force-group-allocation")
elseif(NOT hotgemm_sanitized)
  hotgemm_localize(hotgemm)
endif()
add_library(hotgemm::hotgemm ALIAS hotgemm)

if(HOTGEMM_BUILD_SHARED)
  set(script ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  add_library(hotgemm_shared SHARED ${objects})
  hotgemm_compile_options(hotgemm_shared)
  hotgemm_public_includes(hotgemm_shared)
  # Users need not have what the library is made of, so the names of these targets are kept from them.
  list(TRANSFORM link_dependencies REPLACE ".+" "$<BUILD_INTERFACE:\\0>" OUTPUT_VARIABLE hidden)
  target_link_libraries(hotgemm_shared PRIVATE ${hidden})
  # Threads of the library, its fork handlers and what it loads do not survive being unloaded.
  target_link_options(hotgemm_shared PRIVATE -Wl,--version-script=${script} -Wl,-z,nodelete)
  if(NOT hotgemm_sanitized)
    target_link_options(hotgemm_shared PRIVATE -Wl,-z,defs)
  endif()
  # Before 1.0 each minor version may break the ABI.
  set_target_properties(
    hotgemm_shared
    PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME hotgemm EXPORT_NAME c LINK_DEPENDS ${script} VERSION ${PROJECT_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  add_library(hotgemm::c ALIAS hotgemm_shared)
else()
  add_library(hotgemm_c INTERFACE)
  hotgemm_public_includes(hotgemm_c)
  target_link_libraries(hotgemm_c INTERFACE $<LINK_ONLY:hotgemm>)
  set_target_properties(hotgemm_c PROPERTIES EXPORT_NAME c)
  add_library(hotgemm::c ALIAS hotgemm_c)
endif()
