// The parts that a family must have besides its registration. A failure names the missing part and the file to add it
// to. CONTRIBUTING.md lists the same steps.

#include "config/families.hpp"

#include "config/template_bundle.hpp"
#include "config/traits.hpp"
#include "ladder/ladder.hpp"
#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

namespace fs = std::filesystem;
const fs::path kRoot = HOTGEMM_SOURCE_DIR;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string missing(const Family& family, const std::string& what) {
  return "family " + std::string(family.name) + " has no " + what + " (CONTRIBUTING.md, \"A family\")";
}

std::string upper_camel(std::string_view name) {
  std::string text(name);
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

TEST(Families, AreRegisteredUnderOneName) {
  std::set<std::string_view> names;
  for (const Family& family : families()) {
    const std::string name(family.name);
    EXPECT_TRUE(names.insert(family.name).second) << "two families are named " << name;
    EXPECT_EQ(family.config, upper_camel(name) + "Config");
    EXPECT_EQ(family.header, name + ".cuh");
    EXPECT_EQ(family.function, name + "_gemm");
  }
}

TEST(Families, HaveATemplateWithTheirFunctionAndParameter) {
  for (const Family& family : families()) {
    const std::string text = text_of(kRoot / "templates" / family.header);
    EXPECT_FALSE(text.empty()) << missing(family, "template: add templates/" + std::string(family.header));
    const std::string signature = std::string(family.function) + "(const " + std::string(family.args) + "& ";
    EXPECT_NE(text.find(signature), std::string::npos)
        << missing(family, "function " + signature + "args) in templates/" + std::string(family.header));
  }
}

/// Configs of a family: the default one, and those of its menu for `traits`.
template <class Config>
std::vector<Config> some_configs(const GemmTraits& traits) {
  std::vector<Config> configs = {Config{}};
  for (const KernelConfig& config : menus(traits)) {
    if (const auto* one = std::get_if<Config>(&config)) configs.push_back(*one);
  }
  return configs;
}

TEST(Families, HaveAMenu) {
  for_each_family([]<class Config>(std::type_identity<Config>) {
    const Family& family = FamilyOf<Config>::kFamily;
    bool has_one = false;
    for (const KernelTypes& types : family.types) {
      const GemmTraits traits =
          make_traits({types.element, types.accumulator}, {}, false, 16 / size_bytes(types.element));
      has_one = has_one || some_configs<Config>(traits).size() > 1;
    }
    EXPECT_TRUE(has_one) << missing(family, "menu: its append_menu in src/plan/candidates.cpp appends nothing");
  });
}

/// Calls visit(types) for A, B, D and sums of any types.
template <class Visit>
void for_all_types(const Visit& visit) {
  for (int a = 0; a < kElementTypes; ++a) {
    for (int sum = 0; sum < kElementTypes; ++sum) {
      for (int b = 0; b < kElementTypes; ++b) {
        for (int d = 0; d < kElementTypes; ++d) {
          visit(KernelTypes{static_cast<DType>(a), static_cast<DType>(sum), static_cast<DType>(b),
                            static_cast<DType>(d)});
        }
      }
    }
  }
}

TEST(Families, TakeTheTypesThatTheyState) {
  for_each_family([]<class Config>(std::type_identity<Config>) {
    const Family& family = FamilyOf<Config>::kFamily;
    // The configs of the menu for the family's first types.
    const KernelTypes& first = family.types.front();
    const std::vector<Config> configs = some_configs<Config>(make_traits(first, {}));
    // Thousands of mixtures are not stated, and a config that took one would take it in any tile.
    std::vector<Config> few;
    for (std::size_t i = 0; i < configs.size(); i += 7) few.push_back(configs[i]);
    for_all_types([&](const KernelTypes& types) {
      const bool is_stated = std::ranges::count(family.types, types) > 0;
      // Types may need configs of their own, and a layout that their instructions read.
      const auto is_taken_in = [&](const Layout& layout) {
        const GemmTraits traits = aligned_traits(types, layout);
        const auto is_taken = [&](const Config& config) {
          return std::ranges::any_of(kArchTable,
                                     [&](const ArchLimits& arch) { return is_legal(config, traits, arch); });
        };
        return std::ranges::any_of(is_stated ? configs : few, is_taken) ||
               (is_stated && std::ranges::any_of(some_configs<Config>(traits), is_taken));
      };
      EXPECT_EQ(std::ranges::any_of(kLayouts, is_taken_in), is_stated)
          << "family " << family.name << ": is_legal and the registered types disagree on "
          << to_string(aligned_traits(types, kLayouts[0]));
      EXPECT_LE(std::ranges::count(family.types, types), 1) << to_string(aligned_traits(types, kLayouts[0]));
    });
  });
}

/// A tile of a menu as the shortlist sees it: the fields of its kind.
std::string tile_of(const KernelConfig& config) {
  std::string text(family_of(config).name);
  const auto add = [&](const ConfigField& field, auto value) {
    if (field.kind == FieldKind::tile) text += "_" + (field.tag + std::to_string(static_cast<int>(value)));
  };
  std::visit([&](const auto& c) { c.visit_fields(c, add); }, config);
  return text;
}

TEST(Families, HaveNoTileThatIsLegalNowhere) {
  std::set<std::string> tiles, legal;
  for (const TypePair& types : kAllTypes) {
    for (const Layout& layout : kLayouts) {
      const GemmTraits traits = aligned_traits(types, layout);
      for (const KernelConfig& config : menus(traits)) {
        const std::string tile = tile_of(config);
        tiles.insert(tile);
        if (legal.contains(tile)) continue;
        const bool is_somewhere =
            std::ranges::any_of(kArchTable, [&](const ArchLimits& arch) { return is_legal(config, traits, arch); });
        if (is_somewhere) legal.insert(tile);
      }
    }
  }
  for (const std::string& tile : tiles) {
    EXPECT_TRUE(legal.contains(tile)) << "no kernel of the tile " << tile
                                      << " is legal on any architecture: see is_legal in templates/shared/"
                                      << tile.substr(0, tile.find('_')) << "_config.hpp";
  }
}

template <class Config>
std::map<std::string, int> added_values(const Config& config) {
  std::map<std::string, int> values;
  Config::visit_fields(config, [&](const ConfigField& field, auto value) {
    if (field.is_added) values[field.name] = value;
  });
  return values;
}

TEST(Families, VaryEachAddedField) {
  for_each_family([]<class Config>(std::type_identity<Config>) {
    std::vector<Config> configs;
    for (const TypePair& types : kAllTypes) {
      for (const int vec : {1, 16 / size_bytes(types.element)}) {
        const std::vector<Config> some = some_configs<Config>(make_traits(types, {}, false, vec));
        configs.insert(configs.end(), some.begin(), some.end());
      }
    }
    for (const KernelTypes& types : FamilyOf<Config>::kFamily.types) {
      const std::vector<Config> some = some_configs<Config>(aligned_traits(types, {Op::n, Op::t}));
      configs.insert(configs.end(), some.begin(), some.end());
    }
    for (const Rung& rung : rungs()) {
      if (rung.config && std::holds_alternative<Config>(*rung.config))
        configs.push_back(std::get<Config>(*rung.config));
    }
    const Config defaults;
    for (const auto& [name, value] : added_values(defaults)) {
      const auto differs = [&](const Config& config) { return added_values(config).at(name) != value; };
      EXPECT_TRUE(std::ranges::any_of(configs, differs))
          << "field " << name << " of family " << FamilyOf<Config>::kFamily.name << " has its default in every menu ("
          << "src/plan/) and rung (src/ladder/rung_table.hpp): nobody uses it";
    }
  });
}

TEST(Families, HaveAGoldenRender) {
  for (const Family& family : families()) {
    const std::string beginning = "hotgemm_" + std::string(family.name) + "_";
    bool has_one = false;
    for (const auto& entry : fs::directory_iterator(kRoot / "tests" / "golden")) {
      const std::string file = entry.path().filename().string();
      has_one = has_one || (file.starts_with(beginning) && !file.starts_with(beginning + "ceiling"));
    }
    EXPECT_TRUE(has_one) << missing(family, "golden render: add a case to kGolden in tests/unit/render_test.cpp");
  }
}

/// A kernel with mutants and a page of its own that is of no family: its launches go before those of a GEMM.
constexpr const char* kInFrontOfFamilies = "repack";

TEST(Families, HaveEmulatedKernelsAndMutants) {
  const std::string mutants = text_of(kRoot / "tests/emulate/mutants.py");
  ASSERT_FALSE(mutants.empty());
  for (const Family& family : families()) {
    const std::string name(family.name), program = "tests/emulate/mutant_" + name + ".cpp";
    EXPECT_TRUE(fs::exists(kRoot / program)) << missing(family, "program that runs its mutants: add " + program);
    EXPECT_NE(mutants.find("\n    \"" + name + "_"), std::string::npos)
        << missing(family, "mutants: add some, named " + name + "_…, to MUTANTS in tests/emulate/mutants.py");
  }
  std::set<std::string> names = {kInFrontOfFamilies};
  for (const Family& family : families()) names.emplace(family.name);
  for (const auto& entry : fs::directory_iterator(kRoot / "tests/emulate")) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() != ".cpp" || !stem.starts_with("mutant_") || stem == "mutant_runner") continue;
    EXPECT_TRUE(names.contains(stem.substr(7))) << entry.path() << " is for a family that is not registered";
  }
}

