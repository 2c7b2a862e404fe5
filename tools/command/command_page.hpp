#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace hotgemm::command {

/// The group of the options that most commands have, which pages list last.
inline constexpr const char* kCommonGroup = "Common options";

/// The value that follows an option's name on the command line.
struct OptionValue {
  std::string name;                  ///< "FILE", "N", "speed|energy"
  std::vector<std::string> choices;  ///< the words that it may be, if they are few
  std::string expected;              ///< in words: "a whole number from 1 to 100"
  bool is_path = false;
};

struct OptionPage {
  std::vector<std::string> names;  ///< "-j", "--jobs"; or the one name of an argument without dashes
  bool is_flag = false;
  bool is_list = false;  ///< may have several values
  bool is_required = false;
  OptionValue value;  ///< if it is no flag
  std::string meaning;
  std::string usual;  ///< the default; empty if there is none, or if the meaning says it
};

struct OptionGroup {
  std::string title;
  std::vector<OptionPage> options;
};

/// A command as its pages describe it. It is read from the tree of CLI11 that parses the command line: `--help`,
/// manual pages, completions and messages about wrong arguments have no other source.
struct CommandPage {
  std::string name;  ///< with those of its parents: "hotgemm cache ls"
  std::string meaning;
  std::vector<OptionPage> arguments;  ///< without dashes
  std::vector<OptionGroup> groups;
  std::vector<CommandPage> commands;
  std::vector<std::string> examples;
  std::vector<std::string> notes;  ///< paragraphs

  /// The option or argument of that name; nullptr if there is none.
  const OptionPage* find(std::string_view name) const;
  std::string last_name() const { return name.substr(name.rfind(' ') + 1); }
};

/// Commands and options without a group are left out: they are for processes of our own.
CommandPage page_of(const CLI::App& app);

/// "-j, --jobs N" or "FILE..."
std::string heading_of(const OptionPage& option);

/// "hotgemm cache COMMAND [OPTIONS]"
std::string usage_of(const CommandPage& page);

/// The meaning with the default.
std::string meaning_of(const OptionPage& option);

}  // namespace hotgemm::command
