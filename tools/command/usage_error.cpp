#include "command/usage_error.hpp"

#include "command/command_page.hpp"
#include "command/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hotgemm::command {
namespace {

std::vector<std::string> names_of_commands(const CommandPage& page) {
  std::vector<std::string> names;
  for (const CommandPage& command : page.commands) names.push_back(command.last_name());
  return names;
}

std::vector<std::string> names_of_options(const CommandPage& page) {
  std::vector<std::string> names;
  for (const OptionGroup& group : page.groups) {
    for (const OptionPage& option : group.options) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

/// "cache ls"; "hotgemm" for the whole program.
std::string name_of(const CommandPage& page) { return page.name.substr(page.name.find(' ') + 1); }

std::string unknown_command(const CommandPage& group, std::string_view word) {
  const std::string meant = did_you_mean(word, names_of_commands(group));
  return fmt::format("{} has no command {}{}", name_of(group), shell_quoted(word),
                     meant.empty() ? "; --help lists them" : meant);
}

/// Names the first of the words that CLI11 did not expect. Its own message has them in reverse.
std::string unexpected_word(const CommandPage& page, const std::vector<std::string_view>& words,
                            const std::vector<std::string>& extras) {
  const auto word = std::ranges::find_if(words, [&](std::string_view one) {
    return std::ranges::find(extras, one) != extras.end() ||
           std::ranges::find(extras, one.substr(0, one.find('='))) != extras.end();
  });
  const std::string found(word != words.end() ? *word : std::string_view(extras.front()));
  if (!found.starts_with('-')) {
    const char* const takes = page.arguments.empty() ? "no arguments without dashes" : "no further arguments";
    return fmt::format("{} takes {}: {}", name_of(page), takes, shell_quoted(found));
  }
  const std::string name = found.substr(0, found.find('='));
  return fmt::format("{} has no option {}{}", name_of(page), shell_quoted(name),
                     did_you_mean(name, names_of_options(page)));
}

/// A message of CLI11 about an option begins with its name: "--rounds: ...", "--mode excludes ...".
std::string first_word(std::string_view text) { return std::string(text.substr(0, text.find_first_of(": "))); }

/// The option that the message names; nullptr if it is none of the page's.
const OptionPage* option_of(const CommandPage& page, std::string_view message) {
  const std::string word = first_word(message);
  const std::string name = word.substr(0, word.find(','));
  const OptionPage* const option = page.find(name);
  return option != nullptr ? option : page.find("--" + name);  // of a flag CLI11 leaves the dashes out
}

/// The refused value in "--mode: quick not in {…}" and "--rounds: Value 0 not in range …"; empty if there is none.
std::string refused_value(const std::string& message) {
  const std::size_t colon = message.find(": ");
  const std::size_t end = message.find(" not in ");
  if (colon == std::string::npos || end == std::string::npos || end < colon) return {};
  std::string value = message.substr(colon + 2, end - colon - 2);
  if (value.starts_with("Value ")) value.erase(0, 6);
  return value;
}

std::string not_expected(const OptionPage& option, const std::string& value) {
  return fmt::format("{} {}: expected {}{}", option.names.back(), shell_quoted(value), option.value.expected,
                     did_you_mean(value, option.value.choices));
}

/// The message about the option's value or number; CLI11's own where it is in words.
std::string about_option(const OptionPage& option, const CLI::ParseError& error) {
  const std::string message = error.what();
  const std::string& name = option.names.back();
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) {
    const std::string value = refused_value(message);
    return value.empty() ? message : not_expected(option, value);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return message;
  if (option.is_flag) return name + " takes no value";
  if (message.find("At Most") != std::string::npos) return name + " is given twice";
  return fmt::format("{} needs a value: {}", name, option.value.expected);
}

/// "Could not convert: --seed = x"
std::string conversion_message(const CommandPage& page, const std::string& message) {
  const std::size_t colon = message.find(": ");
  const std::size_t sign = message.find(" = ");
  if (colon == std::string::npos || sign == std::string::npos) return message;
  const OptionPage* const option = option_of(page, std::string_view(message).substr(colon + 2));
  return option == nullptr ? message : not_expected(*option, message.substr(sign + 3));
}

/// "--exhaustive excludes --quality"
std::string with_two_names(const std::string& message, std::string_view between, std::string_view words) {
  const std::size_t at = message.find(between);
  if (at == std::string::npos) return message;
  return fmt::format(fmt::runtime(words), message.substr(0, at), message.substr(at + between.size()));
}

}  // namespace

std::string shell_quoted(std::string_view word) {
  const bool is_plain = !word.empty() && word.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_@%+=:,./-") == std::string_view::npos;
  if (is_plain) return std::string(word);
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string usage_message(CLI::App& app, const std::vector<std::string_view>& words, const CLI::ParseError& error) {
  CommandPage page = page_of(app);
  for (const std::string_view word : words) {
    if (page.commands.empty()) break;
    const auto named = std::ranges::find(page.commands, word, &CommandPage::last_name);
    if (named == page.commands.end() && word.starts_with('-')) break;
    const bool is_hidden = !app.get_subcommands([&](CLI::App* sub) { return sub->get_name() == word; }).empty();
    if (named == page.commands.end() && is_hidden) return error.what();
    if (named == page.commands.end()) return unknown_command(page, word);
    CommandPage command = std::move(*named);
    page = std::move(command);
  }
  const std::string message = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    if (const auto extras = app.remaining(true); !extras.empty()) return unexpected_word(page, words, extras);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    if (!page.commands.empty()) return fmt::format("{} needs a command; --help lists them", name_of(page));
    return fmt::format("{} needs {}", name_of(page), first_word(message));
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) return conversion_message(page, message);
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    return with_two_names(message, " excludes ", "{} and {} cannot be given together");
  }
  if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr) {
    return with_two_names(message, " requires ", "{} means nothing without {}");
  }
  const OptionPage* const option = option_of(page, message);
  return option == nullptr ? message : about_option(*option, error);
}

}  // namespace hotgemm::command
