#pragma once

#include "config/template_bundle.hpp"

#include <string>
#include <string_view>

namespace hotgemm {

/// `text` with the text of each template that it includes, directly or indirectly, in the place of the first #include
/// that names it: the whole code of a kernel, which compiles without the templates. Other includes stay.
std::string expanded_source(std::string_view text, const TemplateBundle& bundle);

}  // namespace hotgemm
