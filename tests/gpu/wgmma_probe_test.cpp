// Tests that the copy engine and wgmma behave as templates/shared/wgmma_descriptor.hpp says. A wrong descriptor causes
// no fault but plausible numbers. So operands hold their own row, column or k, and results are compared exactly.

#include "gpu/gpu_fixture.hpp"

#include "config/wgmma_instruction.hpp"
#include "gpu/nvrtc.hpp"
#include "gpu/tensor_map.hpp"
#include "shared/wgmma_descriptor.hpp"
#include "standin/element.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace hotgemm {
namespace {

constexpr std::string_view kCommon = R"(
#include "ptx/barrier.hpp"
#include "ptx/bulk_copy.hpp"
#include "ptx/index.hpp"
#include "ptx/mbarrier.hpp"
#include "ptx/memory.hpp"
#include "ptx/trap.hpp"
#include "ptx/wgmma.hpp"
#include "shared/fragment.hpp"
#include "shared/wgmma_descriptor.hpp"
using namespace hotgemm;
HOTGEMM_DEVICE void await(u32 barrier) {
  for (int tries = 0; tries < 1 << 20; ++tries) {
    if (ptx::mbarrier_try_wait_parity(barrier, 0)) return;
  }
  ptx::trap();
}
)";

/// Copies one box to shared memory, and from there unchanged to `out`.
constexpr std::string_view kCopy = R"(
extern "C" __global__ void hotgemm_probe(const __grid_constant__ TensorMap map, u64 out, int x, int y, int bytes) {
  const u32 shared = ptx::dynamic_shared_base(), barrier = shared + 65536;
  if (ptx::thread_index() == 0) {
    ptx::mbarrier_init(barrier, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(barrier, bytes);
    ptx::cp_async_bulk_tensor_2d_load(shared, map, x, y, barrier);
  }
  ptx::bar_sync();
  await(barrier);
  for (int at = ptx::thread_index() * 16; at < bytes; at += 128 * 16) {
    ptx::st_global_v4_b32(out + at, ptx::ld_shared_v4_b32(shared + at));
  }
})";

/// Copies `in` unchanged to shared memory and stores it as one box.
constexpr std::string_view kStore = R"(
extern "C" __global__ void hotgemm_probe(const __grid_constant__ TensorMap map, u64 in, int x, int y, int bytes) {
  const u32 shared = ptx::dynamic_shared_base();
  for (int at = ptx::thread_index() * 4; at < bytes; at += 128 * 4) {
    ptx::st_shared_b32(shared + at, ptx::ld_global_b32(in + at));
  }
  ptx::fence_proxy_async();
  ptx::bar_sync();
  if (ptx::thread_index() == 0) {
    ptx::cp_async_bulk_tensor_2d_store(map, x, y, shared);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group<0>();
  }
})";

/// D = A * B for one tile with m = 64.
constexpr std::string_view kMultiply = R"(
HOTGEMM_DEVICE void copy(const WgmmaTile& tile, u32 shared, const TensorMap& map, u32 barrier) {
  for (int slab = 0; slab < tile.slabs(); ++slab) {
    const int x = slab * tile.slab_elements();
    ptx::cp_async_bulk_tensor_2d_load(shared + slab * tile.slab_bytes(), map, x, 0, barrier);
  }
}
extern "C" __global__ void hotgemm_probe(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
                                         u64 d) {
  const u32 shared = ptx::dynamic_shared_base(), shared_b = shared + kA.bytes(), barrier = shared_b + kB.bytes();
  const int thread = ptx::thread_index();
  if (thread == 0) {
    ptx::mbarrier_init(barrier, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(barrier, kA.bytes() + kB.bytes());
    copy(kA, shared, map_a, barrier);
    copy(kB, shared_b, map_b, barrier);
  }
  ptx::bar_sync();
  await(barrier);
  Register accumulators[kRegisters];
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < kA.k_steps(); ++step) {
    Instruction::mma_async(accumulators, kA.descriptor(shared) + descriptor_step(kA.offset_bytes(0, step)),
                           kB.descriptor(shared_b) + descriptor_step(kB.offset_bytes(0, step)), step > 0);
  }
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
#pragma unroll
  for (auto& r : accumulators) ptx::pin(r);
  const Element2d first = accumulator_element(thread % 32, 0);
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) {
    const int i = kIsWord ? r : r * 2;
    const int row = thread / 32 * 16 + first.row + i / 2 % 2 * 8, col = i / 4 * 8 + first.col + i % 2;
    ptx::st_global_b32(d + (row * kB.outer + col) * (kIsWord ? 4 : 2), *(u32*)&accumulators[r]);
  }
})";

