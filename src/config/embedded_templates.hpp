#pragma once

#include <span>
#include <string_view>

namespace hotgemm {

struct EmbeddedFile {
  std::string_view path;  ///< relative to templates/: "mma.cuh", "shared/mma_config.hpp"
  std::string_view text;
};

/// Every file of templates/ at the time when the library was built, sorted by path. Valid until the program ends.
std::span<const EmbeddedFile> embedded_templates();

struct EmbeddedDigest {
  std::string_view entry;   ///< a template: "mma.cuh"
  std::string_view digest;  ///< as TemplateBundle::digest computes it
};

/// The digests of all templates among the embedded files, computed when the library was built.
std::span<const EmbeddedDigest> embedded_digests();

}  // namespace hotgemm
