#include "command/completion.hpp"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

namespace hotgemm::command {
namespace {

using Words = std::vector<std::string>;

/// Calls `visit` with the page and with each page below it.
void for_each_page(const CommandPage& page, const std::function<void(const CommandPage&)>& visit) {
  visit(page);
  for (const CommandPage& command : page.commands) for_each_page(command, visit);
}

void for_each_option(const CommandPage& page, const std::function<void(const OptionPage&)>& visit) {
  for (const OptionGroup& group : page.groups) {
    for (const OptionPage& option : group.options) visit(option);
  }
}

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// The first part of a meaning: as much as a list of completions has room for.
std::string short_meaning(const std::string& meaning) { return meaning.substr(0, meaning.find_first_of(";(")); }

/// The values that an argument without dashes may have.
Words argument_words(const CommandPage& page) {
  Words words;
  for (const OptionPage& argument : page.arguments) {
    words.insert(words.end(), argument.value.choices.begin(), argument.value.choices.end());
  }
  return words;
}

bool takes_paths(const CommandPage& page) {
  for (const OptionPage& argument : page.arguments) {
    if (argument.value.is_path) return true;
  }
  return false;
}

// ---- bash

std::string bash_values(const CommandPage& page) {
  std::string text;
  for_each_option(page, [&](const OptionPage& option) {
    if (option.is_flag) return;
    std::string patterns;
    for (const std::string& name : option.names) {
      patterns += (patterns.empty() ? "" : "|") + single_quoted(page.name + " " + name);
    }
    std::string action = "COMPREPLY=()";
    if (option.value.is_path) action = "_hotgemm_files";
    if (!option.value.choices.empty()) {
      action = fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$current\"))", fmt::join(option.value.choices, " "));
    }
    text += fmt::format("    {}) {}; return ;;\n", patterns, action);
  });
  return text;
}

std::string bash_words(const CommandPage& page) {
  Words words = argument_words(page);
  for (const CommandPage& command : page.commands) words.push_back(command.last_name());
  for_each_option(
      page, [&](const OptionPage& option) { words.insert(words.end(), option.names.begin(), option.names.end()); });
  const char* const files = takes_paths(page) ? " [[ $current != -* ]] && _hotgemm_files && return;" : "";
  return fmt::format("    {}){} words='{}' ;;\n", single_quoted(page.name), files, fmt::join(words, " "));
}

std::string bash_script(const CommandPage& root) {
  std::string commands, values, words;
  for_each_page(root, [&](const CommandPage& page) {
    if (page.name != root.name) commands += (commands.empty() ? "" : "|") + single_quoted(page.name);
    values += bash_values(page);
    words += bash_words(page);
  });
  return "# bash completion for hotgemm, made by `hotgemm completion bash`\n\n"
         "_hotgemm_files() {\n"
         "  compopt -o filenames 2>/dev/null\n"
         "  COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "}\n\n"
         "_hotgemm() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} path=hotgemm words i\n"
         "  # --option=value is three words of COMP_WORDS\n"
         "  if [[ $current == = ]]; then current=; elif [[ $previous == = ]]; then "
         "previous=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    case \"$path ${COMP_WORDS[i]}\" in " +
         commands +
         ") path+=\" ${COMP_WORDS[i]}\" ;; esac\n"
         "  done\n"
         "  case \"$path $previous\" in\n" +
         values +
         "  esac\n"
         "  case \"$path\" in\n" +
         words +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n\n"
         "complete -F _hotgemm hotgemm\n";
}

// ---- zsh

/// Text in a specification of _arguments, where brackets and colons are marks.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// ":N:", ":FILE:_files", ":mode:(eager graph)"
std::string zsh_value(const OptionValue& value) {
  std::string action = value.is_path ? "_files" : " ";
  if (!value.choices.empty()) action = fmt::format("({})", fmt::join(value.choices, " "));
  return ":" + zsh_text(value.name) + ":" + action;
}

std::string zsh_option(const OptionPage& option) {
  std::string text;
  for (const std::string& name : option.names) {
    // Several names exclude each other; what may be repeated has a star.
    std::string start = option.is_list ? "*" : fmt::format("({})", fmt::join(option.names, " "));
    const std::string value = option.is_flag ? "" : zsh_value(option.value);
    text += " \\\n    " + single_quoted(start + name + "[" + zsh_text(short_meaning(option.meaning)) + "]" + value);
  }
  return text;
}

