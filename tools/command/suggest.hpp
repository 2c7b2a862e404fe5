#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hotgemm::command {

/// The one of `words` that `word` was probably meant to be: the only one that begins with it; else the nearest, if at
/// most a third of the letters are wrong, missing, added or exchanged with a neighbour (one always may be). Empty if
/// there is none, or if several are as near.
std::string closest(std::string_view word, std::span<const std::string> words);

/// "; did you mean X?", or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> words);

}  // namespace hotgemm::command
