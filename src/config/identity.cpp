#include "config/identity.hpp"

#include "base/sha256.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>

namespace hotgemm {
namespace {

// Increased when the meaning of the fields changes, so that entries written with the old meaning are not found.
constexpr std::string_view kHeading = "hotgemm-identity 1\n";

bool is_label_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

}  // namespace

std::string Identity::hex() const { return to_hex(digest); }

IdentityBuilder::IdentityBuilder() : text_(kHeading) {}

IdentityBuilder& IdentityBuilder::field(std::string_view label, std::string_view value) {
  if (label.empty() || !std::all_of(label.begin(), label.end(), is_label_character)) {
    throw Error(ErrorCode::internal,
                "identity field '" + std::string(label) + "': a label is of lower-case letters, digits, '_', '.', '-'");
  }
  text_.append(label).append(":").append(std::to_string(value.size())).append("=").append(value).append("\n");
  return *this;
}

Identity IdentityBuilder::build() const { return Identity{sha256(text_), text_}; }

}  // namespace hotgemm
