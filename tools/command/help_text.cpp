#include "command/help_text.hpp"

#include "command/terminal.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>

namespace hotgemm::command {
namespace {

constexpr std::size_t kWidest = 100;  // longer lines are hard to read
constexpr std::size_t kNarrow = 60;   // below it, meanings stand under the names

class Help {
 public:
  explicit Help(std::size_t columns) : columns_(std::min(columns, kWidest)) {}

  void line(const std::string& text) { text_ += text + "\n"; }
  void gap() { line(""); }

  /// Words in lines that begin at column `indent`; the first begins at the end of `start`.
  void paragraph(const std::string& text, std::size_t indent = 0, std::string start = {}) {
    std::string line = std::move(start);
    bool is_empty = true;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      if (!is_empty && columns_of(line) + 1 + columns_of(word) > columns_) {
        text_ += line + "\n";
        line.assign(indent, ' ');
        is_empty = true;
      }
      line += (is_empty ? "" : " ") + word;
      is_empty = false;
    }
    text_ += line + "\n";
  }

  /// A name, and its meaning beside it, or below it if the name is long or the terminal narrow.
  void entry(const std::string& name, const std::string& meaning) {
    const bool is_narrow = columns_ < kNarrow;
    const std::size_t indent = is_narrow ? 6 : 26;
    std::string start = "  " + name;
    if (is_narrow || columns_of(start) + 2 > indent) {
      line(start);
      start.clear();
    }
    start.resize(start.size() + indent - columns_of(start), ' ');
    paragraph(meaning, indent, start);
  }

  std::string text() const { return text_; }

 private:
  std::size_t columns_;
  std::string text_;
};

void add_options(Help& help, const std::string& title, const std::vector<OptionPage>& options) {
  help.gap();
  help.line(title + ":");
  for (const OptionPage& option : options) help.entry(heading_of(option), meaning_of(option));
}

}  // namespace

std::string help_text(const CommandPage& page, std::size_t columns) {
  Help help(columns);
  help.paragraph(page.meaning);
  help.gap();
  help.paragraph(usage_of(page), 9, "Usage: ");
  if (!page.commands.empty()) {
    help.gap();
    help.line("Commands:");
    for (const CommandPage& command : page.commands) help.entry(command.last_name(), command.meaning);
  }
  if (!page.arguments.empty()) add_options(help, "Arguments", page.arguments);
  for (const OptionGroup& group : page.groups) add_options(help, group.title, group.options);
  if (!page.examples.empty()) {
    help.gap();
    help.line("Examples:");
    for (const std::string& example : page.examples) help.line("  " + example);
  }
  for (const std::string& note : page.notes) {
    help.gap();
    help.paragraph(note);
  }
  return help.text();
}

}  // namespace hotgemm::command