using Bits = std::vector<std::uint16_t>;

class WgmmaProbe : public GpuTest {
 protected:
  static constexpr int kSmemBytes = 100 << 10;

  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && gpu().arch() != "sm_90a") GTEST_SKIP() << "needs sm_90a, not " << gpu().arch();
  }
  void expect_stores(int cols, int written);
  static LoadedKernel build(const std::string& text) {
    const TemplateBundle bundle = TemplateBundle::from_environment();
    KernelSource source = render_check("sm_90a", bundle);  // for its options
    source.symbol = "hotgemm_probe";
    source.text = std::string(kCommon) + text;
    return {driver(), Nvrtc::get().compile(source, bundle), kSmemBytes};
  }
  void launch(const LoadedKernel& kernel, std::vector<void*> parameters) const {
    driver().check(driver().cuLaunchKernel(kernel.function(), 1, 1, 1, 128, 1, 1, kSmemBytes, stream(),
                                           parameters.data(), nullptr),
                   "launch a probe");
    driver().check(driver().cuStreamSynchronize(stream()), "run a probe");
  }
  /// Copies in the stream of the launches: a synchronous copy of a little pageable memory returns before the data has
  /// arrived.
  DeviceBuffer upload(const Bits& bits) const {
    DeviceBuffer buffer(driver(), bits.size() * 2);
    driver().check(driver().cuMemcpyHtoDAsync(buffer.get(), bits.data(), bits.size() * 2, stream()), "upload");
    return buffer;
  }
  static Bits download(const DeviceBuffer& buffer) {
    Bits bits(buffer.bytes() / 2);
    driver().check(driver().cuMemcpyDtoH(bits.data(), buffer.get(), buffer.bytes()), "download");
    return bits;
  }
};

TensorMapSpec matrix_spec(const DeviceBuffer& buffer, int rows, int cols, int ld, int box_x, int box_y,
                          TensorSwizzle swizzle, DType element = DType::f16) {
  const auto bytes = static_cast<std::uint64_t>(size_bytes(element));
  TensorMapSpec spec{.base = buffer.get(), .element = element, .swizzle = swizzle};
  spec.sizes = {static_cast<std::uint64_t>(cols), static_cast<std::uint64_t>(rows)};
  spec.strides = {bytes, static_cast<std::uint64_t>(ld) * bytes};
  spec.box = {static_cast<std::uint32_t>(box_x), static_cast<std::uint32_t>(box_y)};
  return spec;
}

constexpr std::pair<TensorSwizzle, int> kSwizzles[] = {{TensorSwizzle::none, 16},
                                                       {TensorSwizzle::bytes_32, 32},
                                                       {TensorSwizzle::bytes_64, 64},
                                                       {TensorSwizzle::bytes_128, 128}};

// Boxes inside a matrix of 150 × 100 in rows of 104, across each of its edges, and completely outside of it.
constexpr int kRows = 150, kCols = 100, kLd = 104, kBoxRows = 64;
constexpr std::pair<int, int> kPlaces[] = {{8, 16}, {80, 120}, {96, 0}, {0, 149}, {-8, -3}, {0, 200}, {128, 0}};

/// Calls use(row, col, index in the box in shared memory).
void for_each_of_box(int x, int y, int cols, int swizzle_bytes, const std::function<void(int, int, std::size_t)>& use) {
  for (int row = 0; row < kBoxRows; ++row) {
    for (int col = 0; col < cols; ++col) {
      const int offset = swizzled_offset((row * cols + col) * 2, swizzle_bytes);
      use(y + row, x + col, static_cast<std::size_t>(offset / 2));
    }
  }
}

