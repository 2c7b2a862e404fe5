#pragma once

#include "c/status.hpp"

#include <hotgemm/hotgemm.h>
#include <hotgemm/context.hpp>

#include <memory>

// The types behind the handles of the interface.

struct hotgemm_context {
  hotgemm::Context* context;
  std::unique_ptr<hotgemm::Context> owned;  ///< empty for the default context
};

struct hotgemm_plan {
  hotgemm::Plan plan;
};

namespace hotgemm::c {

inline Context& context_of(hotgemm_context* handle) { return *required(handle, "context").context; }

}  // namespace hotgemm::c
