#include "base/environment.hpp"

#include <cstdlib>

namespace hotgemm {

std::string environment_variable(const char* name) {
  const char* value = ::secure_getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace hotgemm
