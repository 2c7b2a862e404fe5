#include "config/template_bundle.hpp"

#include "base/environment.hpp"
#include "base/text_file.hpp"
#include "config/embedded_templates.hpp"
#include "config/identity.hpp"
#include "config/include_scan.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

namespace hotgemm {
namespace {

namespace fs = std::filesystem;

const TemplateFile* find(const std::vector<TemplateFile>& files, std::string_view path) {
  const auto it =
      std::ranges::lower_bound(files, path, {}, [](const TemplateFile& f) { return std::string_view(f.path); });
  return it != files.end() && it->path == path ? &*it : nullptr;
}

std::vector<IncludeDirective> includes_in(const TemplateFile& file) {
  try {
    return includes_of(file.text);
  } catch (const Error& error) {
    throw Error(error.code(), "template " + file.path + ": " + error.what());
  }
}

void collect(const std::vector<TemplateFile>& files, const std::string& path, std::set<std::string>& seen) {
  if (!seen.insert(path).second) return;
  const TemplateFile* file = find(files, path);
  if (file == nullptr) throw Error(ErrorCode::io_error, "template " + path + " is missing");
  for (const IncludeDirective& include : includes_in(*file)) {
    // Templates include each other by the path from templates/, as NVRTC needs it, with quotes or angles. Other files
    // in angles are the compiler's.
    if (include.is_angled && find(files, include.name) == nullptr) continue;
    collect(files, include.name, seen);
  }
}

std::string digest_of(const std::vector<TemplateFile>& files, const std::string& entry) {
  std::set<std::string> closure;
  collect(files, entry, closure);
  IdentityBuilder builder;
  for (const std::string& path : closure) {
    builder.field("path", path);
    builder.field("text", find(files, path)->text);
  }
  return builder.build().hex();
}

}  // namespace

TemplateBundle TemplateBundle::embedded() {
  TemplateBundle bundle("embedded", {});
  bundle.lazy_->is_embedded = true;
  for (const auto& [entry, digest] : embedded_digests()) bundle.lazy_->digests.emplace(entry, digest);
  return bundle;
}

TemplateBundle TemplateBundle::from_directory(const std::string& directory) {
  std::error_code error;
  std::vector<TemplateFile> files;
  for (auto it = fs::recursive_directory_iterator(directory, error); !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    const std::string extension = it->path().extension().string();
    if (std::error_code ignored; !it->is_regular_file(ignored) || (extension != ".cuh" && extension != ".hpp"))
      continue;
    files.push_back({it->path().lexically_relative(directory).string(), read_text_file(it->path())});
  }
  if (error) throw Error(ErrorCode::io_error, "cannot read template directory " + directory + ": " + error.message());
  if (files.empty()) throw Error(ErrorCode::io_error, "template directory " + directory + " holds no templates");
  return TemplateBundle(directory, std::move(files));
}

TemplateBundle TemplateBundle::from_files(std::string origin, std::vector<TemplateFile> files) {
  return TemplateBundle(std::move(origin), std::move(files));
}

TemplateBundle TemplateBundle::from_environment() {
  const std::string directory = environment_variable("HOTGEMM_TEMPLATE_DIR");
  return directory.empty() ? embedded() : from_directory(directory);
}

TemplateBundle::TemplateBundle(std::string origin, std::vector<TemplateFile> files) : origin_(std::move(origin)) {
  std::ranges::sort(files, {}, &TemplateFile::path);
  lazy_->files = std::move(files);
}

const std::vector<TemplateFile>& TemplateBundle::files() const {
  if (lazy_->is_embedded) {
    std::call_once(lazy_->copying, [&] {
      for (const auto& [path, text] : embedded_templates())
        lazy_->files.push_back({std::string(path), std::string(text)});
    });
  }
  return lazy_->files;
}

void TemplateBundle::add(FunctionSource function) {
  const std::lock_guard lock(lazy_->adding);
  const auto [place, is_new] = lazy_->functions.try_emplace(function.function().number(), function);
  if (is_new || place->second.digest() == function.digest()) return;
  throw Error(ErrorCode::invalid_argument, "two functions of epilogues have the number " +
                                               to_string(function.function()) + ": change a space of one");
}

const FunctionSource& TemplateBundle::source_of(const EpilogueFunction& function) const {
  const std::lock_guard lock(lazy_->adding);
  const auto found = lazy_->functions.find(function.number());
  if (found != lazy_->functions.end()) return found->second;  // it is never removed
  throw Error(ErrorCode::invalid_argument, "the source of the epilogue's function " + to_string(function) +
                                               " is not known: pass it to Context::add_function, or to the command by "
                                               "--epilogue FILE");
}

const std::string& TemplateBundle::digest(std::string_view entry) const {
  const std::lock_guard lock(lazy_->hashing);
  const auto it = lazy_->digests.find(entry);
  if (it != lazy_->digests.end()) return it->second;
  try {
    const std::string name(entry);
    return lazy_->digests.emplace(name, digest_of(files(), name)).first->second;
  } catch (const Error& error) {
    throw Error(error.code(), std::string(error.what()) + " in " + origin_);
  }
}

}  // namespace hotgemm
