#include <hotgemm/hotgemm.h>

#include <stdio.h>
#include <string.h>

/* Prints the digest of the records that the library finds. */
static int print_digest(void) {
  hotgemm_context* context = NULL;
  char digest[65];
  hotgemm_status status = hotgemm_context_create(NULL, 0, &context);
  if (status == HOTGEMM_SUCCESS) status = hotgemm_records_digest(context, digest, sizeof digest, NULL);
  hotgemm_context_destroy(context);
  if (status == HOTGEMM_SUCCESS) puts(digest);
  return (int)status;
}

int main(int argc, char** argv) {
  hotgemm_problem problem = HOTGEMM_PROBLEM_INIT;
  char text[200];
  size_t length = 0;
  if (argc == 2 && strcmp(argv[1], "--digest") == 0) return print_digest();
  if (hotgemm_problem_parse("4096 4096 512 nt f16", &problem) != HOTGEMM_SUCCESS) return 1;
  if (problem.k != 512 || problem.op_b != HOTGEMM_OP_T) return 2;
  if (hotgemm_problem_text(&problem, NULL, text, sizeof text, &length) != HOTGEMM_SUCCESS) return 3;
  if (strlen(text) != length) return 4;
  if (hotgemm_problem_parse("4096x4096 nt", &problem) != HOTGEMM_INVALID_ARGUMENT) return 5;
  if (hotgemm_last_error(text, sizeof text) == 0 || strstr(text, "4096x4096") == NULL) return 6;
  if (strcmp(hotgemm_version(), HOTGEMM_VERSION) != 0) return 7;
  puts(hotgemm_version());
  return 0;
}
