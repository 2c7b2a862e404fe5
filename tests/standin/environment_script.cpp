#include "standin/environment_script.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace hotgemm::standin {
namespace {

[[noreturn]] void refuse(const std::string& rule) {
  std::fprintf(stderr, "HOTGEMM_STANDIN_SCRIPT: no rule: %s\n", rule.c_str());
  std::_Exit(99);
}

double number_after(const std::string& word, std::size_t at) {
  char* end = nullptr;
  const double number = std::strtod(word.c_str() + at, &end);
  if (*end != '\0' || end == word.c_str() + at || number < 0) refuse(word);
  return number;
}

void add_rule(Script& script, const std::string& part, const std::string& rule) {
  static const std::map<std::string, Corruption, std::less<>> corruptions = {
      {"none", Corruption::none},
      {"nothing", Corruption::nothing},
      {"wrong", Corruption::wrong},
      {"nan", Corruption::nan},
      {"stray", Corruption::stray},
      {"in_place_wrong", Corruption::in_place_wrong},
      {"no_alpha", Corruption::no_alpha},
      {"no_beta", Corruption::no_beta},
      {"no_activation", Corruption::no_activation},
      {"next_bias", Corruption::next_bias},
      {"no_amax", Corruption::no_amax}};
  static const std::map<std::string, Fate::Kind, std::less<>> fates = {
      {"fault", Fate::Kind::fault}, {"hang", Fate::Kind::hang}, {"crash", Fate::Kind::crash}};
  const std::size_t mark = rule.find_first_of(":@");
  const std::string word = rule.substr(0, mark);
  if (part == "mps") {
    script.is_shared_by_mps = rule == "1";
  } else if (part == "host") {
    script.reaches_host_memory = rule == "1";
  } else if (const auto corruption = corruptions.find(word); corruption != corruptions.end()) {
    script.corruptions.emplace_back(part, corruption->second);
  } else if (const auto fate = fates.find(word); fate != fates.end()) {
    const auto from = mark == rule.npos ? 1 : static_cast<std::size_t>(number_after(rule, mark + 1));
    script.fates.emplace_back(part, Fate{fate->second, from});
  } else if (word == "slow" && mark != rule.npos) {
    script.slow_launches_us.emplace_back(part, static_cast<unsigned>(number_after(rule, mark + 1)));
  } else if (word == "speed" && mark != rule.npos) {
    script.speeds_us.emplace_back(part, number_after(rule, mark + 1));
  } else {
    refuse(part + "=" + rule);
  }
}

}  // namespace

Script script_from_environment() {
  Script script;
  const char* variable = std::getenv("HOTGEMM_STANDIN_SCRIPT");
  const std::string text = variable != nullptr ? variable : "";
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    const std::string rule = text.substr(begin, end - begin);
    const std::size_t equals = rule.find('=');
    if (equals == rule.npos) refuse(rule);
    add_rule(script, rule.substr(0, equals), rule.substr(equals + 1));
    begin = end + 1;
  }
  return script;
}

}  // namespace hotgemm::standin
