#pragma once

#include <filesystem>
#include <optional>

namespace hotgemm {

/// The library or the program that holds this code, as an absolute path without links; empty if it is unknown. The path
/// of a program is taken from /proc, never from the name that its caller gave it.
std::filesystem::path own_file();

struct ShippedRecords {
  std::filesystem::path directory;  ///< empty if no records ship with this library
  std::optional<unsigned> owner;    ///< of the file that holds this code: the library or a program; nullopt: unknown
};

/// The records that ship with the library: in share/hotgemm/cache beside the directory of the file that holds this
/// code, or beside one of the two above it; else where the library was to be installed. A moved installation and a
/// build tree, which has a link there, find theirs in this way. A set-id process looks only at the place of
/// installation.
ShippedRecords shipped_records();

/// The records shipped with code in `file`, which may be empty.
ShippedRecords shipped_records_of(const std::filesystem::path& file);

}  // namespace hotgemm
