#include "command/command_page.hpp"

#include "command/examples.hpp"
#include "config/device_info.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <sstream>

namespace hotgemm::command {
namespace {

using Words = std::vector<std::string>;

/// The words that values of these names are taken from.
Words known_words(std::string_view name) {
  if (name == "LAYOUT") return {"nn", "nt", "tn", "tt"};
  if (name == "TYPE") return {"f16", "bf16", "f32", "tf32", "s8", "e4m3", "e5m2"};
  if (name != "ARCH") return {};
  Words archs = known_archs();
  archs.emplace_back("native");
  return archs;
}

std::string expected_number(std::string_view type, std::string_view check) {
  const std::string what = type == "FLOAT" ? "a number" : "a whole number";
  const std::size_t dash = check.find(" - ");
  if (const std::size_t in = check.find(" in ["); in != std::string_view::npos && dash != std::string_view::npos) {
    const std::string least(check.substr(in + 5, dash - in - 5));
    const std::string most(check.substr(dash + 3, check.find(']') - dash - 3));
    const bool is_open = most == std::to_string(std::numeric_limits<int>::max());
    return is_open ? fmt::format("{} of at least {}", what, least) : fmt::format("{} from {} to {}", what, least, most);
  }
  if (check.find("NONNEGATIVE") != std::string_view::npos) return what + " of at least 0";
  if (check.find("POSITIVE") != std::string_view::npos) return what + " above 0";
  return type == "UINT" ? what + " of at least 0" : what;
}

/// `text` is CLI11's name of a type, with the descriptions of its checks after colons: "INT:INT in [1 - 9]",
/// "TEXT:{nn,nt}", "FLOAT:POSITIVE".
OptionValue value_of(const std::string& text) {
  const std::string type = text.substr(0, text.find(':'));
  const std::string check = type.size() < text.size() ? text.substr(type.size() + 1) : "";
  OptionValue value{.name = type, .choices = known_words(type), .expected = type};
  if (check.starts_with('{')) {
    value.choices = CLI::detail::split(check.substr(1, check.find('}') - 1), ',');
    value.name = fmt::format("{}", fmt::join(value.choices, "|"));
    value.expected = fmt::format("one of {}", fmt::join(value.choices, ", "));
  } else if (type == "INT" || type == "UINT" || type == "FLOAT") {
    value.name = "N";
    value.expected = expected_number(type, check);
  } else if (type == "TEXT") {
    value.expected = "a word";
  }
  value.is_path = type == "FILE" || type == "DIR";
  return value;
}

OptionPage option_page(const CLI::Option& option) {
  OptionPage page;
  for (const std::string& name : option.get_snames()) page.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) page.names.push_back("--" + name);
  if (page.names.empty()) page.names.push_back(option.get_name());
  page.is_flag = option.get_items_expected_max() == 0;
  page.is_list = option.get_items_expected_max() > 1;
  page.is_required = option.get_required();
  if (!page.is_flag) page.value = value_of(option.get_type_name());
  page.meaning = option.get_description();
  if (page.meaning.find("default") == std::string::npos) page.usual = option.get_default_str();
  return page;
}

void add_options(const CLI::App& app, CommandPage& page) {
  OptionGroup common{kCommonGroup, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (option->get_positional()) {
      page.arguments.push_back(option_page(*option));
      continue;
    }
    if (option->get_group() == kCommonGroup) {
      common.options.push_back(option_page(*option));
      continue;
    }
    auto group = std::ranges::find(page.groups, option->get_group(), &OptionGroup::title);
    if (group == page.groups.end()) group = page.groups.insert(group, {option->get_group(), {}});
    group->options.push_back(option_page(*option));
  }
  if (!common.options.empty()) page.groups.push_back(std::move(common));
}

Words paragraphs(const std::string& text) {
  Words all;
  std::istringstream lines(text);
  bool is_new = true;
  for (std::string line; std::getline(lines, line); is_new = line.empty()) {
    if (line.empty()) continue;
    if (is_new) {
      all.push_back(line);
    } else {
      all.back() += " " + line;
    }
  }
  return all;
}

}  // namespace

const OptionPage* CommandPage::find(std::string_view wanted) const {
  const auto has_name = [&](const OptionPage& option) {
    return std::ranges::find(option.names, wanted) != option.names.end();
  };
  for (const OptionGroup& group : groups) {
    const auto found = std::ranges::find_if(group.options, has_name);
    if (found != group.options.end()) return &*found;
  }
  const auto found = std::ranges::find_if(arguments, has_name);
  return found != arguments.end() ? &*found : nullptr;
}

CommandPage page_of(const CLI::App& app) {
  CommandPage page{.name = app.get_name(), .meaning = app.get_description()};
  for (const CLI::App* parent = app.get_parent(); parent != nullptr; parent = parent->get_parent()) {
    page.name = parent->get_name() + " " + page.name;
  }
  add_options(app, page);
  const auto is_listed = [](const CLI::App* sub) { return !sub->get_group().empty() && !sub->get_name().empty(); };
  for (const CLI::App* sub : app.get_subcommands(is_listed)) page.commands.push_back(page_of(*sub));
  page.examples = examples_of(page.name);
  page.notes = paragraphs(app.get_footer());
  return page;
}

std::string heading_of(const OptionPage& option) {
  const std::string dots = option.is_list ? "..." : "";
  if (!option.names.front().starts_with('-')) return option.names.front() + dots;
  const std::string names = fmt::format("{}", fmt::join(option.names, ", "));
  return option.is_flag ? names : names + " " + option.value.name + dots;
}

std::string usage_of(const CommandPage& page) {
  std::string text = page.name + (page.commands.empty() ? "" : " COMMAND") + " [OPTIONS]";
  for (const OptionPage& argument : page.arguments) {
    const std::string heading = heading_of(argument);
    text += argument.is_required ? " " + heading : " [" + heading + "]";
  }
  return text;
}

std::string meaning_of(const OptionPage& option) {
  return option.usual.empty() ? option.meaning : fmt::format("{} (default: {})", option.meaning, option.usual);
}

}  // namespace hotgemm::command
