#include "interpose/met_problems.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// The key of a problem class, but with the exact m: hotgemm_tune joins problems of one class.
struct key {
  hotgemm_problem problem;  // has no padding
  uint64_t traits;          // of the operands
};

struct entry {
  struct key key;
  char text[256];
  _Atomic uint64_t calls;
};

// Open addressing; an entry stays once it is there.
enum { kPlaces = 2 * kMostMetProblems };
static struct entry* _Atomic table[kPlaces];
static size_t entries = 0;  // guarded by `mutex`
static _Atomic uint64_t left_out = 0;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static uint64_t bytes_of(hotgemm_type type) {
  return type == HOTGEMM_F32 || type == HOTGEMM_S32 ? 4 : type == HOTGEMM_S8 ? 1 : 2;
}

// The bits of address, row and distance below 16 bytes: their zeros are the alignment. For addresses in an array there
// is a promise.
static uint64_t low_bits(const void* at, int16_t promise, int64_t ld, int64_t stride, int64_t batch,
                         hotgemm_type type) {
  const uint64_t lengths = (uint64_t)ld | (batch > 1 ? (uint64_t)stride : 0);
  const uint64_t bits = ((uintptr_t)at | (uintptr_t)promise | lengths * bytes_of(type)) & 15;
  return bits & (~bits + 1);
}

static struct key key_of(const hotgemm_problem* p, const hotgemm_operands* o) {
  struct key key = {.problem = *p};
  const uint64_t d = low_bits(o->d, o->batch_align_d, o->ldd, o->batch_stride_d, p->batch, p->type_d);
  const uint64_t c = low_bits(o->c, o->batch_align_c, o->ldc, o->batch_stride_c, p->batch, p->type_c);
  key.traits = low_bits(o->a, o->batch_align_a, o->lda, o->batch_stride_a, p->batch, p->type_a) |
               low_bits(o->b, o->batch_align_b, o->ldb, o->batch_stride_b, p->batch, p->type_b) << 8 | d << 16 |
               c << 24 | (uint64_t)(o->beta != 0) << 32;
  return key;
}

static uint64_t hash_of(const struct key* key) {
  uint64_t words[sizeof *key / sizeof(uint64_t)];
  memcpy(words, key, sizeof words);
  uint64_t hash = 0;
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return hash;
}

// The entry of `key`, or null; `*place` becomes where it is or belongs.
static struct entry* find(const struct key* key, size_t* place) {
  struct entry* entry = NULL;
  for (*place = hash_of(key) % kPlaces;; *place = (*place + 1) % kPlaces) {
    entry = atomic_load_explicit(&table[*place], memory_order_acquire);
    if (entry == NULL || memcmp(&entry->key, key, sizeof *key) == 0) return entry;
  }
}

// Null if the table is full, memory is short, or hotgemm has no text for the problem.
static struct entry* make_entry(const struct hotgemm* hotgemm, const struct key* key,
                                const hotgemm_operands* operands) {
  if (entries == kMostMetProblems) return NULL;
  struct entry* entry = calloc(1, sizeof *entry);
  if (entry == NULL) return NULL;
  entry->key = *key;
  size_t length = 0;
  const hotgemm_status status =
      hotgemm->problem_text(&key->problem, operands, entry->text, sizeof entry->text, &length);
  if (status == HOTGEMM_SUCCESS && length < sizeof entry->text) return entry;
  free(entry);
  return NULL;
}

static struct entry* find_or_make(const struct hotgemm* hotgemm, const struct key* key,
                                  const hotgemm_operands* operands) {
  size_t place = 0;
  pthread_mutex_lock(&mutex);
  struct entry* entry = find(key, &place);  // another thread may have made it
  if (entry == NULL) {
    entry = make_entry(hotgemm, key, operands);
    if (entry != NULL) {
      ++entries;
      atomic_store_explicit(&table[place], entry, memory_order_release);
    }
  }
  pthread_mutex_unlock(&mutex);
  return entry;
}

void add_met_problem(const struct hotgemm* hotgemm, const hotgemm_problem* problem, const hotgemm_operands* operands) {
  const struct key key = key_of(problem, operands);
  size_t place = 0;
  struct entry* entry = find(&key, &place);
  if (entry == NULL) entry = find_or_make(hotgemm, &key, operands);
  atomic_fetch_add_explicit(entry != NULL ? &entry->calls : &left_out, 1, memory_order_relaxed);
}

static int compare(const void* first, const void* second) {
  const uint64_t a = ((const struct met_problem*)first)->calls;
  const uint64_t b = ((const struct met_problem*)second)->calls;
  return a < b ? 1 : a > b ? -1 : 0;
}

size_t list_met_problems(struct met_problem list[kMostMetProblems], uint64_t* calls_left_out) {
  size_t count = 0;
  for (size_t i = 0; i < kPlaces; ++i) {
    struct entry* entry = atomic_load_explicit(&table[i], memory_order_acquire);
    if (entry == NULL || count == kMostMetProblems) continue;
    list[count++] = (struct met_problem){entry->text, atomic_load_explicit(&entry->calls, memory_order_relaxed)};
  }
  qsort(list, count, sizeof *list, compare);
  *calls_left_out = atomic_load_explicit(&left_out, memory_order_relaxed);
  return count;
}
