#define _GNU_SOURCE
#include "interpose/settings.h"

#include <hotgemm/hotgemm.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char** environ;

static struct settings the_settings;

static bool is_set(const char* variable) {
  const char* text = secure_getenv(variable);
  return text != NULL && *text != '\0';
}

// True if the variable is `word`; false if it is `other`, the default. Any other value is reported on stderr and counts
// as the default.
static bool is_word(const char* variable, const char* word, const char* other) {
  if (!is_set(variable)) return false;
  const char* text = secure_getenv(variable);
  if (strcmp(text, word) == 0) return true;
  if (strcmp(text, other) == 0) return false;
  fprintf(stderr, "hotgemm_cublas: %s is \"%s\": expected %s or %s; it counts as %s\n", variable, text, word, other,
          other);
  return false;
}

// A copy: a program that sets its title writes over its environment.
static const char* text_of(const char* variable) { return is_set(variable) ? strdup(secure_getenv(variable)) : NULL; }

static bool is_any_set(const char* prefix) {
  for (char** one = environ; one != NULL && *one != NULL; ++one) {
    if (strncmp(*one, prefix, strlen(prefix)) == 0) return true;
  }
  return false;
}

static void read_environment(void) {
  const bool is_off = is_word("HOTGEMM_CUBLAS", "off", "on");
  const bool serves_all_prepared = is_word("HOTGEMM_CUBLAS_SERVE", "prepared", "as_fast");
  const bool serves_f32 = is_word("HOTGEMM_CUBLAS_SGEMM", "1", "0");
  the_settings = (struct settings){
      .is_on = !is_off,
      .serves_f32 = serves_f32,
      // CUBLAS_EMULATE_SINGLE_PRECISION, CUBLAS_EMULATION_STRATEGY and others of their kind.
      .has_plain_f32 = !is_any_set("NVIDIA_TF32_OVERRIDE=") && !is_any_set("CUBLAS_EMULAT"),
      .call_flags = HOTGEMM_IF_PREPARED | HOTGEMM_PREPARE_LATER | (serves_all_prepared ? 0 : HOTGEMM_IF_AS_FAST),
      .sets_policy = !is_set("HOTGEMM_TUNE"),
      .library = text_of("HOTGEMM_LIBRARY"),
      .report_to = text_of("HOTGEMM_CUBLAS_REPORT"),
  };
}

const struct settings* settings(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_environment);
  return &the_settings;
}
