#pragma once

#include "cache/binary_cache.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>

namespace hotgemm::command {

// A bundle is a tar archive: manifest.json, then the kernels as a layer holds them, v1/cubin/…. The manifest has the
// identity, SHA-256, architecture and toolchain of each. It detects damage; it does not say who made the bundle.

/// Writes the kernels of `cache` with these identities to a bundle. Returns their number. Throws Error{io_error} if one
/// is not in the cache.
std::size_t export_kernels(BinaryCache& cache, std::span<const Identity> kernels, const std::filesystem::path& file);

/// Stores the kernels of a bundle, and returns their number for each architecture. Throws Error{io_error}, and stores
/// none, unless every file is whole and what the manifest says.
std::map<std::string, std::size_t> import_kernels(BinaryCache& cache, const std::filesystem::path& file);

}  // namespace hotgemm::command
