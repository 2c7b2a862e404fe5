#include "worker/compile_worker.hpp"

#include "gpu/nvrtc.hpp"
#include "worker/compile_record.hpp"
#include "worker/parent_link.hpp"

#include <span>

namespace hotgemm {
namespace {

FrameBody read_frame(ParentLink& parent) {
  CompileFrame frame;
  parent.read_all(std::as_writable_bytes(std::span(&frame, 1)));
  if (!frame.is_intact()) throw Error(ErrorCode::internal, "a compiling worker received an invalid request");
  FrameBody body(frame.body_bytes);
  parent.read_all(std::as_writable_bytes(std::span(body)));
  return body;
}

void write_frame(ParentLink& parent, const FrameBody& body) {
  const CompileFrame frame{.body_bytes = body.size()};
  parent.write_all(std::as_bytes(std::span(&frame, 1)));
  parent.write_all(std::as_bytes(std::span(body)));
}

/// Returns the result of `work`, or its failure.
template <class Work>
CompileAnswer attempt(Work&& work) {
  try {
    return work();
  } catch (const Error& error) {
    return CompileFailure{error.code(), error.what()};
  }
}

}  // namespace

void run_compile_worker() {
  ParentLink parent;
  const TemplateBundle bundle = decode_bundle(read_frame(parent));
  // Load the compiler before the first kernel, so that a kernel's deadline covers only the kernel.
  const CompileAnswer ready = attempt([] { return Cubin{.toolchain = Nvrtc::get().toolchain()}; });
  write_frame(parent, encode_answer(ready));
  for (;;) {
    const KernelSource source = decode_source(read_frame(parent));
    write_frame(parent, encode_answer(attempt([&] { return Nvrtc::get().compile(source, bundle); })));
  }
}

}  // namespace hotgemm
