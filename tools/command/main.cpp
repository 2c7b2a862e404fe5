#include "command/command_page.hpp"
#include "command/commands.hpp"
#include "command/help_text.hpp"
#include "command/standard_streams.hpp"
#include "command/terminal.hpp"
#include "command/usage_error.hpp"
#include "command/version_text.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm::command {
namespace {

std::string command_line(const std::vector<std::string_view>& words) {
  std::string text = "hotgemm";
  for (const std::string_view word : words) text += " " + shell_quoted(word);
  return text;
}

void add_commands(CLI::App& app, Session& session) {
  app.set_help_flag("-h,--help", "print this help")->group(kCommonGroup);
  app.set_version_flag("-V,--version", version_text, "print the version, the commit, and what is found of CUDA")
      ->group(kCommonGroup);
  app.require_subcommand(1);
  app.option_defaults()->disable_flag_override();
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
  add_page_commands(app, session);
  app.footer(
      "Exit codes: 0 good, 1 usage, 2 some problems failed or a check found something, 3 environment (no GPU, no "
      "NVRTC, a kernel or a record that could not be stored, ...), 4 wrong numbers, 130 interrupted with results "
      "saved.\n\n"
      "`hotgemm help COMMAND` describes a command and its options.");
}

int report_error(Session& session, std::string_view code, const std::string& message, int exit_code) {
  print_err("hotgemm: {}\n", message);
  if (session.json) session.output["error"] = Json{{"code", code}, {"message", message}};
  return exit_code;
}

void print_help(const CLI::App& app) {
  const CLI::App* asked = &app;
  while (!asked->get_subcommands().empty()) asked = asked->get_subcommands().back();
  write_out(help_text(page_of(*asked), terminal_columns(STDOUT_FILENO)));
}

int run(Session& session) {
  try {
    if (!session.log_level.empty()) set_log_level(session.log_level);
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

/// The output under the name and version of its schema, which stand first.
Json with_schema(const Session& session) {
  Json json{{"schema", {{"name", session.schema}, {"version", kJsonVersion}}}};
  json.update(session.output);
  return json;
}

/// Finishes the output and reports an error if it could not be written.
int finish(const Session& session, int exit_code) {
  // Replace text that is not UTF-8, such as a file name, instead of throwing.
  if (session.json) write_out(with_schema(session).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  print_err("hotgemm: cannot write to stdout\n");
  return exit_code == kGood ? kEnvironment : exit_code;
}

int parse_and_run(int argc, char** argv) {
  Session session;
  const std::vector<std::string_view> words(argv + std::min(argc, 1), argv + argc);
  session.command_line = command_line(words);
  CLI::App app("GEMM kernels generated, compiled and tuned at run time", "hotgemm");
  add_commands(app, session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print_help(app);
    return finish(session, kGood);
  } catch (const CLI::Success& request) {  // --version
    write_out(std::string(request.what()) + "\n");
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
  hotgemm::command::open_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit of size is then an error like a full disk
  try {
    return hotgemm::command::parse_and_run(argc, argv);
  } catch (const std::exception& error) {
    hotgemm::command::print_err("hotgemm: {}\n", error.what());
    return hotgemm::command::kSomeFailed;
  }
}
