#include "records/problem_log.hpp"

#include "config/shapes.hpp"
#include "records/problem_fields.hpp"
#include "standin/runtime_fixture.hpp"

namespace hotgemm::standin {
namespace {

/// A Context that logs the problems that it meets.
class LoggedCallsTest : public RuntimeTest {
 protected:
  std::map<std::string, std::int64_t> logged() const {
    std::map<std::string, std::int64_t> calls;
    for (const Shape& shape : load_shapes(log_.path())) calls[to_string(class_of(shape.workload))] += shape.count;
    return calls;
  }
  ContextOptions logging() const {
    ContextOptions with_log = options(Policy::estimate);
    with_log.problem_log = log_.path().string();
    return with_log;
  }
  static std::string text_of(const GemmCase& c) { return to_string(class_of(c.described())); }

  ScratchDirectory log_;
};

TEST_F(LoggedCallsTest, CallsOfGemmAndOfPlansCount) {
  const GemmCase one = small_case(), other = small_case(8, 24);
  {
    Context logged_context(logging());
    for (int i = 0; i < 3; ++i) expect_right(logged_context, one, stream());
    EXPECT_EQ(logged(), (std::map<std::string, std::int64_t>{{text_of(one), 1}})) << "counts come later";
    const Plan plan = logged_context.plan(other.described());
    for (int i = 0; i < 2; ++i) {
      expect_right(other, stream(), [&](const Operands& o) { plan.launch(stream(), o); });
    }
  }
  EXPECT_EQ(logged(), (std::map<std::string, std::int64_t>{{text_of(one), 3}, {text_of(other), 2}}));
}

TEST_F(LoggedCallsTest, TheVariableNamesTheDirectoryAndTheOptionComesFirst) {
  ::setenv("HOTGEMM_PROBLEM_LOG", (log_.path() / "by-variable").c_str(), 1);
  {
    Context by_variable(options(Policy::estimate));
    expect_right(by_variable, small_case(), stream());
    ContextOptions silent = options(Policy::estimate);
    silent.problem_log = "none";
    Context not_logged(silent);
    expect_right(not_logged, small_case(8, 24), stream());
  }
  ::unsetenv("HOTGEMM_PROBLEM_LOG");
  const std::vector<Shape> shapes = load_shapes(log_.path() / "by-variable");
  ASSERT_EQ(shapes.size(), 1u);
  EXPECT_EQ(shapes[0].workload.n, 16);
  Context without(options(Policy::estimate));
  EXPECT_EQ(impl_of(without).engine().problem_log, nullptr);
}

TEST_F(LoggedCallsTest, AProblemThatIsRefusedIsNotLogged) {
  Context logged_context(logging());
  GemmCase c = small_case();
  c.problem.types.b = DType::bf16;
  expect_thrown(ErrorCode::not_supported, {}, [&] { logged_context.gemm(stream(), c.problem, Operands{}); });
  EXPECT_TRUE(std::filesystem::is_empty(log_.path()));
}

}  // namespace
}  // namespace hotgemm::standin
