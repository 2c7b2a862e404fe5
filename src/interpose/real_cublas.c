#define _GNU_SOURCE
#include "interpose/real_cublas.h"

#include <dlfcn.h>
#include <pthread.h>
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
  void* address = library != NULL ? dlsym(library, name) : NULL;
  memcpy(function, &address, sizeof address);
}

static void find_cublas(int major) {
  void* library = find_library("libcublas", major);
  struct cublas* all = &all_cublas[major - kFirstMajor];
#define HOTGEMM_FIND(name, ...) find_function(library, #name, &all->name);
  HOTGEMM_PRODUCTS(HOTGEMM_FIND)
  HOTGEMM_FIND(cublasGetStream_v2)
  HOTGEMM_FIND(cublasGetPointerMode_v2)
  HOTGEMM_FIND(cublasGetMathMode)
  HOTGEMM_FIND(cublasGetSmCountTarget)
#undef HOTGEMM_FIND
}

static void find_cublaslt(int major) {
  void* library = find_library("libcublasLt", major);
  struct cublaslt* all = &all_cublaslt[major - kFirstMajor];
  find_function(library, "cublasLtMatmul", &all->cublasLtMatmul);
  find_function(library, "cublasLtMatmulDescGetAttribute", &all->cublasLtMatmulDescGetAttribute);
  find_function(library, "cublasLtMatrixLayoutGetAttribute", &all->cublasLtMatrixLayoutGetAttribute);
}

static void find_cublas_12(void) { find_cublas(12); }
static void find_cublas_13(void) { find_cublas(13); }
static void find_cublaslt_12(void) { find_cublaslt(12); }
static void find_cublaslt_13(void) { find_cublaslt(13); }

const struct cublas* real_cublas(int major) {
  static pthread_once_t once[kMajors] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT};
  pthread_once(&once[major - kFirstMajor], major == 12 ? find_cublas_12 : find_cublas_13);
  return &all_cublas[major - kFirstMajor];
}

const struct cublaslt* real_cublaslt(int major) {
  static pthread_once_t once[kMajors] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT};
  pthread_once(&once[major - kFirstMajor], major == 12 ? find_cublaslt_12 : find_cublaslt_13);
  return &all_cublaslt[major - kFirstMajor];
}
