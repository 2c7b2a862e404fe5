#include "records/record_text.hpp"

#include "sweep_sample.hpp"
#include "unit/damage.hpp"
#include "unit/database_fixture.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>

namespace hotgemm {
namespace {

std::string sample_line() { return to_line({sample_record(), 1767225600}); }

TEST(RecordText, LineAsDocumented) {
  const std::string line = sample_line();
  EXPECT_EQ(
      line.substr(0, line.size() - kChecksumTail),
      R"({"class":"4096 4096 512 nt f16 align=16","schema":2,"m":4096,)"
      R"("config":"mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1","launch":"r4n",)"
      R"("median_us":123.25,"spread_us":0.5,"samples":21,"ratio":1.0625,"gpu":"Fictional FX-1000","arch":"sm_90a",)"
      R"("sm_count":99,"driver":"580.159","toolchain":"nvrtc-13.0-0123abcd","templates":")" +
          std::string(64, 'a') + R"(","time":1767225600)");
  EXPECT_EQ(line, with_checksum(line));
  EXPECT_EQ(leading_class(line), "4096 4096 512 nt f16 align=16");
}

TEST(RecordText, RoundTripsManyRecords) {
  std::mt19937 random(3);
  for (const Workload& base :
       {parse_workload("1 768 512 nn f16"), parse_workload("1 7 9 tt bf16 align=2,4,8 beta=1")}) {
    for (const KernelConfig& config : some_legal_configs(base)) {
      StoredRecord stored{sample_record(), static_cast<std::int64_t>(random()) << 20};
      TuningRecord& record = stored.record;
      record.problem = base;
      record.problem.m = static_cast<std::int64_t>(random() % 2147483648u);
      record.config = config;
      record.launch = {1 + static_cast<int>(random() % 16), random() % 2 == 0};
      record.timing.median_us = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 400) - 200);
      record.timing.spread_us = 1.0 / (1.0 + static_cast<double>(random() % 1000));
      record.timing.samples = static_cast<int>(random() % 100);
      record.environment.gpu = "GPU \"quoted\" \\ \xc3\xa9 \t end";
      record.environment.driver = "";
      const ParsedLine parsed = parse_line(to_line(stored));
      ASSERT_TRUE(parsed.stored) << parsed.reason << "\n" << to_line(stored);
      EXPECT_EQ(*parsed.stored, stored);
      EXPECT_EQ(parsed.fault, LineFault::none);
    }
  }
}

TEST(RecordText, MeasuredNumbersAreRoundedToSixDigits) {
  TuningRecord record = sample_record();
  record.timing = {4194852.0294, 0.00001234567, 21, 3000000.04};
  record.joules = 0.12345678;
  record.cublas = {"13.1.0", "", 0.98765432, 1};
  record = rounded(record);
  EXPECT_EQ(record.timing, (Timing{4194850, 0.0000123457, 21, 3000000}));
  EXPECT_EQ(record.joules, 0.123457);
  EXPECT_EQ(record.cublas, (CublasComparison{"13.1.0", "", 0.987654, 1}));
  EXPECT_EQ(rounded(record), record);
}

