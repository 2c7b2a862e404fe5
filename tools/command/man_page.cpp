#include "command/man_page.hpp"

#include <hotgemm/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace hotgemm::command {
namespace {

/// Text that roff prints as it stands: a hyphen that is typed is a minus in roff.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

/// "\fB\-j\fR, \fB\-\-jobs\fR \fIN\fR"
std::string roff_heading(const OptionPage& option) {
  const std::string dots = option.is_list ? "..." : "";
  if (!option.names.front().starts_with('-')) return "\\fI" + roff(option.names.front()) + "\\fR" + dots;
  std::string text;
  for (const std::string& name : option.names) text += (text.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  return option.is_flag ? text : text + " \\fI" + roff(option.value.name) + "\\fR" + dots;
}

std::string options_section(const std::string& title, const std::vector<OptionPage>& options) {
  std::string text = ".SS " + title + "\n";
  for (const OptionPage& option : options) {
    text += ".TP\n" + roff_heading(option) + "\n" + roff(meaning_of(option)) + "\n";
  }
  return text;
}

std::string see_also(const CommandPage& page, const CommandPage& root) {
  std::vector<std::string> names;
  if (page.name != root.name) names.push_back(man_name(root));
  for (const CommandPage& command : page.name == root.name ? root.commands : page.commands) {
    names.push_back(man_name(command));
  }
  std::string text;
  for (const std::string& name : names) text += fmt::format("{}\\fB{}\\fR(1)", text.empty() ? "" : ",\n", roff(name));
  return text + "\n";
}

}  // namespace

std::string man_name(const CommandPage& page) {
  std::string name = page.name;
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string man_page(const CommandPage& page, const CommandPage& root) {
  std::string upper = man_name(page);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  std::string text = fmt::format(".TH {} 1 \"\" \"hotgemm {}\" \"User Commands\"\n", roff(upper), HOTGEMM_VERSION);
  text += fmt::format(".SH NAME\n{} \\- {}\n", roff(man_name(page)), roff(page.meaning));
  text += ".SH SYNOPSIS\n\\fB" + roff(usage_of(page)) + "\\fR\n";
  if (!page.commands.empty()) {
    text += ".SH COMMANDS\n";
    for (const CommandPage& command : page.commands) {
      text += ".TP\n\\fB" + roff(command.last_name()) + "\\fR\n" + roff(command.meaning) + "\n";
    }
  }
  text += ".SH OPTIONS\n";
  if (!page.arguments.empty()) text += options_section("Arguments", page.arguments);
  for (const OptionGroup& group : page.groups) text += options_section(group.title, group.options);
  if (!page.examples.empty()) text += ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : page.examples) text += roff(example) + "\n";
  if (!page.examples.empty()) text += ".fi\n";
  std::vector<std::string> notes = page.notes;
  if (page.name != root.name) notes.insert(notes.end(), root.notes.begin(), root.notes.end());
  if (!notes.empty()) text += ".SH NOTES\n";
  for (const std::string& note : notes) text += ".PP\n" + roff(note) + "\n";
  return text + ".SH SEE ALSO\n" + see_also(page, root);
}

}  // namespace hotgemm::command
