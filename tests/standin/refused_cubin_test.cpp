// A cubin that is whole, but that the driver refuses to load.

#include "config/render.hpp"
#include "config/traits.hpp"
#include "standin/runtime_fixture.hpp"

namespace hotgemm::standin {
namespace {

std::size_t count_files(const std::filesystem::path& directory, std::string_view extension) {
  std::size_t count = 0;
  for (const auto& item : std::filesystem::recursive_directory_iterator(directory)) {
    count += item.path().extension() == extension ? 1 : 0;
  }
  return count;
}

class RefusedCubinTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    has_real_kernels_ = false;
    const Choice choice = PlanAccess::impl(context(Policy::estimate).plan(case_.described())).choice();
    Engine& engine = impl_of(context()).engine();
    source_ = render(choice.config, traits_of(case_.described(), choice.launch), "sm_90a", engine.bundle);
    good_ = *engine.builder.find(source_);
    bad_ = good_;
    bad_.image.assign(4096, 0x5a);
    forget_context();
    std::filesystem::remove_all(cache_.path() / "v1");
    ::unsetenv("HOTGEMM_CACHE_PATH");
    ::setenv("HOTGEMM_TUNE", "never", 1);
  }
  void TearDown() override {
    ::unsetenv("HOTGEMM_TUNE");
    warnings_.take();
    RuntimeTest::TearDown();
  }

  /// A new Context. Its compiler makes every kernel from the good cubin, and counts.
  Context& fresh(Policy policy = Policy::estimate) {
    forget_context();
    Context& made = context(policy);
    impl_of(made).engine().builder.compile_with([this](const KernelSource& source) {
      ++compiled_;
      Cubin cubin = good_;
      cubin.symbol = source.symbol;
      return cubin;
    });
    return made;
  }
  void store_bad(const std::filesystem::path& directory) {
    BinaryCacheOptions options;
    options.directory = directory;
    BinaryCache(options).store(source_.identity, bad_);
  }

  const GemmCase case_ = small_case();
  KernelSource source_;
  Cubin good_, bad_;
  int compiled_ = 0;
};

TEST_F(RefusedCubinTest, IsDroppedAndCompiledAgain) {
  store_bad(cache_.path());
  expect_right(fresh(), case_, stream());
  EXPECT_EQ(compiled_, 1);
  EXPECT_EQ(context().stats().refused_cubins, 1u);
  EXPECT_EQ(context().stats().compiled, 1u);
  EXPECT_EQ(count_files(cache_.path(), ".bad"), 1u);
  EXPECT_THAT(warnings_.take(), testing::ElementsAre(testing::HasSubstr("CUDA_ERROR_INVALID_IMAGE")));

  expect_right(fresh(), case_, stream());
  EXPECT_EQ(compiled_, 1) << "the new cubin was not kept";
  EXPECT_EQ(context().stats().refused_cubins, 0u);
  EXPECT_THAT(warnings_.take(), testing::IsEmpty());
}

TEST_F(RefusedCubinTest, InAReadOnlyLayerIsSkippedAndStays) {
  const ScratchDirectory site;
  store_bad(site.path());
  ::setenv("HOTGEMM_CACHE_PATH", site.path().c_str(), 1);
  expect_right(fresh(), case_, stream());
  EXPECT_EQ(compiled_, 1);
  EXPECT_EQ(count_files(site.path(), ".hgk"), 1u);
  EXPECT_EQ(count_files(site.path(), ".bad"), 0u);

  expect_right(fresh(), case_, stream());
  EXPECT_EQ(compiled_, 1) << "the refused cubin was preferred";
  EXPECT_EQ(context().stats().refused_cubins, 0u);
}

TEST_F(RefusedCubinTest, TwiceLetsTheNextChoiceCompute) {
  const std::string first = context(Policy::estimate).plan(case_.described()).config();
  standin().refuse_image(source_.symbol, 2);
  KernelShelf::add(cache_.path());
  ::setenv("HOTGEMM_CACHE_PATH", KernelShelf::path().c_str(), 1);
  forget_context();
  const Plan plan = context(Policy::estimate).plan(case_.described());
  EXPECT_NE(plan.config(), first);
  EXPECT_EQ(context().stats().refused_cubins, 2u);
  EXPECT_THAT(warnings_.take(),
              testing::Contains(testing::AllOf(testing::HasSubstr("next choice"), testing::HasSubstr("two cubins"))));
  expect_right(context(), case_, stream());
  EXPECT_EQ(context().stats().plans, 1u);
}

TEST_F(RefusedCubinTest, OfEveryChoiceIsAnErrorWithBothReasonsAndNoCallCompilesAgain) {
  standin().refuse_image("hotgemm_", 1000);
  const auto plan = [&] { context().plan(case_.described()); };
  fresh();
  expect_thrown(ErrorCode::driver_error, {"two cubins", "then of", "CUDA_ERROR_NO_BINARY_FOR_GPU"}, plan);
  const int compiled = compiled_;
  EXPECT_GT(compiled, 1);
  expect_thrown(ErrorCode::driver_error, {"two cubins"}, plan);
  EXPECT_EQ(compiled_, compiled);
  BinaryCacheOptions next_process;
  next_process.directory = cache_.path();
  EXPECT_FALSE(BinaryCache(next_process).find(source_.identity)) << "left for the next process";
}

TEST_F(RefusedCubinTest, OfEveryOtherChoiceLetsTheOneThatSpillsCompute) {
  fresh();
  impl_of(context()).engine().builder.compile_with([this](const KernelSource& source) {
    Cubin cubin = source.symbol == source_.symbol ? good_ : bad_;
    cubin.symbol = source.symbol;
    if (source.symbol == source_.symbol) cubin.spill_bytes = 4;
    return cubin;
  });
  const Plan plan = context().plan(case_.described());
  EXPECT_THAT(source_.symbol, testing::HasSubstr(plan.config()));
  EXPECT_THAT(warnings_.take(), testing::Contains(testing::HasSubstr("the next choice computes")));
  expect_right(context(), case_, stream());
}

TEST_F(RefusedCubinTest, UnderCachedOnlyIsNotPrepared) {
  store_bad(cache_.path());
  const auto plan = [&] { context().plan(case_.described()); };
  fresh(Policy::cached_only);
  expect_thrown(ErrorCode::not_prepared, {"was dropped", "CUDA_ERROR_INVALID_IMAGE", "hotgemm prewarm"}, plan);
  expect_thrown(ErrorCode::not_prepared, {"no cubin in the cache"}, plan);
  EXPECT_EQ(compiled_, 0);
}

TEST_F(RefusedCubinTest, OfTheCopyingAndTheCheckingKernelIsCompiledAgain) {
  ::setenv("HOTGEMM_CACHE_PATH", KernelShelf::path().c_str(), 1);
  has_real_kernels_ = true;
  context(Policy::estimate);
  DeviceState& state = impl_of(context()).current();
  standin().refuse_image("repack", 1);
  standin().refuse_image("hotgemm_fill", 1);
  state.repack_kernel();
  state.check_kernels();
  EXPECT_EQ(context().stats().refused_cubins, 2u);
}

}  // namespace
}  // namespace hotgemm::standin
