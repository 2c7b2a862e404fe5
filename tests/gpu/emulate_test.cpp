// The emulated device and the GPU agree bit by bit: on integers for every kernel that the emulated device has, and on
// random data for family simt, all of whose operations are specified.

#if defined(HOTGEMM_HAS_EMULATED_DEVICE)

#include "gpu/gpu_fixture.hpp"

#include "config/device_info.hpp"
#include "emulate/gemm_run.hpp"
#include "gpu/device_buffer.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

struct Size {
  std::int64_t m, n, k;
};
constexpr Size kSizes[] = {{1, 1, 1}, {65, 63, 33}, {130, 72, 136}, {200, 136, 300}};

/// A host matrix in device memory, at the offset that gives it its alignment.
class DeviceMatrix {
 public:
  DeviceMatrix(const Driver& driver, const emulate::HostMatrix& matrix, CUstream stream)
      : driver_(driver),
        bytes_(matrix.bytes),
        offset_(static_cast<std::size_t>(matrix.offset_bytes)),
        buffer_(driver, offset_ + std::max<std::size_t>(bytes_.size(), 1)) {
    if (bytes_.empty()) return;
    driver_.check(driver_.cuMemcpyHtoDAsync(buffer_.get() + offset_, bytes_.data(), bytes_.size(), stream),
                  "upload a matrix");
  }
  void* device() const { return reinterpret_cast<void*>(buffer_.get() + offset_); }
  std::vector<std::uint8_t> download(CUstream stream) const {
    std::vector<std::uint8_t> found(bytes_.size());
    driver_.check(driver_.cuMemcpyDtoHAsync(found.data(), buffer_.get() + offset_, found.size(), stream),
                  "download a matrix");
    driver_.check(driver_.cuStreamSynchronize(stream), "wait for a matrix");
    return found;
  }

 private:
  const Driver& driver_;
  std::vector<std::uint8_t> bytes_;
  std::size_t offset_;
  DeviceBuffer buffer_;
};

class EmulatedAndReal : public GpuTest {
 protected:
  /// Builds the kernels of a family that this GPU supports, together with their emulated counterparts.
  void build(std::string_view family) {
    std::vector<Gpu::KernelRequest> requests;
    for (const emulate::GemmKernel& kernel : emulate::gemm_kernels()) {
      if (family_of(kernel.config).name != family) continue;
      if (!is_legal(kernel.config, kernel.traits, arch_limits(gpu().arch()))) continue;
      emulated_.push_back(&kernel);
      requests.push_back({kernel.config, kernel.traits});
    }
    real_ = gpu().kernels(requests);
  }

  static emulate::GemmCase case_for(const GemmTraits& t, const Size& size, emulate::GemmData data) {
    const bool is_integer = data == emulate::GemmData::integers;
    return {.problem = workload_of(t, size.m, size.n, size.k),
            .alpha = is_integer ? 1.0f : 0.7f,
            .beta = !t.reads_c   ? 0.0f
                    : is_integer ? -1.0f
                                 : 1.3f,
            .launch = {.raster_width = 2, .raster_along_n = true},
            .data = data,
            .data_seed = static_cast<std::uint64_t>(size.m)};
  }

  std::vector<std::uint8_t> run_real(const Gpu::Kernel& kernel, const emulate::GemmCase& c,
                                     const emulate::GemmMatrices& matrices) {
    const DeviceMatrix a(driver(), matrices.a, stream()), b(driver(), matrices.b, stream()),
        addend(driver(), matrices.c, stream()), d(driver(), matrices.d, stream());
    const Operands operands{.a = a.device(),
                            .b = b.device(),
                            .c = addend.device(),
                            .d = d.device(),
                            .lda = matrices.a.ld,
                            .ldb = matrices.b.ld,
                            .ldc = matrices.c.ld,
                            .ldd = matrices.d.ld,
                            .alpha = c.alpha,
                            .beta = c.beta};
    launcher(kernel, c.launch, c.problem)(operands);
    return d.download(stream());
  }

  void expect_same_bits(emulate::GemmData data) {
    for (std::size_t i = 0; i < emulated_.size(); ++i) {
      for (const Size& size : kSizes) {
        emulate::GemmCase c = case_for(emulated_[i]->traits, size, data);
        if (real_[i]->shape.splits_k) c.launch.splits = 3;
        const emulate::GemmMatrices matrices = emulate::make_matrices(c);
        const emulate::GemmRun emulated = emulate::run_gemm(*emulated_[i], c, matrices, i);
        EXPECT_TRUE(emulated.report.findings.empty());
        // Neither may change the bytes between the rows of D.
        ASSERT_EQ(run_real(real_[i], c, matrices), emulated.d.bytes)
            << to_string(emulated_[i]->config) << " for " << emulate::to_string(c);
      }
    }
  }

  std::vector<const emulate::GemmKernel*> emulated_;
  std::vector<Gpu::Kernel> real_;
};

/// Compares the kernels of each family. For wmma this also proves that fragments may begin at multiples of 16 bytes
/// (docs/kernels/wmma.md).
class EmulatedAndRealFamily : public EmulatedAndReal, public testing::WithParamInterface<std::string> {};

TEST_P(EmulatedAndRealFamily, AgreesOnIntegers) {
  build(GetParam());
  if (emulated_.empty()) GTEST_SKIP() << "this GPU has no kernels of family " << GetParam();
  expect_same_bits(emulate::GemmData::integers);
}

std::vector<std::string> all_family_names() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.emplace_back(family.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(, EmulatedAndRealFamily, testing::ValuesIn(all_family_names()),
                         [](const auto& info) { return info.param; });

TEST_F(EmulatedAndReal, SimtAgreesOnRandomData) {
  build("simt");
  ASSERT_GE(emulated_.size(), 30u);
  expect_same_bits(emulate::GemmData::normal);
}

TEST_F(EmulatedAndReal, FmaAgreesOnRandomData) {
  build("fma");
  ASSERT_GE(emulated_.size(), 30u);
  expect_same_bits(emulate::GemmData::normal);
}

}  // namespace
}  // namespace hotgemm

#endif  // HOTGEMM_HAS_EMULATED_DEVICE
