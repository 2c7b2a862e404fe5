#include "c/status.hpp"

#include "c/sized.hpp"
#include "c/text.hpp"

#include <hotgemm/context.hpp>
#include <hotgemm/version.hpp>

#include <string>
#include <string_view>

namespace hotgemm::c {
namespace {

thread_local bool is_ending = false;  // the thread's objects are being destroyed, and may still call us

struct LastError {
  std::string message;
  ~LastError() { is_ending = true; }
};

/// The last message of the thread; null while the thread ends.
std::string* last_error() {
  if (is_ending) return nullptr;
  thread_local LastError last;
  return &last.message;
}

}  // namespace

hotgemm_status fail(const hotgemm_call* call, hotgemm_status status, std::string_view message) noexcept {
  if (std::string* const last = last_error()) {
    try {
      last->assign(message);
    } catch (const std::bad_alloc&) {
      last->clear();
    }
  }
  if (call != nullptr && call->size >= kFirstSize<hotgemm_call>) copy_text(message, call->error, call->error_size);
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

size_t hotgemm_last_error(char* buffer, size_t size) {
  const std::string* const last = c::last_error();
  return c::copy_text(last != nullptr ? std::string_view(*last) : std::string_view(), buffer, size);
}

const char* hotgemm_version(void) { return HOTGEMM_VERSION; }
