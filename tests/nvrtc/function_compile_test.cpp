// Kernels with functions of users: NVRTC compiles them, and says where a user's text is wrong.

#include "nvrtc/compile_fixture.hpp"

#include "config/traits.hpp"
#include "worker/compile_record.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <string>

namespace hotgemm {
namespace {

using testing::HasSubstr;

class FunctionCompile : public CompileMatrix {
 protected:
  KernelSource source_of(const std::string& text, const char* config, const char* problem, const char* arch) {
    const FunctionSource function(text, "softcap.txt");
    bundle_.add(function);
    Workload workload = parse_workload(problem);
    workload.epilogue.function = function.function();
    return render(*parse_config(config), traits_of(workload), arch, bundle_);
  }

  std::string error_of(const std::string& text) {
    try {
      Nvrtc::get().compile(source_of(text, "simt_m64_n64_k16_tm4_tn4", "64 64 64 nt f16", "sm_80"), bundle_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::compile_failed);
      return error.what();
    }
    return "none";
  }
};

TEST_F(FunctionCompile, FamiliesHaveIt) {
  std::ifstream file(HOTGEMM_SOURCE_DIR "/examples/softcap.txt");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  struct Case {
    const char *config, *problem, *arch;
  };
  for (const Case& c :
       {Case{"simt_m64_n64_k16_tm4_tn4", "64 64 64 nt f16 beta=1 epilogue=bias", "sm_75"},
        Case{"mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1", "64 64 64 nt bf16 batch=3", "sm_80"},
        Case{"wgmma_m128_n256_k64_c2_sn0_pp0_o0_s4_cm1_cn1_b1", "64 64 64 nt bf16 batch=3", "sm_90a"}}) {
    SCOPED_TRACE(c.config);
    const Cubin cubin = Nvrtc::get().compile(source_of(text, c.config, c.problem, c.arch), bundle_);
    EXPECT_LE(cubin.spill_bytes, 64);
  }
}

TEST_F(FunctionCompile, AnErrorIsTheUsersLine) {
  EXPECT_THAT(error_of("// a comment\ncolumn scale\n\nvalue *\n  scales\n"),
              HasSubstr("softcap.txt(5): error: identifier \"scales\" is undefined"));
  EXPECT_THAT(error_of("scalar cap\nvalue / cap;\n"), HasSubstr("softcap.txt(2): error"));
  EXPECT_THAT(error_of("column float\nvalue\n"), HasSubstr("softcap.txt(1): error"));
  EXPECT_THAT(error_of("min_of(row, column)\n"), HasSubstr("softcap.txt(1): error")) << "names of the templates";
}

TEST_F(FunctionCompile, AWorkerGetsTheText) {
  const KernelSource source = source_of("value * 2", "simt_m64_n64_k16_tm4_tn4", "64 64 64 nt f16", "sm_80");
  const KernelSource received = decode_source(encode_source(source));
  EXPECT_EQ(received.function, source.function);
  const TemplateBundle without_functions = TemplateBundle::embedded();
  EXPECT_EQ(Nvrtc::get().compile(received, without_functions).image, Nvrtc::get().compile(source, bundle_).image);
}

}  // namespace
}  // namespace hotgemm
