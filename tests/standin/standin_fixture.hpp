#pragma once

#include "standin/element.hpp"
#include "standin/fake_cubin.hpp"
#include "standin/standin.hpp"

#include "gpu/driver.hpp"
#include "shared/check_data.hpp"
#include "shared/gemm_args.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hotgemm::standin {

inline const std::string kSmall = "hotgemm_simt_m32_n32_k8_tm2_tn2_f16_f32_nn_a1b1d1_c0";  // 256 threads, 2112 bytes
inline const std::string kTransposed = "hotgemm_simt_m32_n32_k8_tm2_tn2_f32_f32_tt_a1b1d1_c1";
inline const std::string kLarge =
    "hotgemm_mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1_f16_f32_nt_a8b8d8_c0";  // 49152 bytes
inline const std::string kFourStages =
    "hotgemm_mma_m128_n128_k32_wm2_wn2_s4_x1_f2_e1_b1_bf16_f32_nt_a8b8d8_c0";  // 65536 bytes
inline constexpr unsigned kSmallSmem = 2112;

inline const Standin& standin() {
  static const Standin instance(HOTGEMM_STANDIN_LIBRARY);
  return instance;
}

/// A context with a module of all kernels that the tests use, and a stream. At the end there must be no violation.
class StandinTest : public testing::Test {
 protected:
  void SetUp() override {
    standin().reset();
    ASSERT_EQ(driver_.cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver_.cuCtxSetCurrent(context_), CUDA_SUCCESS);
    const auto image = fake_cubin(
        {kSmall, kTransposed, kLarge, kFourStages, "hotgemm_fill", "hotgemm_check", "hotgemm_digest", "other"});
    ASSERT_EQ(driver_.cuModuleLoadData(&module_, image.data()), CUDA_SUCCESS);
    ASSERT_EQ(driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_THAT(standin().violations(), testing::IsEmpty());
    standin().reset();
    driver_.cuDevicePrimaryCtxRelease(0);
    driver_.cuCtxSetCurrent(nullptr);
  }

  CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(driver_.cuMemAlloc(&address, bytes), CUDA_SUCCESS);
    return address;
  }
  CUfunction function(const std::string& symbol) {
    CUfunction found = nullptr;
    EXPECT_EQ(driver_.cuModuleGetFunction(&found, module_, symbol.c_str()), CUDA_SUCCESS);
    return found;
  }
  CUfunction prepared(const std::string& symbol, int smem_bytes) {
    const CUfunction found = function(symbol);
    EXPECT_EQ(driver_.cuFuncSetAttribute(found, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, smem_bytes),
              CUDA_SUCCESS);
    return found;
  }
  template <class Args>
  CUresult launch(CUfunction kernel, Args args, unsigned blocks, unsigned threads, unsigned smem) {
    void* params[] = {&args};
    return driver_.cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, smem, stream_, params, nullptr);
  }
  CUresult launch_small(const GemmArgs& args) { return launch(function(kSmall), args, 1, 256, kSmallSmem); }
  /// Arguments of an 8×8×8 problem for kSmall, with all memory allocated; D is NaN.
  GemmArgs small() {
    GemmArgs args{};
    args.a = allocate(128), args.b = allocate(128), args.d = allocate(128);
    args.lda = args.ldb = args.ldd = args.ldc = args.m = args.n = args.k = 8;
    args.alpha = 1, args.raster_width = 1;
    const std::vector<std::uint16_t> ones(64, narrow_f16(1));
    EXPECT_EQ(driver_.cuMemcpyHtoD(args.a, ones.data(), 128), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuMemcpyHtoD(args.b, ones.data(), 128), CUDA_SUCCESS);
    return args;
  }
  std::vector<float> read_f16(CUdeviceptr address, std::size_t count) {
    std::vector<std::uint16_t> bits(count);
    EXPECT_EQ(driver_.cuMemcpyDtoH(bits.data(), address, count * 2), CUDA_SUCCESS);
    std::vector<float> values;
    for (const std::uint16_t value : bits) values.push_back(widen_f16(value));
    return values;
  }
  void expect_violation(const std::string& part) {
    EXPECT_THAT(standin().violations(), testing::ElementsAre(testing::HasSubstr(part)));
    standin().reset();
  }

  const Driver& driver_ = (standin(), Driver::get());
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  CUstream stream_ = nullptr;
};

}  // namespace hotgemm::standin
