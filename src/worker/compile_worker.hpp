#pragma once

namespace hotgemm {

/// Compiles for the CompilePool of the process that started this one, with NVRTC, until that process is gone; then this
/// one ends. Throws Error{invalid_argument} where the program was started by hand.
[[noreturn]] void run_compile_worker();

}  // namespace hotgemm
