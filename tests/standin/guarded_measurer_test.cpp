#include "tune/guarded_measurer.hpp"

#include "standin/search_fixture.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace hotgemm::standin {
namespace {

class GuardedMeasurerTest : public SearchTest {
 protected:
  /// The lines of this process's file of attempts. If this process ended now, a later one would blame the kernels in
  /// them.
  std::string mark() const {
    std::string lines;
    for (const auto& entry : std::filesystem::directory_iterator(cache_.path() / "v1" / "attempting")) {
      std::ifstream file(entry.path());
      lines.append(std::istreambuf_iterator<char>(file), {});
    }
    return lines;
  }
};

TEST_F(GuardedMeasurerTest, NamesKernelsWhileTheyRunAndNoneAfterwards) {
  const std::vector<Candidate> rows = candidates(2);
  std::vector<Trial> trials;
  for (const Candidate& c : rows) trials.push_back({c.config, c.launch, c.cubin});
  GuardedMeasurer guarded(gpu_, engine(), problem_, rows);
  int checks = 0, races = 0;
  gpu_.verdict = [&](const Trial& t, unsigned) {
    ++checks;
    EXPECT_THAT(mark(), testing::HasSubstr(to_string(t.config)));
    return Verdict{};
  };
  gpu_.us = [&](const Trial&) {
    ++races;
    for (const Candidate& c : rows) EXPECT_THAT(mark(), testing::HasSubstr(name(c)));
    return 100.0;
  };
  guarded.check(trials, 1);
  EXPECT_EQ(mark(), "") << "what ends the process now is none of the kernels";
  guarded.race(trials, {.rounds = 1}, false);
  EXPECT_EQ(mark(), "");
  EXPECT_EQ(checks, 2);
  EXPECT_EQ(races, 2);
}

}  // namespace
}  // namespace hotgemm::standin
