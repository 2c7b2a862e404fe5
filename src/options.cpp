#include <hotgemm/context.hpp>
#include <hotgemm/error.hpp>

#include <cstdlib>

namespace hotgemm {

ContextOptions ContextOptions::from_environment() {
  ContextOptions options;
  const char* text = secure_getenv("HOTGEMM_TUNE");
  const std::string_view tune = text != nullptr ? text : "missing";
  if (tune == "never") {
    options.policy = Policy::estimate;
  } else if (tune != "missing") {
    throw Error(ErrorCode::invalid_argument, "HOTGEMM_TUNE is \"" + std::string(tune) + "\"; it is never or missing");
  }
  return options;
}

}  // namespace hotgemm
