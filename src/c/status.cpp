#include "c/status.hpp"

#include "c/text.hpp"

#include <hotgemm/context.hpp>
#include <hotgemm/version.hpp>

#include <string>

namespace hotgemm::c {
namespace {

std::string& last_error() {
  thread_local std::string message;
  return message;
}

}  // namespace

hotgemm_status fail(const hotgemm_call* call, hotgemm_status status, std::string_view message) noexcept {
  try {
    last_error().assign(message);
  } catch (const std::bad_alloc&) {
    last_error().clear();
  }
  // The first version had all of these fields.
  if (call != nullptr && call->size >= sizeof(hotgemm_call)) copy_text(message, call->error, call->error_size);
  return status;
}

static_assert(HOTGEMM_INVALID_ARGUMENT == status_of(ErrorCode::invalid_argument));
static_assert(HOTGEMM_NOT_PREPARED == status_of(ErrorCode::not_prepared));
static_assert(HOTGEMM_OUT_OF_MEMORY == status_of(ErrorCode::out_of_memory));
static_assert(HOTGEMM_FORKED == status_of(ErrorCode::forked));
static_assert(HOTGEMM_INTERNAL == status_of(ErrorCode::internal), "a code was added in the middle");

}  // namespace hotgemm::c

using namespace hotgemm;

const char* hotgemm_status_name(hotgemm_status status) {
  if (status == HOTGEMM_SUCCESS) return "success";
  if (status < HOTGEMM_SUCCESS || status > HOTGEMM_INTERNAL) return "unknown";
  return to_string(static_cast<ErrorCode>(status - 1)).data();  // a literal, so a zero byte follows
}

size_t hotgemm_last_error(char* buffer, size_t size) { return c::copy_text(c::last_error(), buffer, size); }

const char* hotgemm_version(void) { return HOTGEMM_VERSION; }
