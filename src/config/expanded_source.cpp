#include "config/expanded_source.hpp"

#include "config/function_source.hpp"
#include "config/include_scan.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

class Expansion {
 public:
  explicit Expansion(const std::vector<TemplateFile>& files) : files_(files) {}

  void add(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
      add_line(text.substr(begin, end - begin));
      begin = end;
    }
  }
  std::string result() && { return std::move(result_); }

 private:
  void add_line(std::string_view line) {
    if (line.starts_with("#pragma once")) return;  // for files that are included
    const std::vector<IncludeDirective> includes = includes_of(line);
    const auto file =
        includes.empty() ? files_.end() : std::ranges::find(files_, includes[0].name, &TemplateFile::path);
    if (file == files_.end()) {
      result_ += line;
    } else if (seen_.insert(file->path).second) {
      result_ += "// ---- " + file->path + " ----\n";
      add(file->text);
    }
  }

  const std::vector<TemplateFile>& files_;
  std::set<std::string> seen_;
  std::string result_;
};

}  // namespace

std::string expanded_source(const KernelSource& source, const TemplateBundle& bundle) {
  std::vector<TemplateFile> files = bundle.files();
  if (!source.function.empty()) files.push_back({kFunctionHeader, source.function});
  Expansion expansion(files);
  expansion.add(source.text);
  return std::move(expansion).result();
}

}  // namespace hotgemm
