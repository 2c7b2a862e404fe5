#pragma once

namespace hotgemm {

/// The limits of an architecture, from the tables of compute capabilities in the CUDA C++ Programming Guide.
struct ArchLimits {
  int sm;                    ///< compute capability, 10 * major + minor
  char suffix;               ///< 'a' if our instructions need the architecture-specific target, else 0
  int smem_per_block_bytes;  ///< opt-in maximum of dynamic shared memory per block
  int smem_per_sm_bytes;
  int registers_per_sm;
  int threads_per_sm;
  bool has_cp_async;  ///< cp.async and mma.sync m16n8k16 for f16 and bf16
  bool has_wgmma;
  const char* nominal_gpu;  ///< the GPU that plans assume if no GPU is named
  int nominal_sm_count;
  int nominal_l2_bytes;
  int nominal_clock_mhz;
  int nominal_dram_gbps;  ///< GB/s
};

inline constexpr int kMaxThreadsPerBlock = 1024;
inline constexpr int kMaxRegistersPerThread = 255;
inline constexpr int kReservedSmemPerBlockBytes =
    1024;  // taken by the driver from each resident block, sm_80 and later

// clang-format off
inline constexpr ArchLimits kArchTable[] = {
    // sm  suffix  smem/block  smem/SM  registers  threads  cp.async  wgmma   nominal GPU                      SMs      L2      MHz   GB/s
    {75,   0,       64 << 10,  64 << 10,   65536,   1024,   false,    false,  "Tesla T4",                       40,    4 << 20, 1590,   320},
    {80,   0,      163 << 10, 164 << 10,   65536,   2048,   true,     false,  "NVIDIA A100-SXM4-80GB",         108,   40 << 20, 1410,  2039},
    {86,   0,       99 << 10, 100 << 10,   65536,   1536,   true,     false,  "NVIDIA GeForce RTX 3090",        82,    6 << 20, 1695,   936},
    {87,   0,      163 << 10, 164 << 10,   65536,   1536,   true,     false,  "Orin",                           16,    4 << 20, 1300,   204},
    {89,   0,       99 << 10, 100 << 10,   65536,   1536,   true,     false,  "NVIDIA L40S",                   142,   96 << 20, 2520,   864},
    {90,   'a',    227 << 10, 228 << 10,   65536,   2048,   true,     true,   "NVIDIA H200",                   132,   60 << 20, 1830,  4800},
    {100,  0,      227 << 10, 228 << 10,   65536,   2048,   true,     false,  "NVIDIA B200",                   148,  126 << 20, 1965,  8000},
    {103,  0,      227 << 10, 228 << 10,   65536,   2048,   true,     false,  "NVIDIA B300",                   148,  126 << 20, 1965,  8000},
    {110,  0,      227 << 10, 228 << 10,   65536,   1536,   true,     false,  "NVIDIA Thor",                    20,   32 << 20, 1575,   273},
    {120,  0,       99 << 10, 100 << 10,   65536,   1536,   true,     false,  "NVIDIA GeForce RTX 5090",       170,   96 << 20, 2407,  1792},
    {121,  0,       99 << 10, 100 << 10,   65536,   1536,   true,     false,  "NVIDIA GB10",                    48,   24 << 20, 2418,   273},
};
// clang-format on

/// The registers that a thread may have if `blocks` blocks of `threads` threads are to be resident on an SM with
/// `registers_per_sm` registers. Each of the SM's four partitions has a quarter of them, so the number of warps is
/// rounded up to a multiple of four.
constexpr int register_budget(int registers_per_sm, int threads, int blocks) {
  const int warps = (threads + 127) / 128 * 4 * blocks;
  const int registers = registers_per_sm / (warps * 32) / 8 * 8;
  return registers < kMaxRegistersPerThread ? registers : kMaxRegistersPerThread;
}

/// The row of `sm` (10 * major + minor), or nullptr if hotgemm does not know the architecture.
constexpr const ArchLimits* find_arch_limits(int sm) {
  for (const ArchLimits& row : kArchTable) {
    if (row.sm == sm) return &row;
  }
  return nullptr;
}

/// The row for a GPU that may be newer than the table. It runs code for the newest row of its major version that is not
/// above `sm`, and plans use that row.
constexpr const ArchLimits* nearest_arch_limits(int sm) {
  const ArchLimits* best = nullptr;
  for (const ArchLimits& row : kArchTable) {
    if (row.sm <= sm && row.sm / 10 == sm / 10) best = &row;
  }
  return best;
}

}  // namespace hotgemm
