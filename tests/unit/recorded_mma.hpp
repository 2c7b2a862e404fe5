#pragma once
#pragma GCC system_header  // templates get warnings where a GPU compiler compiles them; GCC lacks #pragma unroll

// templates/mma.cuh with recorders in place of the instructions of its main loop that access memory, so that its
// address arithmetic can be tested unchanged. Only one source file of a program may include it: its classes differ from
// those of other includers of mma.cuh.

#include "ptx/barrier.hpp"
#include "ptx/convert.hpp"
#include "ptx/index.hpp"
#include "ptx/memory.hpp"
#include "ptx/mma.hpp"

#include <vector>

namespace hotgemm {

struct CopyRecord {
  u32 shared;
  u64 global;
  int valid_bytes;
};
struct LdmatrixRecord {
  u32 shared;
  bool transposed;
};

struct Recorder {
  std::vector<CopyRecord> copies;
  LdmatrixRecord ldmatrix{};  ///< the last ldmatrix
  u64 loaded = 0;             ///< address of the last load
};
inline Recorder& recorder() {
  static Recorder instance;
  return instance;
}

namespace ptx {
template <int kBytes>
void recorded_cp_async(u32 shared, u64 global, int valid_bytes) {
  recorder().copies.push_back({shared, global, valid_bytes});
}
inline u16 recorded_ld_global_b16(u64 address) {
  recorder().loaded = address;
  return 1;
}
/// Records a store as a copy from the last loaded address: two valid bytes for a loaded element (1), none for a zero.
inline void recorded_st_shared_b16(u32 shared, u16 value) {
  recorder().copies.push_back({shared, recorder().loaded, value * 2});
}
inline void recorded_ldmatrix_x2(u32 (&)[2], u32 shared) { recorder().ldmatrix = {shared, false}; }
inline void recorded_ldmatrix_x2_trans(u32 (&)[2], u32 shared) { recorder().ldmatrix = {shared, true}; }
inline void recorded_ldmatrix_x4(u32 (&)[4], u32 shared) { recorder().ldmatrix = {shared, false}; }
inline void recorded_ldmatrix_x4_trans(u32 (&)[4], u32 shared) { recorder().ldmatrix = {shared, true}; }
}  // namespace ptx
}  // namespace hotgemm

#define cp_async recorded_cp_async
#define ld_global_b16 recorded_ld_global_b16
#define st_shared_b16 recorded_st_shared_b16
#define ldmatrix_x2 recorded_ldmatrix_x2
#define ldmatrix_x2_trans recorded_ldmatrix_x2_trans
#define ldmatrix_x4 recorded_ldmatrix_x4
#define ldmatrix_x4_trans recorded_ldmatrix_x4_trans
#include "mma.cuh"
#undef cp_async
#undef ld_global_b16
#undef st_shared_b16
#undef ldmatrix_x2
#undef ldmatrix_x2_trans
#undef ldmatrix_x4
#undef ldmatrix_x4_trans