TEST(Families, HaveAPage) {
  for (const Family& family : families()) {
    const std::string page = "docs/kernels/" + std::string(family.name) + ".md";
    EXPECT_TRUE(fs::exists(kRoot / page)) << missing(family, "page: add " + page);
    EXPECT_NE(text_of(kRoot / "README.md").find("(" + page + ")"), std::string::npos)
        << missing(family, "row in README.md that links to " + page);
  }
}

std::string types_text(const Family& family) {
  std::string text;
  for (const KernelTypes& types : family.types) {
    if (types.element_b != types.element || types.element_d != types.element) continue;
    text += (text.empty() ? "" : ", ") + std::string(to_string(types.element)) + " in " +
            std::string(to_string(types.accumulator));
  }
  return text;
}

/// "[simt](simt.md), [mma](mma.md)": the families that state these types.
std::string families_text(const KernelTypes& types) {
  std::string text;
  for (const Family& family : families()) {
    if (std::ranges::count(family.types, types) == 0) continue;
    const std::string name(family.name);
    text += (text.empty() ? "" : ", ") + std::string("[").append(name).append("](").append(name).append(".md)");
  }
  return text;
}

/// The table of all types that kernels have, made from the registrations.
std::string types_table() {
  std::string text =
      "\n## Types\n\n"
      "C has the type of D. Scalars alpha and beta are f32; for D of s32 they are whole numbers. Matrices of tf32 are "
      "f32, of\n"
      "a problem with compute type tf32.\n\n"
      "| A | B | sums | D | families |\n|---|---|---|---|---|\n";
  for_all_types([&](const KernelTypes& types) {
    const std::string found = families_text(types);
    if (found.empty()) return;
    for (const DType type : {types.element, types.element_b, types.accumulator, types.element_d})
      text.append("| ").append(to_string(type)).append(" ");
    text += "| " + found + " |\n";
  });
  return text;
}

