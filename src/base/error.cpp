#include <hotgemm/error.hpp>

namespace hotgemm {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::not_supported: return "not_supported";
    case ErrorCode::not_prepared: return "not_prepared";
    case ErrorCode::no_driver: return "no_driver";
    case ErrorCode::no_device: return "no_device";
    case ErrorCode::no_compiler: return "no_compiler";
    case ErrorCode::compile_failed: return "compile_failed";
    case ErrorCode::driver_error: return "driver_error";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::context_lost: return "context_lost";
    case ErrorCode::wrong_result: return "wrong_result";
    case ErrorCode::io_error: return "io_error";
    case ErrorCode::forked: return "forked";
    case ErrorCode::interrupted: return "interrupted";
    case ErrorCode::internal: return "internal";
  }
  return "unknown";
}

}  // namespace hotgemm