TEST(RecordText, SaysHowThePickWasMeasured) {
  TuningRecord record = sample_record();
  EXPECT_EQ(to_line({record, 0}).find("measure"), std::string::npos) << "lines of earlier versions stay as they are";
  record.measure = Measure::sustained;
  record.power_limit_w = 700;
  std::string line = to_line({record, 0});
  EXPECT_NE(line.find(R"(","measure":"sustained","power_limit_w":700,"time":0)"), std::string::npos) << line;
  EXPECT_EQ(parse_line(line).stored->record, record);
  for (const Measure measure : {Measure::behind, Measure::modelled}) {
    record = sample_record();
    record.measure = measure;
    line = to_line({record, 0});
    const std::string text(to_string(measure));
    EXPECT_NE(line.find("\",\"measure\":\"" + text + "\",\"time\":0"), std::string::npos) << line;
    EXPECT_EQ(parse_line(line).stored->record, record);
  }
  record = sample_record();
  record.is_provisional = true;
  line = to_line({record, 0});
  EXPECT_NE(line.find(R"(","provisional":1,"time":0)"), std::string::npos) << line;
  EXPECT_EQ(parse_line(line).stored->record, record);
}

TEST(RecordText, SaysWhyItIsProvisional) {
  TuningRecord record = sample_record();
  record.is_provisional = true;
  for (const ProvisionalCause cause :
       {ProvisionalCause::cut_short, ProvisionalCause::no_blocks, ProvisionalCause::disturbed}) {
    record.cause = cause;
    const std::string line = to_line({record, 0});
    EXPECT_NE(line.find("\"provisional\":1,\"cause\":\"" + std::string(to_string(cause)) + "\""), std::string::npos)
        << line;
    EXPECT_EQ(parse_line(line).stored->record, record);
    std::string other = line;
    other.replace(other.find(to_string(cause)), to_string(cause).size(), "a whim");
    EXPECT_FALSE(parse_line(with_checksum(other)).stored);
  }
  record.is_provisional = false;
  EXPECT_THROW(to_line({record, 0}), Error) << "a final record has no cause";
}

TEST(RecordText, SaysTheObjectiveAndWhatCublasDid) {
  TuningRecord record = sample_record();
  record.measure = Measure::sustained;
  record.objective = Objective::energy;
  record.joules = 0.125;
  record.cublas = {"13.1.0", std::string(128, '0'), 0.96875, 0.9375};
  const std::string line = to_line({record, 0});
  EXPECT_NE(line.find(R"(","measure":"sustained","objective":"energy","joules":0.125,"cublas":"13.1.0",)"
                      R"("cublas_algorithm":")" +
                      std::string(128, '0') + R"(","cublas_ratio":0.96875,"cublas_default_ratio":0.9375,"time":0)"),
            std::string::npos)
      << line;
  EXPECT_EQ(parse_line(line).stored->record, record);
  EXPECT_EQ(cost_of(record), 0.125);
  for (const auto& spoil : std::vector<std::function<void(TuningRecord&)>>{
           [](TuningRecord& r) { r.joules = 0; }, [](TuningRecord& r) { r.measure = Measure::rounds; }}) {
    TuningRecord bad = record;
    spoil(bad);
    EXPECT_THROW(to_line({bad, 0}), Error) << "energy without joules by blocks";
  }
  record.objective = Objective::speed;
  EXPECT_EQ(parse_line(to_line({record, 0})).stored->record, record) << "joules of a fast pick are known too";
}

TEST(RecordText, OddWordsAboutTheMeasureAreRejected) {
  TuningRecord record = sample_record();
  record.measure = Measure::sustained;
  record.is_provisional = true;
  record.power_limit_w = 700;
  const std::string line = to_line({record, 0});
  const auto edited = [&](const std::string& from, const std::string& to) {
    std::string text = line;
    text.replace(text.find(from), from.size(), to);
    return with_checksum(text);
  };
  EXPECT_TRUE(parse_line(edited("700", "650")).stored);
  for (const auto& [from, to] : {std::pair{"\"sustained\"", "\"rounds\""},
                                 {"\"sustained\"", "\"guess\""},
                                 {"\"provisional\":1", "\"provisional\":0"},
                                 {"\"provisional\":1", "\"provisional\":2"},
                                 {":700", ":0"},
                                 {":700", ":-1"}}) {
    EXPECT_FALSE(parse_line(edited(from, to)).stored) << from << " " << to;
  }
}

TEST(RecordText, ClassIsTheBucket) {
  TuningRecord record = sample_record("4100 4096 512 nt f16 align=16");
  const std::string line = to_line({record, 0});
  EXPECT_EQ(leading_class(line), "4608 4096 512 nt f16 align=16");
  EXPECT_EQ(parse_line(line).stored->record.problem.m, 4100);
  record.problem.m = 2100000000;  // in the last bucket, which ends at the largest size
  EXPECT_EQ(leading_class(to_line({record, 0})), "2147482623 4096 512 nt f16 align=16");
}

