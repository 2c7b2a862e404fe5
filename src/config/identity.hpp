#pragma once

#include "config/kernel_source.hpp"

#include <string>
#include <string_view>

namespace hotgemm {

/// Collects the fields that a cubin depends on into an Identity.
///
/// A field is written as `label:length=value`, one per line; the length is in decimal bytes. The length makes the text
/// unambiguous for any value: two identities have the same text only if they have the same fields in the same order.
/// The digest is the SHA-256 of the text.
class IdentityBuilder {
 public:
  IdentityBuilder();

  /// Appends a field. `label` may contain lower-case letters, digits, '_', '.' and '-'; otherwise throws
  /// Error{internal}.
  IdentityBuilder& field(std::string_view label, std::string_view value);
  Identity build() const;

 private:
  std::string text_;
};

}  // namespace hotgemm
