#include "command/command_page.hpp"
#include "command/commands.hpp"
#include "command/completion.hpp"
#include "command/help_text.hpp"
#include "command/man_page.hpp"
#include "command/output_file.hpp"
#include "command/suggest.hpp"
#include "command/terminal.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

// The commands that print or write what is known about the commands.

namespace hotgemm::command {
namespace {

int print_help(const CLI::App& app, const std::vector<std::string>& words) {
  CommandPage page = page_of(app);
  for (const std::string& word : words) {
    const auto named = std::ranges::find(page.commands, word, &CommandPage::last_name);
    if (named == page.commands.end()) {
      std::vector<std::string> names;
      for (const CommandPage& command : page.commands) names.push_back(command.last_name());
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} has no command {}{}", page.last_name(), word, did_you_mean(word, names)));
    }
    CommandPage command = std::move(*named);
    page = std::move(command);
  }
  write_out(help_text(page, terminal_columns(STDOUT_FILENO)));
  return kGood;
}

void write_page(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  write_file(path, text);
}

void write_man_pages(const std::filesystem::path& directory, const CommandPage& page, const CommandPage& root) {
  write_page(directory / (man_name(page) + ".1"), man_page(page, root));
  for (const CommandPage& command : page.commands) write_man_pages(directory, command, root);
}

int write_pages(const CLI::App& app, const std::filesystem::path& directory) {
  const CommandPage root = page_of(app);
  write_man_pages(directory / "man", root, root);
  write_page(directory / "bash/hotgemm", completion_script("bash", root));
  write_page(directory / "zsh/_hotgemm", completion_script("zsh", root));
  write_page(directory / "fish/hotgemm.fish", completion_script("fish", root));
  return kGood;
}

}  // namespace

void add_page_commands(CLI::App& app, Session& session) {
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App& help = *app.add_subcommand("help", "print the help of a command");
  std::vector<std::string> names;
  for (const CommandPage& command : page_of(app).commands) names.push_back(command.last_name());
  // The first word is one of the names; this is how CLI11 writes a type with its choices.
  help.add_option("command", *words, "the words of the command: tune, or cache ls")
      ->type_name(fmt::format("TEXT:{{{}}}", fmt::join(names, ",")));
  help.callback([&app, &help, &session, words] {
    check_values(help);
    session.run = [&app, words] { return print_help(app, *words); };
  });

  const auto shell = std::make_shared<std::string>();
  CLI::App& completion = *app.add_subcommand("completion", "print the completions of a shell, for its startup file");
  completion.add_option("shell", *shell, "the shell: bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion.callback([&app, &session, shell] {
    session.run = [&app, shell] {
      write_out(completion_script(*shell, page_of(app)));
      return kGood;
    };
  });

  const auto directory = std::make_shared<std::string>();
  CLI::App& pages = *app.add_subcommand("pages", "write manual pages and completions into a directory");
  pages.group("");  // for the build
  pages.add_option("directory", *directory)->required();
  pages.callback([&app, &pages, &session, directory] {
    check_values(pages);
    session.run = [&app, directory] { return write_pages(app, *directory); };
  });
}

}  // namespace hotgemm::command
