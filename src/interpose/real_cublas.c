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

// The path of the loaded library number `skip` whose name begins as `stem` does.
struct path {
  const char* stem;
  int skip;
  char text[4096];
};

static int copy_path(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct path* path = data;
  const bool is_next = is_library(info->dlpi_name, path->stem) && path->skip-- == 0;
  if (!is_next) return 0;
  return snprintf(path->text, sizeof path->text, "%s", info->dlpi_name) < (int)sizeof path->text;
}

// A wheel that was repaired has the library by another soname. It keeps the version of its functions.
static void* find_renamed(const char* stem, const char* soname, const char* function) {
  struct path path = {.stem = stem};
  for (int i = 0; path.skip = i, dl_iterate_phdr(copy_path, &path) != 0; ++i) {  // which must not open a library
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

// Calls `find` until the library is there, and says whether it is: a program may call a function before it loads
// cuBLAS. Each call searches until then, because nothing says whether a library was loaded since. It costs only calls
// whose major is not there.
static bool find_once(atomic_bool* is_found, bool (*find)(int), int major) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  if (atomic_load_explicit(is_found, memory_order_acquire)) return true;
  pthread_mutex_lock(&mutex);
  const bool found = atomic_load_explicit(is_found, memory_order_relaxed) || find(major);
  atomic_store_explicit(is_found, found, memory_order_release);
  pthread_mutex_unlock(&mutex);
  return found;
}

// A caller that looked a function up without a version gets the one of 13, and may have loaded the other major. It may
// load 13 later.
static int other_of(int i) { return 1 - i; }

const struct cublas* real_cublas(int major) {
  static const struct cublas none;
  static atomic_bool is_found[kMajors];
  int i = major - kFirstMajor;
  if (find_once(&is_found[i], find_cublas, major)) return &all_cublas[i];
  i = other_of(i);
  return find_once(&is_found[i], find_cublas, kFirstMajor + i) ? &all_cublas[i] : &none;
}

const struct cublaslt* real_cublaslt(int major) {
  static const struct cublaslt none;
  static atomic_bool is_found[kMajors];
  int i = major - kFirstMajor;
  if (find_once(&is_found[i], find_cublaslt, major)) return &all_cublaslt[i];
  i = other_of(i);
  return find_once(&is_found[i], find_cublaslt, kFirstMajor + i) ? &all_cublaslt[i] : &none;
}
