#pragma once

#include "emulate/instruction.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm::emulate {

/// What a kernel did that no kernel may do.
enum class Hazard {
  out_of_bounds,  ///< an access outside of every matrix, or of the block's shared memory
  misaligned,     ///< an address that is no multiple of the access
  uninitialised,  ///< a read of memory that nobody has written
  in_flight,      ///< an access to what an asynchronous copy is still writing
  conflict,       ///< two accesses, one of them a write, with nothing that orders them
  stuck,          ///< a barrier, or an instruction of a warp, that some of its threads never reach
  bad_operand,    ///< an operand for which the PTX ISA leaves the result undefined
  trapped,        ///< the kernel gave up
};

/// "out of bounds", …
std::string_view to_string(Hazard hazard);

/// One hazard, where it was first met.
struct Finding {
  Hazard hazard{};
  Instruction instruction{};              ///< the one that was executed when it was noticed
  std::uint32_t block = 0;                ///< of the thread that executed it
  int thread = 0;                         ///< %tid.x
  std::string place;                      ///< "shared", "A"; empty where no memory is concerned
  std::uint64_t address = 0;              ///< as the kernel computed it
  int bytes = 0;                          ///< of the access; 0 where no memory is concerned
  Instruction other = Instruction::none;  ///< the earlier access, of a conflict or a copy in flight
  std::string detail;                     ///< the rest of the sentence
  std::uint64_t seed = 0;                 ///< that repeats the run
  std::uint64_t count = 1;                ///< how often the same was met
};

/// "conflict: st.shared.f32 of thread 3 of block 0 at shared 0x440, 4 bytes: … (seed 1, 12 times)".
std::string to_string(const Finding& finding);

/// The findings of a launch: those of one hazard, place and pair of instructions are one finding with a count.
class FindingLog {
 public:
  void add(Finding finding);
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  std::vector<Finding> findings_;
};

}  // namespace hotgemm::emulate
