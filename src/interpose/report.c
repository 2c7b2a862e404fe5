#define _GNU_SOURCE
#include "interpose/report.h"

#include "interpose/met_problems.h"
#include "interpose/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic uint64_t counts[REASON_COUNT];
static char first_messages[REASON_COUNT][256];
static bool has_message[REASON_COUNT];  // guarded, as the messages, by `mutex`
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pid_t process;

#define HOTGEMM_REASON(name, text) text,
static const char* const kTexts[REASON_COUNT] = {HOTGEMM_REASONS(HOTGEMM_REASON)};
#undef HOTGEMM_REASON

// Every line but those of problems is a comment, so that the report is a file for --shapes.
static void write_counts(FILE* to) {
  uint64_t passed_on = 0;
  for (int i = 0; i < REASON_COUNT; ++i) passed_on += i == REASON_SERVED ? 0 : atomic_load(&counts[i]);
  const uint64_t served = atomic_load(&counts[REASON_SERVED]);
  fprintf(to, "# hotgemm_cublas, process %ld: %" PRIu64 " calls, %" PRIu64 " served, %" PRIu64 " passed on to cuBLAS\n",
          (long)process, served + passed_on, served, passed_on);
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < REASON_COUNT; ++i) {
    const uint64_t count = atomic_load(&counts[i]);
    if (i == REASON_SERVED || count == 0) continue;
    fprintf(to, "# %10" PRIu64 "  %s%s%s\n", count, kTexts[i], has_message[i] ? "; the first: " : "",
            first_messages[i]);
  }
  pthread_mutex_unlock(&mutex);
}

static void write_problems(FILE* to) {
  static struct met_problem list[kMostMetProblems];
  uint64_t left_out = 0;
  const size_t count = list_met_problems(list, &left_out);
  if (count != 0)
    fprintf(to,
            "# To measure what was declined, and cuBLAS beside it: hotgemm tune --cublas-default --shapes THIS_FILE\n");
  for (size_t i = 0; i < count; ++i) fprintf(to, "%s count=%" PRIu64 "\n", list[i].text, list[i].calls);
  if (left_out != 0) fprintf(to, "# %10" PRIu64 "  declined calls of further problems\n", left_out);
}

// The path, with the process id in place of %p.
static char* report_path(void) {
  const char* path = settings()->report_to;
  const char* mark = strstr(path, "%p");
  char* result = NULL;
  const int length = mark == NULL ? asprintf(&result, "%s", path)
                                  : asprintf(&result, "%.*s%ld%s", (int)(mark - path), path, (long)process, mark + 2);
  return length < 0 ? NULL : result;
}

// One write, so that the reports of several processes do not mix.
static void write_text(const char* text, size_t length) {
  if (strcmp(settings()->report_to, "1") == 0) {
    fwrite(text, 1, length, stderr);
    return;
  }
  char* path = report_path();
  const int file = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 || write(file, text, length) != (ssize_t)length) {
    fprintf(stderr, "hotgemm_cublas: cannot write the report to %s: %s\n", settings()->report_to, strerror(errno));
  }
  if (file >= 0) close(file);
  free(path);
}

static void write_report(void) {
  if (getpid() != process) return;  // a child of fork() that calls exit() has its parent's counts
  char* text = NULL;
  size_t length = 0;
  FILE* to = open_memstream(&text, &length);
  if (to == NULL) return;
  write_counts(to);
  write_problems(to);
  if (fclose(to) == 0) write_text(text, length);
  free(text);
}

static void begin_report(void) {
  process = getpid();
  atexit(write_report);
}

static bool is_asked_for(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (settings()->report_to == NULL) return false;
  pthread_once(&once, begin_report);
  return true;
}

void report_call(enum reason reason) {
  if (is_asked_for()) atomic_fetch_add_explicit(&counts[reason], 1, memory_order_relaxed);
}

void report_problem(const struct hotgemm* hotgemm, const hotgemm_problem* problem, const hotgemm_operands* operands) {
  if (is_asked_for()) add_met_problem(hotgemm, problem, operands);
}

void report_failure(const struct hotgemm* hotgemm, enum reason reason) {
  if (!is_asked_for()) return;
  pthread_mutex_lock(&mutex);
  if (!has_message[reason]) {
    has_message[reason] = true;
    hotgemm->last_error(first_messages[reason], sizeof first_messages[reason]);
    first_messages[reason][strcspn(first_messages[reason], "\n")] = '\0';
  }
  pthread_mutex_unlock(&mutex);
}
