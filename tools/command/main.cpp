#include "command/commands.hpp"
#include "command/progress.hpp"
#include "command/suggest.hpp"

#include <hotgemm/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm::command {
namespace {

std::string quoted(std::string_view word) {
  const bool is_plain = !word.empty() && word.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_@%+=:,./-") == std::string_view::npos;
  if (is_plain) return std::string(word);
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string command_line(const std::vector<std::string_view>& words) {
  std::string text = "hotgemm";
  for (const std::string_view word : words) text += " " + quoted(word);
  return text;
}

void add_commands(CLI::App& app, Session& session) {
  app.set_version_flag("--version", std::string("hotgemm ") + HOTGEMM_VERSION, "print the version");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 good, 1 usage, 2 some problems failed, 3 environment (no GPU, no NVRTC, a kernel\n"
      "that could not be stored, ...), 4 wrong numbers, 130 interrupted with results saved.\n"
      "`hotgemm COMMAND --help` lists a command's options.");
  add_info_command(app, session);
  add_prewarm_command(app, session);
  add_tune_command(app, session);
  add_bench_command(app, session);
  add_ladder_command(app, session);
  add_show_command(app, session);
  add_cache_command(app, session);
  add_db_command(app, session);
  add_emulate_command(app, session);
  add_worker_command(app, session);
  add_compile_worker_command(app, session);
}

int report_error(Session& session, std::string_view code, const std::string& message, int exit_code) {
  fmt::print(stderr, "hotgemm: {}\n", message);
  if (session.json) session.output["error"] = Json{{"code", code}, {"message", message}};
  return exit_code;
}

std::vector<CLI::App*> commands_of(CLI::App& group) {
  return group.get_subcommands([](CLI::App* sub) { return !sub->get_group().empty(); });  // not those for workers
}

std::string unknown_command(CLI::App& group, std::string_view word) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(group)) names.push_back(command->get_name());
  const std::string meant = did_you_mean(word, names);
  return fmt::format("{} has no command {}{}", group.get_name(), quoted(word),
                     meant.empty() ? "; --help lists them" : meant);
}

/// The first of `words` that looks like an option and is none of the command's; empty if there is none.
std::string unknown_option(CLI::App& command, const std::vector<std::string_view>& words) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string_view word : words) {
    const std::string name(word.substr(0, word.find('=')));
    if (!name.starts_with("--") || std::ranges::find(names, name) != names.end()) continue;
    return fmt::format("{} has no option {}{}", command.get_name(), quoted(std::string_view(name)),
                       did_you_mean(name, names));
  }
  return {};
}

/// Names the unknown word, and what it was probably meant to be: CLI11 only says that something is missing or too much.
std::string usage_message(CLI::App& app, const std::vector<std::string_view>& words, const CLI::ParseError& error) {
  CLI::App* group = &app;
  for (const std::string_view word : words) {
    if (commands_of(*group).empty()) break;
    const auto named = group->get_subcommands([&](CLI::App* sub) { return sub->get_name() == word; });
    if (named.empty() && word.starts_with('-')) break;
    if (named.empty()) return unknown_command(*group, word);
    group = named.front();
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    if (std::string message = unknown_option(*group, words); !message.empty()) return message;
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) == nullptr || commands_of(*group).empty()) return error.what();
  return fmt::format("{} needs a command; --help lists them", group->get_name());
}

int run(Session& session) {
  try {
    if (!session.log_level.empty()) set_log_level(session.log_level);
    watch_for_interrupt();
    return session.run();
  } catch (const Error& error) {
    const bool is_log = error.code() == ErrorCode::compile_failed;
    return report_error(session, to_string(error.code()), is_log ? error.what() : one_line(error.what()),
                        exit_code_of(error.code()));
  } catch (const CLI::Error& error) {
    return report_error(session, "usage", error.what(), kUsage);
  } catch (const std::exception& error) {
    return report_error(session, "internal", error.what(), kSomeFailed);
  }
}

/// Finishes the output and reports an error if it could not be written.
int finish(const Session& session, int exit_code) {
  // Replace text that is not UTF-8, such as a file name, instead of throwing.
  if (session.json) fmt::print("{}\n", session.output.dump(2, ' ', false, Json::error_handler_t::replace));
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  fmt::print(stderr, "hotgemm: cannot write to stdout\n");
  return exit_code == kGood ? kEnvironment : exit_code;
}

int parse_and_run(int argc, char** argv) {
  Session session;
  const std::vector<std::string_view> words(argv + std::min(argc, 1), argv + argc);
  session.command_line = command_line(words);
  CLI::App app("hotgemm: GEMM kernels generated, compiled and tuned at run time", "hotgemm");
  add_commands(app, session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    app.exit(request);
    return finish(session, kGood);
  } catch (const Error& error) {  // of an option's value
    session.json = std::ranges::find(words, "--json") != words.end();
    return finish(session,
                  report_error(session, to_string(error.code()), one_line(error.what()), exit_code_of(error.code())));
  } catch (const CLI::ParseError& error) {
    session.json = std::ranges::find(words, "--json") != words.end();
    return finish(session, report_error(session, "usage", usage_message(app, words, error), kUsage));
  }
  return finish(session, run(session));
}

}  // namespace
}  // namespace hotgemm::command

int main(int argc, char** argv) {
  try {
    return hotgemm::command::parse_and_run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hotgemm: %s\n", error.what());
    return hotgemm::command::kSomeFailed;
  }
}
