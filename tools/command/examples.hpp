#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hotgemm::command {

/// The command lines that show how "hotgemm tune", for example, is used. tests/cli/pages_test.py runs them.
std::vector<std::string> examples_of(std::string_view command);

}  // namespace hotgemm::command