TEST_F(WgmmaProbe, CopiesBoxesAndFillsWithZeros) {
  const LoadedKernel kernel = build(std::string(kCopy));
  Bits matrix(kRows * kLd);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<std::uint16_t>(i + 1);  // padding too
  const DeviceBuffer source = upload(matrix);
  for (const auto& [swizzle, swizzle_bytes] : kSwizzles) {
    const int box_cols = swizzle == TensorSwizzle::none ? 32 : swizzle_bytes / 2;
    for (auto [x, y] : kPlaces) {
      TensorMap map = encode_tensor_map(driver(), matrix_spec(source, kRows, kCols, kLd, box_cols, kBoxRows, swizzle));
      int bytes = box_cols * kBoxRows * 2;
      const DeviceBuffer out = upload(Bits(static_cast<std::size_t>(bytes / 2), 0xdead));
      CUdeviceptr address = out.get();
      launch(kernel, {&map, &address, &x, &y, &bytes});
      const Bits found = download(out);
      int wrong = 0;
      for_each_of_box(x, y, box_cols, swizzle_bytes, [&](int row, int col, std::size_t at) {
        const bool inside = row >= 0 && row < kRows && col >= 0 && col < kCols;
        const int right = inside ? (row * kLd + col + 1) & 0xffff : 0;
        if (found[at] != right && wrong++ == 0) {
          ADD_FAILURE() << "swizzle " << swizzle_bytes << ", box at " << x << ", " << y << ": element (" << row << ", "
                        << col << ") is " << found[at] << " and should be " << right;
        }
      });
      EXPECT_EQ(wrong, 0);
    }
  }
}

/// Stores boxes into a matrix of `cols` columns and expects that the copy engine writes `written` columns.
void WgmmaProbe::expect_stores(int cols, int written) {
  const LoadedKernel kernel = build(std::string(kStore));
  for (const auto& [swizzle, swizzle_bytes] : kSwizzles) {
    const int box_cols = swizzle == TensorSwizzle::none ? 32 : swizzle_bytes / 2;
    for (auto [x, y] : kPlaces) {
      if (x < 0 || y < 0) continue;  // a store may not begin before its tensor: the instruction is then illegal
      const DeviceBuffer target = upload(Bits(kRows * kLd, 0xdead));
      TensorMap map = encode_tensor_map(driver(), matrix_spec(target, kRows, cols, kLd, box_cols, kBoxRows, swizzle));
      int bytes = box_cols * kBoxRows * 2;
      Bits box(static_cast<std::size_t>(bytes / 2)), right(kRows * kLd, 0xdead);
      for_each_of_box(x, y, box_cols, swizzle_bytes, [&](int row, int col, std::size_t at) {
        box[at] = static_cast<std::uint16_t>(at + 1);
        if (row < kRows && col < written) right[static_cast<std::size_t>(row * kLd + col)] = box[at];
      });
      const DeviceBuffer in = upload(box);
      CUdeviceptr address = in.get();
      launch(kernel, {&map, &address, &x, &y, &bytes});
      const Bits found = download(target);
      const auto [at, _] = std::mismatch(found.begin(), found.end(), right.begin());
      const auto place = at - found.begin();
      EXPECT_EQ(at, found.end()) << "swizzle " << swizzle_bytes << ", box at " << x << ", " << y << ": element ("
                                 << place / kLd << ", " << place % kLd << ")";
    }
  }
}

TEST_F(WgmmaProbe, StoresBoxesAndNothingBeyondTheEdge) { expect_stores(96, 96); }

/// This is why kernels do not store by box if rows of D end within 16 bytes.
TEST_F(WgmmaProbe, StoresWholeChunksThoughARowEndsWithin) { expect_stores(100, 104); }

// ---- products ----

using Value = std::function<int(int, int)>;  // of an operand at (m or n, k)
struct Data {
  const char* name;
  Value a, b;
};

