#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace hotgemm::command {

struct TarFile {
  std::string name;
  std::vector<std::uint8_t> bytes;
};

/// A POSIX archive (ustar) of plain files with mode 0644, without times and owners: equal files give equal bytes.
/// Throws Error{io_error} if the file cannot be written, and Error{invalid_argument} for a name of more than 100 bytes.
void write_tar(const std::filesystem::path& path, std::span<const TarFile> files);

/// The files of such an archive, which other tools may have written. Throws Error{io_error} if it cannot be read, is
/// cut short or damaged, or holds anything but plain files.
std::vector<TarFile> read_tar(const std::filesystem::path& path);

}  // namespace hotgemm::command
