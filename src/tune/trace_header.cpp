#include "tune/trace_header.hpp"

#include "gpu/nvrtc.hpp"

#include <utility>

namespace hotgemm {

TraceHeader trace_header(std::string version, Environment environment, const Engine& engine) {
  if (environment.toolchain.empty() && Nvrtc::loaded() != nullptr) environment.toolchain = Nvrtc::loaded()->toolchain();
  TraceHeader header{std::move(version), std::move(environment), {}};
  for (const Family& family : families()) {
    header.templates[std::string(family.header)] = engine.bundle.digest(family.header);
  }
  return header;
}

}  // namespace hotgemm
