#pragma once

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

// Whether `path` is that of a library with the name `stem`: "libcublas" is libcublas.so.13 and libcublas-1a2b3c.so.13,
// and not libcublasLt.so.13.
static inline bool is_library(const char* path, const char* stem) {
  const char* slash = strrchr(path, '/');
  const char* name = slash != NULL ? slash + 1 : path;
  const size_t length = strlen(stem);
  return strncmp(name, stem, length) == 0 && !isalnum((unsigned char)name[length]) && strstr(name, ".so") != NULL;
}
