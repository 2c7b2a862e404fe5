#pragma once

#include "config/kernel_source.hpp"
#include "config/template_bundle.hpp"

#include <string>

namespace hotgemm {

/// The text of `source` with that of each template that it includes, directly or indirectly, in the place of the first
/// #include that names it: the whole code of a kernel, which compiles without the templates. Other includes stay.
std::string expanded_source(const KernelSource& source, const TemplateBundle& bundle);

}  // namespace hotgemm