/// One operand selects an element of the other, which holds its own row, column or k.
std::vector<Data> data_sets(int k, DType element) {
  const auto one_hot = [k](int outer, int l) { return outer % k == l ? 1 : 0; };
  std::vector<Data> sets;
  // The numbers of rows and of k are whole numbers of f16. Those that every type of 8 bits holds are below 8: their
  // digits.
  for (const int digit : {1, 8, 64}) {
    const auto digit_of = [digit, element](int number) {
      return size_bytes(element) == 1 ? number / digit % 8 : number;
    };
    const auto row = [digit_of](int outer, int) { return digit_of(outer); };
    const auto depth = [digit_of](int, int l) { return digit_of(l); };
    sets.push_back({"k of B", one_hot, depth});
    sets.push_back({"column of B", one_hot, row});
    sets.push_back({"k of A", depth, one_hot});
    sets.push_back({"row of A", row, one_hot});
    if (size_bytes(element) != 1) break;
  }
  sets.push_back({"all", [](int i, int l) { return static_cast<int>(hash_at(1, i, l) % 3) - 1; },
                  [](int j, int l) { return static_cast<int>(hash_at(2, j, l) % 3) - 1; }});
  return sets;
}

struct ProductCase {
  int n, block_k, swizzle_bytes;
  bool a_k_major, b_k_major;
  DType element, accumulator;
  DType element_b = element;
};

std::string literal(const WgmmaTile& t) {
  return "{" + std::to_string(t.outer) + ", " + std::to_string(t.block_k) + ", " + (t.k_major ? "true" : "false") +
         ", " + std::to_string(t.swizzle_bytes) + ", " + std::to_string(t.element_bytes) + "}";
}

Bits stored(const WgmmaTile& tile, const Value& value, DType element) {
  Bits bits(static_cast<std::size_t>(tile.outer * tile.block_k * tile.element_bytes / 2));
  const auto first = reinterpret_cast<std::uint64_t>(bits.data());
  for (int outer = 0; outer < tile.outer; ++outer) {
    for (int k = 0; k < tile.block_k; ++k) {
      const int at = tile.k_major ? outer * tile.block_k + k : k * tile.outer + outer;
      standin::store_element(first + static_cast<std::uint64_t>(at * tile.element_bytes), element,
                             static_cast<float>(value(outer, k)));
    }
  }
  return bits;
}

class WgmmaProduct : public WgmmaProbe {
 protected:
  void expect_exact(const ProductCase& c) {
    const WgmmaTile a{kWgmmaM, c.block_k, c.a_k_major, c.swizzle_bytes, size_bytes(c.element)};
    const WgmmaTile b{c.n, c.block_k, c.b_k_major, c.swizzle_bytes, size_bytes(c.element)};
    const bool is_word = c.accumulator != DType::f16;
    std::string text = wgmma_text({.n = c.n,
                                   .element = c.element,
                                   .accumulator = c.accumulator,
                                   .element_b = c.element_b,
                                   .a_is_k_major = c.a_k_major,
                                   .b_is_k_major = c.b_k_major},
                                  "Instruction");
    text += "constexpr WgmmaTile kA" + literal(a) + ", kB" + literal(b) +
            ";\nconstexpr bool kIsWord = " + (is_word ? "true" : "false") +
            ";\nusing Register = " + (c.accumulator == DType::f32 ? "float" : "u32") +
            ";\nconstexpr int kRegisters = " + std::to_string(is_word ? c.n / 2 : c.n / 4) + ";\n";
    const LoadedKernel kernel = build(text + std::string(kMultiply));
    for (const Data& data : data_sets(c.block_k, c.element)) {
      SCOPED_TRACE(std::string(data.name) + (c.a_k_major ? " n" : " t") + (c.b_k_major ? "t" : "n") + " n " +
                   std::to_string(c.n) + " k " + std::to_string(c.block_k) + " swizzle " +
                   std::to_string(c.swizzle_bytes));
      expect_exact(kernel, c, a, b, data);
    }
  }

