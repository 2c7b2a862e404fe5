#include "worker/compile_record.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace hotgemm {
namespace {

using nlohmann::json;

/// Decodes `body` and calls `read` on the value.
template <class Read>
auto decode(std::span<const std::uint8_t> body, const char* what, Read&& read) {
  try {
    return read(json::from_cbor(body.begin(), body.end()));
  } catch (const json::exception& error) {
    throw Error(ErrorCode::internal,
                std::string("a message between processes is not a valid ") + what + ": " + error.what());
  }
}

}  // namespace

// Texts are kept byte by byte: CBOR's writer and reader do not check for UTF-8.

FrameBody encode_bundle(const TemplateBundle& bundle) {
  json files = json::array();
  for (const TemplateFile& file : bundle.files()) files.push_back({file.path, file.text});
  return json::to_cbor({{"origin", bundle.origin()}, {"files", std::move(files)}});
}

TemplateBundle decode_bundle(std::span<const std::uint8_t> body) {
  return decode(body, "bundle of templates", [](const json& value) {
    std::vector<TemplateFile> files;
    for (const json& file : value.at("files")) files.push_back({file.at(0), file.at(1)});
    return TemplateBundle::from_files(value.at("origin"), std::move(files));
  });
}

FrameBody encode_source(const KernelSource& source) {
  return json::to_cbor({{"symbol", source.symbol},
                        {"text", source.text},
                        {"options", source.options},
                        {"function", source.function},
                        {"variables", static_cast<int>(source.variables)}});
}

KernelSource decode_source(std::span<const std::uint8_t> body) {
  return decode(body, "kernel's source", [](const json& value) {
    return KernelSource{.symbol = value.at("symbol"),
                        .text = value.at("text"),
                        .options = value.at("options").get<std::vector<std::string>>(),
                        .identity = {},
                        .function = value.at("function"),
                        .variables = static_cast<GlobalVariables>(value.at("variables").get<int>())};
  });
}

FrameBody encode_answer(const CompileAnswer& answer) {
  if (const auto* failure = std::get_if<CompileFailure>(&answer)) {
    return json::to_cbor({{"code", static_cast<int>(failure->code)}, {"message", failure->message}});
  }
  const auto& cubin = std::get<Cubin>(answer);
  return json::to_cbor({{"image", json::binary(cubin.image)},
                        {"symbol", cubin.symbol},
                        {"arch", cubin.arch},
                        {"toolchain", cubin.toolchain},
                        {"registers", cubin.registers},
                        {"spill_bytes", cubin.spill_bytes},
                        {"static_smem_bytes", cubin.static_smem_bytes},
                        {"compile_ms", cubin.compile_ms}});
}

CompileAnswer decode_answer(std::span<const std::uint8_t> body) {
  return decode(body, "answer of a compiler", [](const json& value) -> CompileAnswer {
    if (value.contains("message")) {
      return CompileFailure{static_cast<ErrorCode>(value.at("code").get<int>()), value.at("message")};
    }
    return Cubin{.image = value.at("image").get_binary(),
                 .symbol = value.at("symbol"),
                 .arch = value.at("arch"),
                 .toolchain = value.at("toolchain"),
                 .registers = value.at("registers"),
                 .spill_bytes = value.at("spill_bytes"),
                 .static_smem_bytes = value.at("static_smem_bytes"),
                 .compile_ms = value.at("compile_ms")};
  });
}

}  // namespace hotgemm
