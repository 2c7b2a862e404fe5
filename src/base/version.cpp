#include <hotgemm/version.hpp>

namespace hotgemm {

std::string_view version() { return HOTGEMM_VERSION; }

}  // namespace hotgemm
