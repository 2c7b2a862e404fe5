#define _GNU_SOURCE
#include "interpose/library.h"

#include "interpose/settings.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HOTGEMM_TEXT_OF(number) #number
#define HOTGEMM_SONAME(major, minor) "libhotgemm.so." HOTGEMM_TEXT_OF(major) "." HOTGEMM_TEXT_OF(minor)
static const char kSoname[] = HOTGEMM_SONAME(HOTGEMM_VERSION_MAJOR, HOTGEMM_VERSION_MINOR);

static struct hotgemm the_library;
static bool is_open = false;

static void complain(const char* reason) {
  fprintf(stderr, "hotgemm_cublas: %s; cuBLAS computes everything\n", reason != NULL ? reason : "unknown failure");
}

// The path of libhotgemm beside the interposer, or its bare name if no file is there.
static const char* path_beside_us(char path[PATH_MAX]) {
  Dl_info info;
  if (dladdr(&the_library, &info) == 0 || info.dli_fname == NULL) return kSoname;
  const char* slash = strrchr(info.dli_fname, '/');
  const int directory = slash != NULL ? (int)(slash - info.dli_fname) + 1 : 0;
  const int length = snprintf(path, PATH_MAX, "%.*s%s", directory, info.dli_fname, kSoname);
  return length > 0 && length < PATH_MAX && access(path, R_OK) == 0 ? path : kSoname;
}

static bool find_function(void* library, const char* name, void* function) {
  void* address = dlsym(library, name);
  memcpy(function, &address, sizeof address);
  return address != NULL;
}

static bool find_functions(void* library) {
  return find_function(library, "hotgemm_gemm", &the_library.gemm) &&
         find_function(library, "hotgemm_problem_text", &the_library.problem_text) &&
         find_function(library, "hotgemm_last_error", &the_library.last_error) &&
         find_function(library, "hotgemm_context_default", &the_library.context_default) &&
         find_function(library, "hotgemm_context_configure_default", &the_library.context_configure_default);
}

static bool make_context(void) {
  const hotgemm_option option = {"policy", "estimate"};
  // If the program has made the default context by itself, its options stay.
  if (settings()->sets_policy) the_library.context_configure_default(&option, 1);
  return the_library.context_default(&the_library.context) == HOTGEMM_SUCCESS;
}

static void open_library(void) {
  char path[PATH_MAX];
  const char* name = settings()->library != NULL ? settings()->library : path_beside_us(path);
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL || !find_functions(library)) {
    complain(dlerror());
  } else if (!make_context()) {
    char message[1024];
    the_library.last_error(message, sizeof message);
    complain(message);
  } else {
    is_open = true;
  }
}

const struct hotgemm* open_hotgemm(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_library);
  return is_open ? &the_library : NULL;
}
