#pragma once

#include "emulate/instruction.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm::emulate {

/// The kinds of errors in a kernel.
enum class Hazard {
  out_of_bounds,  ///< an access outside of all matrices, or outside of the block's shared memory
  misaligned,     ///< an address that is not a multiple of the access size
  uninitialised,  ///< a read of memory that was never written
  in_flight,      ///< an access to memory that an asynchronous copy is still writing
  conflict,       ///< two unordered accesses, at least one of them a write
  stuck,          ///< some threads never reach a barrier or an instruction of the whole warp
  bad_operand,    ///< an operand for which the PTX ISA leaves the result undefined
  trapped,        ///< the kernel executed a trap
};

/// The text for a hazard, such as "out of bounds".
std::string_view to_string(Hazard hazard);

/// A hazard, at the place where it first occurred.
struct Finding {
  Hazard hazard{};
  Instruction instruction{};              ///< the instruction that executed when the hazard was noticed
  std::uint32_t block = 0;                ///< of the thread that executed it
  int thread = 0;                         ///< %tid.x
  std::string place;                      ///< "shared", "A"; empty if it is not about memory
  std::uint64_t address = 0;              ///< as the kernel computed it
  int bytes = 0;                          ///< of the access; 0 if it is not about memory
  Instruction other = Instruction::none;  ///< the earlier access, for conflict and in_flight
  std::string detail;                     ///< the rest of the sentence
  std::uint64_t seed = 0;                 ///< repeats the run
  std::uint64_t count = 1;                ///< number of occurrences
};

/// "conflict: st.shared.f32 of thread 3 of block 0 at shared 0x440, 4 bytes: … (seed 1, 12 times)".
std::string to_string(const Finding& finding);

/// The findings of a launch. Findings with the same hazard, place and pair of instructions become one finding with a
/// count.
class FindingLog {
 public:
  void add(Finding finding);
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  std::vector<Finding> findings_;
};

}  // namespace hotgemm::emulate