std::string zsh_function(const CommandPage& page) {
  std::string name = page.name;
  for (char& c : name) c = c == ' ' || c == '-' ? '_' : c;
  std::string text = "_" + name + "() {\n";
  std::string specs;
  for_each_option(page, [&](const OptionPage& option) { specs += zsh_option(option); });
  if (page.commands.empty()) {
    for (const OptionPage& argument : page.arguments) {
      specs += " \\\n    " + single_quoted((argument.is_list ? "*" : "") + zsh_value(argument.value));
    }
    return text + "  _arguments -s" + specs + "\n}\n\n";
  }
  text += "  local curcontext=\"$curcontext\" state line\n  local -a commands\n  commands=(\n";
  for (const CommandPage& command : page.commands) {
    text += "    " + single_quoted(command.last_name() + ":" + zsh_text(short_meaning(command.meaning))) + "\n";
  }
  text += "  )\n  _arguments -C" + specs + " \\\n    '1:command:->command' '*::argument:->argument'\n";
  text += "  case $state in\n    command) _describe command commands ;;\n    argument)\n      case $words[1] in\n";
  for (const CommandPage& command : page.commands) {
    text += fmt::format("        {}) _{}_{} ;;\n", command.last_name(), name, command.last_name());
  }
  return text + "      esac ;;\n  esac\n}\n\n";
}

std::string zsh_script(const CommandPage& root) {
  std::string text = "#compdef hotgemm\n# zsh completion for hotgemm, made by `hotgemm completion zsh`\n\n";
  for_each_page(root, [&](const CommandPage& page) { text += zsh_function(page); });
  // As a file of the search path it is the body of the function; sourced, it has to be registered.
  return text + "if [ \"$funcstack[1]\" = _hotgemm ]; then\n  _hotgemm \"$@\"\nelse\n  compdef _hotgemm hotgemm\nfi\n";
}

// ---- fish

/// The condition under which a page's words are offered.
std::string fish_condition(const CommandPage& page, const CommandPage& root) {
  if (page.name == root.name) return "__fish_use_subcommand";
  std::string text;
  std::string_view rest = std::string_view(page.name).substr(root.name.size() + 1);
  while (true) {
    const std::size_t end = rest.find(' ');
    text += fmt::format("{}__fish_seen_subcommand_from {}", text.empty() ? "" : "; and ", rest.substr(0, end));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  if (page.commands.empty()) return text;
  Words names;
  for (const CommandPage& command : page.commands) names.push_back(command.last_name());
  return text + fmt::format("; and not __fish_seen_subcommand_from {}", fmt::join(names, " "));
}

std::string fish_option(const OptionPage& option) {
  std::string text;
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (option.is_flag) return text;
  if (option.value.is_path) return text + " -r -F";
  return text + " -x" +
         (option.value.choices.empty() ? "" : fmt::format(" -a '{}'", fmt::join(option.value.choices, " ")));
}

std::string fish_script(const CommandPage& root) {
  std::string text = "# fish completion for hotgemm, made by `hotgemm completion fish`\n\ncomplete -c hotgemm -f\n";
  for_each_page(root, [&](const CommandPage& page) {
    const std::string start = "complete -c hotgemm -n " + single_quoted(fish_condition(page, root));
    const auto described = [](const std::string& meaning) { return " -d " + single_quoted(short_meaning(meaning)); };
    for (const CommandPage& command : page.commands) {
      text += start + " -a " + command.last_name() + described(command.meaning) + "\n";
    }
    for_each_option(page, [&](const OptionPage& option) {
      text += start + fish_option(option) + described(option.meaning) + "\n";
    });
    if (const Words words = argument_words(page); !words.empty()) {
      text += fmt::format("{} -a '{}'\n", start, fmt::join(words, " "));
    }
    if (takes_paths(page)) text += start + " -F\n";
  });
  return text;
}

}  // namespace

std::string completion_script(std::string_view shell, const CommandPage& root) {
  if (shell == "bash") return bash_script(root);
  return shell == "zsh" ? zsh_script(root) : fish_script(root);
}

}  // namespace hotgemm::command
