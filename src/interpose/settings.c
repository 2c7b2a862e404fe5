#define _GNU_SOURCE
#include "interpose/settings.h"

#include <hotgemm/hotgemm.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

extern char** environ;

static struct settings the_settings;

static bool is_set_to(const char* variable, const char* value) {
  const char* text = secure_getenv(variable);
  return text != NULL && strcmp(text, value) == 0;
}

// A copy: a program that sets its title writes over its environment.
static const char* text_of(const char* variable) {
  const char* text = secure_getenv(variable);
  return text != NULL && *text != '\0' ? strdup(text) : NULL;
}

static bool is_any_set(const char* prefix) {
  for (char** one = environ; one != NULL && *one != NULL; ++one) {
    if (strncmp(*one, prefix, strlen(prefix)) == 0) return true;
  }
  return false;
}

static void read_environment(void) {
  const uint32_t which =
      is_set_to("HOTGEMM_CUBLAS_SERVE", "prepared") ? HOTGEMM_IF_PREPARED : HOTGEMM_IF_PREPARED | HOTGEMM_IF_AS_FAST;
  the_settings = (struct settings){
      .is_on = !is_set_to("HOTGEMM_CUBLAS", "off"),
      .serves_f32 = is_set_to("HOTGEMM_CUBLAS_SGEMM", "1"),
      // CUBLAS_EMULATE_SINGLE_PRECISION, CUBLAS_EMULATION_STRATEGY and others of their kind.
      .has_plain_f32 = !is_any_set("NVIDIA_TF32_OVERRIDE=") && !is_any_set("CUBLAS_EMULAT"),
      .call_flags = which | HOTGEMM_PREPARE_LATER,
      .sets_policy = secure_getenv("HOTGEMM_TUNE") == NULL,
      .library = text_of("HOTGEMM_LIBRARY"),
      .report_to = text_of("HOTGEMM_CUBLAS_REPORT"),
  };
}

const struct settings* settings(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_environment);
  return &the_settings;
}
