#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {

/// Texts that differ from valid ones in one to four places. The same for each run.
class Damage {
 public:
  explicit Damage(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

  std::string next() {
    std::string text = any(seeds_);
    for (std::size_t edits = 1 + random_() % 4; edits > 0; --edits) edit(text);
    return text;
  }

 private:
  template <class T>
  const T& any(const std::vector<T>& values) {
    return values[random_() % values.size()];
  }
  std::size_t place(const std::string& text) { return random_() % (text.size() + 1); }
  std::string piece(const std::string& text) { return text.substr(place(text), random_() % 24); }

  void edit(std::string& text) {
    static const std::vector<std::string> kWords = {"0",
                                                    "-1",
                                                    "9223372036854775807",
                                                    "9223372036854775808",
                                                    "18446744073709551616",
                                                    "2147483648",
                                                    "1e309",
                                                    "nan",
                                                    "=",
                                                    ",",
                                                    ":",
                                                    "+",
                                                    "_",
                                                    " ",
                                                    "\n",
                                                    "\"",
                                                    "{",
                                                    "}",
                                                    "\xff",
                                                    std::string(1, '\0')};
    const std::size_t at = place(text);
    switch (random_() % 7) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ 1 << random_() % 8);
        break;
      case 1: text.erase(at, 1 + random_() % 12); break;
      case 2: text.insert(at, any(kWords)); break;
      case 3: text.insert(at, piece(text)); break;
      case 4: text.insert(at, piece(any(seeds_))); break;
      case 5: replace_number(text, any(kWords)); break;
      default: text.resize(at); break;
    }
  }

  /// Puts `word` in place of one of the numbers.
  void replace_number(std::string& text, const std::string& word) {
    constexpr const char* kDigits = "0123456789";
    const std::size_t begin = text.find_first_of(kDigits, place(text));
    if (begin == std::string::npos) return;
    const std::size_t end = text.find_first_not_of(kDigits, begin);
    text.replace(begin, end - begin, word);
  }

  std::vector<std::string> seeds_;
  std::mt19937 random_{7};
};

}  // namespace hotgemm