TEST(RecordText, RefusesWhatCannotBeReadBack) {
  const auto refused = [](auto change) {
    TuningRecord record = sample_record();
    change(record);
    try {
      to_line({record, 0});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("4096 512 nt"), std::string::npos) << error.what();
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refused([](TuningRecord&) {}));
  EXPECT_TRUE(refused([](TuningRecord& r) { r.timing.median_us = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_TRUE(refused([](TuningRecord& r) { r.timing.ratio = std::numeric_limits<double>::infinity(); }));
  EXPECT_TRUE(refused([](TuningRecord& r) { r.timing.spread_us = -1; }));
  EXPECT_TRUE(refused([](TuningRecord& r) { r.timing.samples = -1; }));
  EXPECT_TRUE(refused([](TuningRecord& r) { r.environment.gpu = "\xff"; }));
  EXPECT_TRUE(refused([](TuningRecord& r) { r.environment.gpu = std::string(257, 'x'); }));
  EXPECT_TRUE(refused([](TuningRecord& r) { r.environment.arch = "sm_1"; }));
  EXPECT_TRUE(refused([](TuningRecord& r) { r.environment.arch = "sm_75"; }));  // sm_75 has no mma config
  EXPECT_TRUE(refused([](TuningRecord& r) { r.template_digest = "abc"; }));
  EXPECT_TRUE(refused([](TuningRecord& r) { r.config = MmaConfig{.block_m = 100}; }));
  EXPECT_TRUE(refused([](TuningRecord& r) { r.launch.raster_width = 0; }));
  EXPECT_TRUE(refused([](TuningRecord& r) { r.launch.programmatic = true; }));  // no mma config is programmatic
  EXPECT_TRUE(refused([](TuningRecord& r) { r.problem.hints.align_a = 3; }));
  EXPECT_TRUE(refused([](TuningRecord& r) { r.problem.m = -1; }));
}

TEST(RecordText, EachFaultIsNamed) {
  const std::string good = sample_line();
  const struct {
    std::string line;
    const char* reason;
  } cases[] = {
      {"", "begin with a problem class"},
      {"{}", "begin with a problem class"},
      {"garbage", "begin with a problem class"},
      {" " + good, "begin with a problem class"},
      {good.substr(0, good.size() / 2), "checksum: cut off"},
      {good.substr(0, good.size() - 1), "checksum: cut off"},
      {good + " ", "checksum: cut off"},
      {std::string(good).replace(good.find("123.25"), 6, "123.26"), "damaged or edited"},
      {edited(good, "\"schema\":2", "\"schema\":0"), "schema number"},
      {edited(good, "\"schema\":2", "\"schema\":x"), "schema number"},
      {edited(good, "\"schema\":2,", ""), "schema number"},
      {edited(good, "\"schema\":2", "\"schema\":1"), "older than this version"},
      {edited(good, "4096 512 nt", "4096  512 nt"), "spelled"},
      {edited(good, "nt f16", "nt f16 acc=tf32"), "compute type tf32 for elements of f16 is not supported yet"},
      {edited(good, "\"m\":4096", "\"m\":1000"), "not in the class"},
      {edited(good, "\"m\":4096", "\"m\":-4096"), "not an integer"},
      {edited(good, "\"m\":4096", "\"m\":18446744073709551615"), "not an integer"},
      {edited(good, "4096 4096 512 nt", "4096 4096 512 xy"), "'xy'"},
      {edited(good, "mma_m128", "mma_m100"), "is not legal"},
      {edited(good, "mma_m128", "mmb_m128"), "unknown to this version"},
      {edited(good, "r4n", "r0n"), "launch 'r0n'"},
      {edited(good, "r4n", "r2000000000n"), "launch 'r2000000000n'"},
      {edited(good, "123.25", "-123.25"), "negative"},
      {edited(good, "123.25", "1e999"), "JSON"},
      {edited(good, "123.25", "NaN"), "JSON"},
      {edited(good, "123.25", "\"123\""), "not a number"},
      {edited(good, "123.25", "123.250"), "spelled"},
      {edited(good, "\"samples\":21", "\"samples\":2.5"), "not an integer"},
      {edited(good, "\"samples\":21", "\"samples\":3000000000"), "not an integer"},
      {edited(good, "\"samples\":21", "\"samples\":21,\"samples\":21"), "repeated"},
      {edited(good, "\"samples\":21", "\"samples\":21,\"extra\":1"), "unknown"},
      {edited(good, "\"samples\":21,", ""), "no field \"samples\""},
      {edited(good, "\"samples\":21", "\"samples\": 21"), "spelled"},
      {edited(good, "\"samples\":21", "\"samples\":[[[[[[[[21]]]]]]]]"), "not an integer"},
      {edited(good, "Fictional", "\\u0046ictional"), "spelled"},
      {edited(good, "Fictional", std::string(300, 'F')), "longer than 256"},
      {edited(good, "Fictional", std::string(4096, 'F')), "longer than 4096"},
      {edited(good, "Fictional", "\xff"), "JSON"},
      {edited(good, "sm_90a", "sm_10"), "sm_10"},
      {edited(good, "aaaaaaaa", "aaaaaaaA"), "64 hexadecimal"},
      {edited(good, "\"time\":1767225600", "\"time\":1767225600}"), "JSON"},
  };
  for (const auto& c : cases) {
    const ParsedLine parsed = parse_line(c.line);
    EXPECT_FALSE(parsed.stored) << c.line;
    EXPECT_EQ(parsed.fault, LineFault::unusable) << c.line;
    EXPECT_NE(parsed.reason.find(c.reason), std::string::npos) << c.line << "\n" << parsed.reason;
  }
}

TEST(RecordText, EditingWithAChecksumIsPossible) {
  const ParsedLine parsed = parse_line(edited(sample_line(), "\"m\":4096", "\"m\":4000"));  // of the same class
  ASSERT_TRUE(parsed.stored) << parsed.reason;
  EXPECT_EQ(parsed.stored->record.problem.m, 4000);
}

TEST(RecordText, NewerSchemaIsSetApart) {
  const ParsedLine parsed = parse_line(R"({"class":"whatever it means then","schema":3,"new":[1,2]})");
  EXPECT_EQ(parsed.fault, LineFault::newer_schema);
  EXPECT_FALSE(parsed.stored);
  EXPECT_FALSE(parsed.reason.empty());
}

TEST(RecordText, EveryTruncationAndEveryFlippedBitIsRejected) {
  const std::string good = sample_line();
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(parse_line(std::string_view(good).substr(0, length)).stored) << length;
  }
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(parse_line(bad).stored) << bad;
  }
}

TEST(RecordText, MutatedLinesNeverYieldAnIllegalRecord) {
  const Workload problem = sample_record().problem;
  const std::vector<KernelConfig> configs = some_legal_configs(problem);
  std::vector<std::string> seeds;
  for (const KernelConfig& config : configs) {
    TuningRecord record = sample_record();
    record.config = config;
    seeds.push_back(to_line({record, 5}));
  }
  Damage damage(seeds);
  int accepted = 0;
  const int lines = trials(20000, 5);
  for (int i = 0; i < lines; ++i) {
    const std::string line = with_checksum(damage.next());  // so that the test reaches the parser behind the checksum
    const ParsedLine parsed = parse_line(line);
    ASSERT_EQ(parsed.stored.has_value(), parsed.fault == LineFault::none);
    if (!parsed.stored) continue;
    ++accepted;
    const TuningRecord& got = parsed.stored->record;
    ASSERT_TRUE(is_legal(got.config, traits_of(got.problem), arch_limits(got.environment.arch))) << line;
    ASSERT_EQ(to_line(*parsed.stored), line);
    ASSERT_TRUE(std::isfinite(got.timing.median_us) && got.timing.median_us >= 0);
  }
  EXPECT_GT(accepted, lines / 200);  // many edits of a name or a digit give a legal record
}

}  // namespace
}  // namespace hotgemm
