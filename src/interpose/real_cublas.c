#define _GNU_SOURCE
#include "interpose/real_cublas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { kFirstMajor = 12, kMajors = 2 };

static struct cublas all_cublas[kMajors];
static struct cublaslt all_cublaslt[kMajors];

static void* find_loaded(const char* stem, int major) {
  char name[32];
  snprintf(name, sizeof name, "%s.so.%d", stem, major);
  return dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
}

// A caller that is bound to a version has loaded the library of this major: any path to it, as that of a wheel, has the
// same soname. One that looked the function up without a version gets the one of 13, and may have loaded the other
// major. Nothing is loaded that the process has not; what it has stays loaded, because the handle is kept.
static void* find_library(const char* stem, int major) {
  void* library = find_loaded(stem, major);
  return library != NULL ? library : find_loaded(stem, major == 12 ? 13 : 12);
}

// A function pointer and what dlsym returns are of one size on every system with dlsym, but C has no cast between them.
static void find_function(void* library, const char* name, void* function) {
  void* address = dlsym(library, name);
  memcpy(function, &address, sizeof address);
}

static bool find_cublas(int major) {
  void* library = find_library("libcublas", major);
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
  void* library = find_library("libcublasLt", major);
  if (library == NULL) return false;
  struct cublaslt* all = &all_cublaslt[major - kFirstMajor];
  find_function(library, "cublasLtMatmul", &all->cublasLtMatmul);
  find_function(library, "cublasLtMatmulDescGetAttribute", &all->cublasLtMatmulDescGetAttribute);
  find_function(library, "cublasLtMatrixLayoutGetAttribute", &all->cublasLtMatrixLayoutGetAttribute);
  return true;
}

// Calls `find` until the library is there, and says whether it is: a program may call a function before it loads
// cuBLAS. Each call searches until then, because nothing says whether a library was loaded since. It costs only calls
// that have no cuBLAS to compute them.
static bool find_once(atomic_bool* is_found, bool (*find)(int), int major) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  if (atomic_load_explicit(is_found, memory_order_acquire)) return true;
  pthread_mutex_lock(&mutex);
  const bool found = atomic_load_explicit(is_found, memory_order_relaxed) || find(major);
  atomic_store_explicit(is_found, found, memory_order_release);
  pthread_mutex_unlock(&mutex);
  return found;
}

const struct cublas* real_cublas(int major) {
  static const struct cublas none;
  static atomic_bool is_found[kMajors];
  const int i = major - kFirstMajor;
  return find_once(&is_found[i], find_cublas, major) ? &all_cublas[i] : &none;
}

const struct cublaslt* real_cublaslt(int major) {
  static const struct cublaslt none;
  static atomic_bool is_found[kMajors];
  const int i = major - kFirstMajor;
  return find_once(&is_found[i], find_cublaslt, major) ? &all_cublaslt[i] : &none;
}
