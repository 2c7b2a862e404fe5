#pragma once

#include <string>
#include <string_view>

namespace hotgemm {

/// `word` with small letters in place of capitals.
std::string lower_case(std::string_view word);

/// The name of an element type for a name that others give it, in any case: "f16" for "fp16", "half" and "Float16".
/// A word that nobody uses for a type is only put into small letters.
std::string type_word(std::string_view word);

}  // namespace hotgemm
