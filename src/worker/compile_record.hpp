#pragma once

#include "config/kernel_source.hpp"
#include "config/template_bundle.hpp"

#include <hotgemm/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

// The messages between a process that builds many kernels and a worker that compiles for it. The first request holds
// the templates; the worker answers it with a cubin without an image as soon as the compiler is loaded. Each later
// request holds a source, and the worker answers each. A message is a CompileFrame, followed by CBOR of the length that
// the frame states.

namespace hotgemm {

struct CompileFrame {
  static constexpr std::uint64_t kMagic = 0x3247434748;  // "HGCG2"
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;

  std::uint64_t magic = kMagic;
  std::uint64_t body_bytes = 0;

  bool is_intact() const { return magic == kMagic && body_bytes <= kMaxBytes; }
};

using FrameBody = std::vector<std::uint8_t>;

/// The reason why a kernel was not compiled.
struct CompileFailure {
  ErrorCode code = ErrorCode::compile_failed;
  std::string message;
};
using CompileAnswer = std::variant<Cubin, CompileFailure>;

FrameBody encode_bundle(const TemplateBundle& bundle);
/// The source without its identity, which compiling does not need.
FrameBody encode_source(const KernelSource& source);
FrameBody encode_answer(const CompileAnswer& answer);

// The inverse functions. They throw Error{internal} for bytes that no encoder writes.
TemplateBundle decode_bundle(std::span<const std::uint8_t> body);
KernelSource decode_source(std::span<const std::uint8_t> body);
CompileAnswer decode_answer(std::span<const std::uint8_t> body);

}  // namespace hotgemm
