#define _GNU_SOURCE
#include "interpose/real_cublas.h"

#include "interpose/library_name.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { kFirstMajor = 12, kMajors = 2 };

static struct cublas all_cublas[kMajors];
static struct cublaslt all_cublaslt[kMajors];

// The path of a loaded library with the name `stem`.
struct path {
  const char* stem;
  int skip;  // so many of them come before it
  char text[4096];
};

static int copy_path(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct path* path = data;
  const bool is_next = is_library(info->dlpi_name, path->stem) && path->skip-- == 0;
  if (!is_next) return 0;
  return snprintf(path->text, sizeof path->text, "%s", info->dlpi_name) < (int)sizeof path->text;
}

// Finds a library with another soname, as in a wheel that was repaired: its functions keep their version. The library
// is opened after dl_iterate_phdr has returned, because its callback must not open one.
static void* find_renamed(const char* stem, const char* soname, const char* function) {
  struct path path = {.stem = stem};
  for (int i = 0; path.skip = i, dl_iterate_phdr(copy_path, &path) != 0; ++i) {
    void* library = dlopen(path.text, RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL && dlvsym(library, function, soname) != NULL) return library;
    if (library != NULL) dlclose(library);
  }
  return NULL;
}

// A caller that is bound to a version has loaded the library of this major, by whatever path. Nothing is loaded that
// the process has not; what it has stays loaded, because the handle is kept.
static void* find_library(const char* stem, int major, const char* function) {
  char soname[32];
  snprintf(soname, sizeof soname, "%s.so.%d", stem, major);
  void* library = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
  return library != NULL ? library : find_renamed(stem, soname, function);
}

// A function pointer and what dlsym returns are of one size on every system with dlsym, but C has no cast between them.
static void find_function(void* library, const char* name, void* function) {
  void* address = dlsym(library, name);
  memcpy(function, &address, sizeof address);
}

static bool find_cublas(int major) {
  void* library = find_library("libcublas", major, "cublasGemmEx");
  if (library == NULL) return false;
  struct cublas* all = &all_cublas[major - kFirstMajor];
#define HOTGEMM_FIND(name, ...) find_function(library, #name, &all->name);
  HOTGEMM_PRODUCTS(HOTGEMM_FIND)
  HOTGEMM_FIND(cublasGetStream_v2)
  HOTGEMM_FIND(cublasGetPointerMode_v2)
  HOTGEMM_FIND(cublasGetMathMode)
  HOTGEMM_FIND(cublasGetSmCountTarget)
#undef HOTGEMM_FIND
  return true;
}

static bool find_cublaslt(int major) {
  void* library = find_library("libcublasLt", major, "cublasLtMatmul");
  if (library == NULL) return false;
  struct cublaslt* all = &all_cublaslt[major - kFirstMajor];
  find_function(library, "cublasLtMatmul", &all->cublasLtMatmul);
  find_function(library, "cublasLtMatmulDescGetAttribute", &all->cublasLtMatmulDescGetAttribute);
  find_function(library, "cublasLtMatrixLayoutGetAttribute", &all->cublasLtMatrixLayoutGetAttribute);
  return true;
}

// The search for the library of one major.
struct search {
  atomic_bool is_found;
  atomic_ullong after;  // the number of libraries that had been loaded when it was in vain
};

static int copy_loads(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  *(unsigned long long*)data = info->dlpi_adds;
  return 1;
}

// The number of libraries that the process has loaded so far.
static unsigned long long loads(void) {
  unsigned long long count = 0;
  dl_iterate_phdr(copy_loads, &count);
  return count;
}

// Calls `find` until the library is there, and says whether it is: a program may call a function before it loads
// cuBLAS. Only a library that was loaded since lets it search again.
static bool find_once(struct search* search, bool (*find)(int), int major) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  if (atomic_load_explicit(&search->is_found, memory_order_acquire)) return true;
  const unsigned long long now = loads();
  if (atomic_load(&search->after) == now) return false;
  pthread_mutex_lock(&mutex);
  const bool found = atomic_load_explicit(&search->is_found, memory_order_relaxed) || find(major);
  if (!found) atomic_store(&search->after, now);
  atomic_store_explicit(&search->is_found, found, memory_order_release);
  pthread_mutex_unlock(&mutex);
  return found;
}

// The index of the library for a caller of `major`, or -1. A caller that looked a function up without a version gets
// the one of 13, and may have loaded the other major. It may load 13 later.
static int find_either(struct search* searches, bool (*find)(int), int major) {
  const int own = major - kFirstMajor, other = 1 - own;
  if (find_once(&searches[own], find, major)) return own;
  return find_once(&searches[other], find, kFirstMajor + other) ? other : -1;
}

const struct cublas* real_cublas(int major) {
  static const struct cublas none;
  static struct search searches[kMajors];
  const int i = find_either(searches, find_cublas, major);
  return i >= 0 ? &all_cublas[i] : &none;
}

const struct cublaslt* real_cublaslt(int major) {
  static const struct cublaslt none;
  static struct search searches[kMajors];
  const int i = find_either(searches, find_cublaslt, major);
  return i >= 0 ? &all_cublaslt[i] : &none;
}
