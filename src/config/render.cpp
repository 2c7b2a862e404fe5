#include "config/render.hpp"

#include "base/member_count.hpp"
#include "config/identity.hpp"
#include "config/problem_enums.hpp"
#include "config/traits.hpp"
#include "config/wgmma_instruction.hpp"

#include <hotgemm/types.hpp>

#include <fmt/format.h>

#include <type_traits>

namespace hotgemm {
namespace {

// Increased when a change of this file changes the meaning of a rendered unit without changing its text.
constexpr std::string_view kRendererVersion = "1";

std::string literal(bool value) { return value ? "true" : "false"; }
std::string literal(int value) { return std::to_string(value); }
std::string literal(DType value) { return "hotgemm::DType::" + std::string(to_string(value)); }
std::string literal(Op value) { return "hotgemm::Op::" + std::string(to_string(value)); }

std::string literal(Scaling value) { return "hotgemm::Scaling::" + std::string(to_string(value)); }
std::string literal(Bias value) {
  switch (value) {
    case Bias::none: break;
    case Bias::per_column: return "hotgemm::Bias::per_column";
    case Bias::per_row: return "hotgemm::Bias::per_row";
  }
  return "hotgemm::Bias::none";
}
std::string literal(const EpilogueFunction& value) {
  return fmt::format("{{{{{}, {}, {}}}, {}}}", value.digest[0], value.digest[1], value.digest[2], value.operands);
}
std::string literal(Gate value) { return "hotgemm::Gate::" + std::string(to_string(value)); }
std::string literal(Activation value) { return "hotgemm::Activation::" + std::string(to_string(value)); }

// A kernel that is rendered without a field of its traits computes something else.
static_assert(member_count<GemmTraits>() == 17 && member_count<Epilogue>() == 13,
              "put the new field into its initializer below, and into the symbol (traits.cpp); correct the number");

/// The fields of an epilogue that are not the default.
std::string epilogue_initializer(const Epilogue& e) {
  std::string text;
  const auto add = [&](std::string_view name, auto value) {
    if (value == decltype(value){}) return;
    text += (text.empty() ? "." : ", .") + std::string(name) + " = " + literal(value);
  };
  add("scale_a", e.scale_a);
  add("scale_b", e.scale_b);
  add("bias", e.bias);
  add("aux", e.aux);
  add("activation", e.activation);
  add("gate", e.gate);
  add("residual", e.residual);
  add("amax", e.amax);
  add("scale_d", e.scale_d);
  add("scalars", e.scalars);
  add("function", e.function);
  add("bits", e.bits);
  add("bias_gradient", e.bias_gradient);
  return text;
}

std::string traits_initializer(const GemmTraits& t) {
  std::string types = ".element = " + literal(t.element) + ", .accumulator = " + literal(t.accumulator);
  if (!t.is_uniform()) types += ", .element_b = " + literal(t.element_b) + ", .element_d = " + literal(t.element_d);
  return types + ", .op_a = " + literal(t.op_a) + ", .op_b = " + literal(t.op_b) +
         ", .reads_c = " + literal(t.reads_c) + ", .vec_a = " + literal(t.vec_a) + ", .vec_b = " + literal(t.vec_b) +
         ", .vec_d = " + literal(t.vec_d) + (t.fast_sums ? ", .fast_sums = true" : "") +
         (t.is_fused() ? ", .epilogue = {" + epilogue_initializer(t.epilogue) + "}" : "") +
         (t.batched ? ", .batched = true" : "") + (t.grouped ? ", .grouped = true" : "") +
         (t.masked ? ", .masked = true" : "") + (t.along_k ? ", .along_k = true" : "") +
         (t.pointers ? ", .pointers = true" : "");
}

template <class Config>
std::string config_initializer(const Config& config) {
  std::string text;
  config.visit_fields(config, [&](const ConfigField& field, auto value) {
    if (!field.is_named(value)) return;
    text += (text.empty() ? "." : ", .") + std::string(field.name) + " = " + literal(value);
  });
  return text;
}

/// The parts of a unit that are specific to a family, besides the family's names.
struct FamilyText {
  std::string definitions;        ///< before the kernel
  std::string template_argument;  ///< follows traits and config
  std::string launch_bounds = "kConfig.threads(), kConfig.blocks_per_sm";
  std::string attributes;  ///< attributes of the kernel, besides its launch bounds
  std::string function;    ///< if it is not the family's
  bool takes_workspace = false;
};

/// The text of a family without parts of its own.
template <class Config>
FamilyText family_text(const Config&, const GemmTraits&) {
  if constexpr (requires { &Config::blocks_per_sm; }) {
    return {};
  } else {
    return {.launch_bounds = "kConfig.threads()"};
  }
}

FamilyText family_text(const WgmmaConfig& config, const GemmTraits& traits) {
  FamilyText text;
  text.definitions = wgmma_text({.n = config.instruction_n(),
                                 .element = config.transposed ? traits.element_b : traits.element,
                                 .accumulator = traits.accumulator,
                                 .element_b = config.transposed ? traits.element : traits.element_b,
                                 .a_is_k_major = config.row_tile(traits).k_major,
                                 .b_is_k_major = config.column_tile(traits).k_major,
                                 .a_in_registers = config.loads_rows(traits)},
                                "Instruction");
  text.template_argument = ", Instruction";
  if (config.cluster() > 1) text.attributes = " __cluster_dims__(" + std::to_string(config.cluster()) + ", 1, 1)";
  if (config.split_k) text.function = "wgmma_split_gemm";
  text.takes_workspace = config.split_k;
  return text;
}

/// With a `function`, `text` includes its header.
KernelSource finish(std::string symbol, std::string text, std::string_view entry, std::string_view arch,
                    const TemplateBundle& bundle, const FunctionSource* function = nullptr) {
  KernelSource source{.symbol = std::move(symbol), .text = std::move(text), .options = {}, .identity = {}};
  source.options = {
      "--gpu-architecture=" + std::string(arch),
      "--std=c++20",
      "--device-as-default-execution-space",  // constexpr functions of templates/shared serve host and device
      "--no-cache",                           // NVRTC's own cache would initialise the driver and hide ptxas' report
      "--modify-stack-limit=false",           // the stack limit belongs to the user's process
      "--ptxas-options=-v",
  };
  IdentityBuilder identity;
  identity.field("renderer", kRendererVersion);
  identity.field("symbol", source.symbol);
  identity.field("unit", source.text);
  identity.field("templates", bundle.digest(entry));
  if (function != nullptr) {
    identity.field("function", function->header_digest());  // caches hold identities, and not the user's text
    source.function = function->header();
  }
  identity.field("arch", arch);
  for (const std::string& option : source.options) identity.field("option", option);
  source.identity = identity.build();
  return source;
}

/// A kernel that is not a GEMM: it calls `function` of the templates with its only argument.
std::string utility_kernel(const std::string& symbol, const std::string& function, const std::string& args,
                           const std::string& threads) {
  return "extern \"C\" __global__ void __launch_bounds__(hotgemm::" + threads + ")\n" + symbol +
         "(const __grid_constant__ hotgemm::" + args + " args) {\n  hotgemm::" + function + "(args);\n}\n";
}

}  // namespace

std::string kernel_symbol(const KernelConfig& config, const GemmTraits& traits) {
  return "hotgemm_" + to_string(config) + "_" + to_string(traits);
}

KernelSource render(const KernelConfig& config, const GemmTraits& traits, std::string_view arch,
                    const TemplateBundle& bundle) {
  const Family& family = family_of(config);
  const std::string symbol = kernel_symbol(config, traits);
  const FamilyText own = std::visit([&](const auto& c) { return family_text(c, traits); }, config);
  const FunctionSource* const users =
      traits.epilogue.has_function() ? &bundle.source_of(traits.epilogue.function) : nullptr;
  std::string text = "#include \"" + std::string(family.header) + "\"\n";
  if (users != nullptr) text += "#include \"" + std::string(kFunctionHeader) + "\"\n";
  text += own.definitions;
  text += "constexpr hotgemm::GemmTraits kTraits{" + traits_initializer(traits) + "};\n";
  text += "constexpr hotgemm::" + std::string(family.config) + " kConfig{" +
          std::visit([](const auto& c) { return config_initializer(c); }, config) + "};\n";
  text += "extern \"C\" __global__ void __launch_bounds__(" + own.launch_bounds + ")" + own.attributes + "\n";
  const std::string function = own.function.empty() ? std::string(family.function) : own.function;
  const std::string args = "hotgemm::" + std::string(family.args);
  const std::string parameter = traits.epilogue.takes_extras() ? "hotgemm::WithExtras<" + args + ">"
                                : traits.grouped               ? "hotgemm::Grouped<" + args + ">"
                                : traits.batched               ? "hotgemm::Batched<" + args + ">"
                                : traits.is_fused()            ? "hotgemm::Fused<" + args + ">"
                                                               : args;
  text += symbol + "(const __grid_constant__ " + parameter + " args" +
          (own.takes_workspace ? ", const __grid_constant__ hotgemm::WorkspaceArgs workspace" : "") + ") {\n";
  text += "  hotgemm::" + function + "<kTraits, kConfig" + own.template_argument + ">(args" +
          (own.takes_workspace ? ", workspace" : "") + ");\n}\n";
  return finish(symbol, std::move(text), family.header, arch, bundle, users);
}

KernelSource render_check(std::string_view arch, const TemplateBundle& bundle) {
  std::string text = "#include \"check.cuh\"\n";
  text += utility_kernel("hotgemm_fill", "fill", "FillArgs", "kCheckThreads");
  text += utility_kernel("hotgemm_check", "check", "CheckArgs", "kCheckThreads");
  text += utility_kernel("hotgemm_digest", "digest", "DigestArgs", "kCheckThreads");
  text += utility_kernel("hotgemm_pointwise", "pointwise", "PointwiseArgs", "kCheckThreads");
  return finish("hotgemm_check", std::move(text), "check.cuh", arch, bundle);
}

KernelSource render_repack(std::string_view arch, const TemplateBundle& bundle) {
  std::string text = "#include \"repack.cuh\"\n";
  text += utility_kernel("hotgemm_repack", "repack", "RepackArgs", "kRepackThreads, hotgemm::kRepackResidentBlocks");
  return finish("hotgemm_repack", std::move(text), "repack.cuh", arch, bundle);
}

KernelSource render_ceiling(const CeilingKind& kind, std::string_view arch, const TemplateBundle& bundle) {
  const bool is_wgmma = kind.instruction == CeilingInstruction::wgmma;
  const std::string name = is_wgmma ? "wgmma_ceiling" : "mma_ceiling", header = name + ".cuh";
  const std::string symbol =
      fmt::format("hotgemm_{}_{}_{}", name, to_string(kind.element), to_string(kind.accumulator));
  std::string text = "#include \"" + header + "\"\n";
  if (is_wgmma) {
    text +=
        wgmma_text({.n = kCeilingTileB.outer, .element = kind.element, .accumulator = kind.accumulator}, "Instruction");
  }
  const std::string arguments =
      literal(kind.element) + ", " + literal(kind.accumulator) + (is_wgmma ? ", Instruction" : "");
  text += utility_kernel(symbol, name + "<" + arguments + ">", "CeilingArgs", "kCeilingThreads");
  return finish(symbol, std::move(text), header, arch, bundle);
}

}  // namespace hotgemm
