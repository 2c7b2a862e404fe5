#pragma once

namespace hotgemm {

/// Compiles with NVRTC for the CompilePool of the parent process, and ends this process when the parent is gone. Throws
/// Error{invalid_argument} if the program was started by hand.
[[noreturn]] void run_compile_worker();

}  // namespace hotgemm