/// The table of docs/kernels/README.md, made from the registrations.
std::string page_index() {
  std::string text =
      "# The families of kernels\n\n"
      "`tests/unit/families_test.cpp` writes this page from the registrations in `src/config/families.hpp`.\n\n"
      "| page | template | runs on | types where A, B and D have one, and of their sums; all types are below "
      "|\n|---|---|---|---|\n";
  for (const Family& family : families()) {
    const std::string name(family.name), header(family.header);
    text += "| [" + name + "](" + name + ".md) | [" + header + "](../../templates/" + header + ") | " +
            std::string(family.runs_on) + " | " + types_text(family) + " |\n";
  }
  return text + types_table() +
         "\n## Launches\n\nBeside its config a pick has a launch. Reports print it as `r8mp_xab_s4`:\n\n"
         "| part | stands for |\n|---|---|\n"
         "| `r8m`, `r8n` | the raster: blocks take tiles in groups of 8 rows, or of 8 columns, of tiles |\n"
         "| `p` | a programmatic launch: the kernel begins while the one before it ends |\n"
         "| `_xa`, `_xb`, `_xab` | A, B or both are [copied](repack.md) into aligned rows first; `_xat`: and "
         "transposed |\n"
         "| `_s4` | k is divided into 4 parts, each summed by blocks of its own |\n\n"
         "`show` and `prewarm` without a GPU plan for a usual GPU of the architecture; for sm_90a that is an H200.\n";
}

