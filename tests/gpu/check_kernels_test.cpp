// The digest of the operands' memory, computed on the device.

#include "gpu/gpu_fixture.hpp"

#include "gpu/check_kernels.hpp"
#include "gpu/operand_pool.hpp"

#include <chrono>
#include <cstdio>

namespace hotgemm {
namespace {

class DigestOnGpu : public GpuTest {
 protected:
  std::uint64_t digest(const Workload& problem, const OperandPool& pool) {
    return gpu().state().check_kernels().digest(problem, pool, pool.sets().front(), stream());
  }
  void write(CUdeviceptr at, std::uint8_t byte) {
    driver().check(driver().cuMemsetD8Async(at, byte, 1, stream()), "write a byte");
  }
};

/// The digest as defined in templates/shared, for memory that was copied to the host.
std::uint64_t digest_of(const Bytes& image, const DigestArgs& args) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < image.size(); at += kDigestChunkBytes) {
    unsigned words[4];
    std::memcpy(words, image.data() + at, sizeof words);
    sum += digest_chunk(args, args.begin + at, words[0], words[1], words[2], words[3]);
  }
  return sum;
}

TEST_F(DigestOnGpu, EqualsTheHosts) {
  for (const DType dtype : {DType::f16, DType::f32}) {
    const Workload problem({.m = 777, .n = 333, .k = 95, .op_b = Op::t, .types = uniform_types(dtype)},
                           {.align_a = 16, .align_b = 16, .align_d = 16, .beta_is_zero = false});
    const OperandPool pool(driver(), problem, 1, 64 << 20);
    const OperandSet& set = pool.sets().front();
    gpu().state().check_kernels().fill_check(problem, set, 3, stream());
    const std::uint64_t found = digest(problem, pool);
    Bytes image(pool.bytes());
    driver().check(driver().cuMemcpyDtoHAsync(image.data(), pool.begin(), image.size(), stream()), "download the pool");
    driver().check(driver().cuStreamSynchronize(stream()), "download the pool");
    const auto element_bytes = static_cast<unsigned long long>(size_bytes(dtype));
    EXPECT_EQ(found, digest_of(image, {.begin = pool.begin(),
                                       .bytes = pool.bytes(),
                                       .matrix = set.d,
                                       .pitch_bytes = static_cast<unsigned long long>(set.ldd) * element_bytes,
                                       .row_bytes = 333 * element_bytes,
                                       .rows = 777}));
  }
}

TEST_F(DigestOnGpu, ShowsAByteBesideDAndNoneInIt) {
  const Workload problem({.m = 100, .n = 99, .k = 64},
                         {.align_a = 16, .align_b = 16, .align_d = 16});  // rows of 99 elements and 5 of padding
  const OperandPool pool(driver(), problem, 1, 64 << 20);
  const OperandSet& set = pool.sets().front();
  gpu().state().check_kernels().fill_check(problem, set, 3, stream());
  const std::uint64_t before = digest(problem, pool);
  write(set.d, 1);
  write(set.d + 2 * 98 + 1, 1);
  EXPECT_EQ(digest(problem, pool), before);
  write(set.d + 2 * 99, 1);
  EXPECT_NE(digest(problem, pool), before);
  write(set.d + 2 * 99, 0xff);  // the value that fill_check wrote
  EXPECT_EQ(digest(problem, pool), before);
  write(pool.begin() + pool.bytes() - 1, 1);
  EXPECT_NE(digest(problem, pool), before);
}

/// The digest runs before and after every candidate, so it must be fast.
TEST_F(DigestOnGpu, ReadsATerabytePerSecond) {
  for (const Workload& problem :
       {Workload({.m = 16384, .n = 64, .k = 16384}), Workload({.m = 16384, .n = 16384, .k = 64})}) {
    const OperandPool pool(driver(), problem, 0, std::int64_t{4} << 30);
    digest(problem, pool);
    double best_s = 1;
    for (int i = 0; i < 5; ++i) {
      const auto start = std::chrono::steady_clock::now();
      digest(problem, pool);
      best_s = std::min(best_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    const double gbps = static_cast<double>(pool.bytes()) / best_s * 1e-9;
    std::printf("digest of %zu MiB: %.0f GB/s, launch and answer included\n", pool.bytes() >> 20, gbps);
    EXPECT_GT(gbps, small_run() ? 0 : 1000);
  }
}

}  // namespace
}  // namespace hotgemm
