/* The version of these headers; CMake reads it here. Before 1.0 each minor version may break the API and the ABI. */
#ifndef HOTGEMM_VERSION_H
#define HOTGEMM_VERSION_H

#define HOTGEMM_VERSION_MAJOR 0
#define HOTGEMM_VERSION_MINOR 1
#define HOTGEMM_VERSION_PATCH 0

#define HOTGEMM_DETAIL_TEXT_(x) #x
#define HOTGEMM_DETAIL_TEXT(x) HOTGEMM_DETAIL_TEXT_(x)
/* "0.1.0" */
#define HOTGEMM_VERSION                      \
  HOTGEMM_DETAIL_TEXT(HOTGEMM_VERSION_MAJOR) \
  "." HOTGEMM_DETAIL_TEXT(HOTGEMM_VERSION_MINOR) "." HOTGEMM_DETAIL_TEXT(HOTGEMM_VERSION_PATCH)

#endif
