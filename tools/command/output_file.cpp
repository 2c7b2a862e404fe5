#include "command/output_file.hpp"

#include <hotgemm/error.hpp>

#include <system_error>

namespace hotgemm::command {

std::filesystem::path output_file(const std::string& name) {
  if (name == "-") throw Error(ErrorCode::invalid_argument, "the file to write needs a name; - is none");
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(name, error);
  if (!std::filesystem::exists(status)) return name;
  if (!std::filesystem::is_regular_file(status)) {
    throw Error(ErrorCode::invalid_argument, name + " is not a regular file, so it is not replaced");
  }
  return std::filesystem::is_symlink(name) ? std::filesystem::canonical(name) : std::filesystem::path(name);
}

}  // namespace hotgemm::command