bool updates() {
  const char* update = std::getenv("HOTGEMM_UPDATE_GOLDEN");
  return update != nullptr && std::string(update) == "1";
}

std::string word_of(FieldKind kind) {
  switch (kind) {
    case FieldKind::tile: return "tile";
    case FieldKind::pipeline: return "pipeline";
    case FieldKind::depth: return "pipeline, its depth";
    case FieldKind::rung: return "rungs alone";
  }
  return "";
}

template <class Config>
std::string field_table() {
  std::string text = "| field | tag | decides | meaning |\n|---|---|---|---|\n";
  const Config defaults;
  Config::visit_fields(defaults, [&](const ConfigField& field, auto) {
    text += "| `" + std::string(field.name) + "` | `" + field.tag + "` | " + word_of(field.kind) + " | " +
            field.meaning + " |\n";
  });
  return text;
}

const std::string kFieldsBegin = "<!-- fields -->\n", kFieldsEnd = "<!-- /fields -->\n";

/// The page with `table` between its marks; empty if it has no marks.
std::string with_field_table(const std::string& page, const std::string& table) {
  const std::size_t from = page.find(kFieldsBegin), to = page.find(kFieldsEnd);
  if (from == page.npos || to == page.npos) return "";
  return page.substr(0, from + kFieldsBegin.size()) + table + page.substr(to);
}

TEST(Families, HaveTheirFieldsOnTheirPage) {
  for_each_family([]<class Config>(std::type_identity<Config>) {
    const fs::path path = kRoot / "docs/kernels" / (std::string(FamilyOf<Config>::kFamily.name) + ".md");
    const std::string page = text_of(path), expected = with_field_table(page, field_table<Config>());
    ASSERT_FALSE(expected.empty()) << path << " lacks the lines between which the table of fields stands:\n"
                                   << kFieldsBegin << kFieldsEnd;
    if (updates()) std::ofstream(path, std::ios::binary) << expected;
    EXPECT_TRUE(text_of(path) == expected)
        << path << " has another table of fields; HOTGEMM_UPDATE_GOLDEN=1 writes this one:\n"
        << field_table<Config>();
  });
}

TEST(Families, HaveAnIndexOfPages) {
  const fs::path path = kRoot / "docs/kernels/README.md";
  if (updates()) std::ofstream(path, std::ios::binary) << page_index();
  EXPECT_EQ(text_of(path), page_index()) << path << "; HOTGEMM_UPDATE_GOLDEN=1 rewrites it";
  std::set<std::string> pages = {"README.md", std::string(kInFrontOfFamilies) + ".md"};
  for (const Family& family : families()) pages.insert(std::string(family.name) + ".md");
  for (const auto& entry : fs::directory_iterator(path.parent_path())) {
    EXPECT_TRUE(pages.contains(entry.path().filename().string()))
        << entry.path() << " is for a family that is not registered";
  }
}

}  // namespace
}  // namespace hotgemm