 private:
  static TensorMap slab_map(const DeviceBuffer& buffer, const WgmmaTile& t) {
    const TensorSwizzle swizzle = t.swizzle_bytes == 128  ? TensorSwizzle::bytes_128
                                  : t.swizzle_bytes == 64 ? TensorSwizzle::bytes_64
                                                          : TensorSwizzle::bytes_32;
    const int cols = t.k_major ? t.block_k : t.outer;
    const DType element = t.element_bytes == 1 ? DType::s8 : DType::f16;  // maps know sizes only
    return encode_tensor_map(driver(),
                             matrix_spec(buffer, t.rows(), cols, cols, t.slab_elements(), t.rows(), swizzle, element));
  }

  void expect_exact(const LoadedKernel& kernel, const ProductCase& c, const WgmmaTile& a, const WgmmaTile& b,
                    const Data& data) {
    const DeviceBuffer device_a = upload(stored(a, data.a, c.element)),
                       device_b = upload(stored(b, data.b, c.element_b));
    const DType type = c.accumulator;
    const auto elements = static_cast<std::size_t>(kWgmmaM * c.n);
    const DeviceBuffer d = upload(Bits(elements * (size_bytes(type) / 2), 0xdead));
    TensorMap map_a = slab_map(device_a, a), map_b = slab_map(device_b, b);
    CUdeviceptr address = d.get();
    launch(kernel, {&map_a, &map_b, &address});
    const Bits found = download(d);
    int wrong = 0;
    for (int i = 0; i < kWgmmaM; ++i) {
      for (int j = 0; j < c.n; ++j) {
        int right = 0;
        for (int k = 0; k < c.block_k; ++k) right += data.a(i, k) * data.b(j, k);
        const auto at = reinterpret_cast<std::uint64_t>(found.data()) +
                        static_cast<std::uint64_t>((i * c.n + j) * size_bytes(type));
        const float value = standin::load_element(at, type);
        if (value != static_cast<float>(right) && wrong++ == 0) {
          ADD_FAILURE() << "(" << i << ", " << j << ") is " << value << " and should be " << right;
        }
      }
    }
    EXPECT_EQ(wrong, 0);
  }
};

TEST_F(WgmmaProduct, IsExactInEveryLayoutAndSwizzle) {
  for (const int swizzle_bytes : {128, 64, 32}) {
    for (const bool a_k_major : {true, false}) {
      for (const bool b_k_major : {true, false}) {
        expect_exact({128, 64, swizzle_bytes, a_k_major, b_k_major, DType::f16, DType::f32});
      }
    }
  }
}

TEST_F(WgmmaProduct, IsExactAtEveryKindOfWidth) {
  for (const int n : {8, 16, 64, 104, 192, 208, 256}) {
    expect_exact({n, 64, 128, true, true, DType::f16, DType::f32});
    if (n % 64 == 0) expect_exact({n, 64, 128, true, false, DType::f16, DType::f32});
  }
}

TEST_F(WgmmaProduct, IsExactInEveryType) {
  for (const bool k_major : {true, false}) {
    expect_exact({64, 128, 128, k_major, k_major, DType::f16, DType::f16});
    expect_exact({64, 128, 128, k_major, k_major, DType::bf16, DType::f32});
  }
}

TEST_F(WgmmaProduct, IsExactInEveryPairOfEightBitTypes) {
  for (const DType a : {DType::e4m3, DType::e5m2}) {
    for (const DType b : {DType::e4m3, DType::e5m2}) {
      for (const int n : {8, 104, 256}) expect_exact({n, 128, 128, true, true, a, DType::f32, b});
    }
  }
  for (const int n : {8, 16, 24, 32, 144, 256}) expect_exact({n, 128, 128, true, true, DType::s8, DType::s32});
  for (const int swizzle_bytes : {64, 32}) {
    expect_exact({64, 256, swizzle_bytes, true, true, DType::e4m3, DType::f32});
    expect_exact({64, 256, swizzle_bytes, true, true, DType::s8, DType::s32});
  }
}

}  // namespace
}  // namespace hotgemm
