// homz codecs: the registry.
#include <memory>

#include "codecs/builtin.hpp"
#include "tools/homz/command.hpp"
#include "tools/homz/json_output.hpp"
#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  homz codecs
  homz compress field.f32 field.homz --type f32 --shape 1000 -c zstd:level=9)";

Json json_of(const CodecInfo& info) {
  return {{"id", static_cast<unsigned>(info.id)},
          {"name", info.name},
          {"lossless", info.lossless},
          {"version", info.version},
          {"options", info.options},
          {"summary", info.summary}};
}

Result<Exit> run(bool as_json) {
  if (as_json) {
    Json codecs = Json::array();
    for (const Codec* codec : registry().all()) codecs.push_back(json_of(codec->info()));
    print_json(Json{{"codecs", std::move(codecs)}});
    return kOk;
  }
  Table table({{"codec", Table::Align::left},
               {"id", Table::Align::right},
               {"version", Table::Align::right},
               {"kind", Table::Align::left},
               {"summary", Table::Align::left},
               {"options", Table::Align::left}});
  for (const Codec* codec : registry().all()) {
    const CodecInfo& info = codec->info();
    table.add({std::string(info.name), std::to_string(static_cast<unsigned>(info.id)),
               std::to_string(info.version), info.lossless ? "lossless" : "lossy", std::string(info.summary),
               info.options.empty() ? "-" : std::string(info.options)});
  }
  print(table.text());
  return kOk;
}

}  // namespace

void add_codecs(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("codecs", "List the codecs and their options");
  const auto as_json = std::make_shared<bool>(false);
  command.add_flag("--json", *as_json, "list as JSON");
  command.footer(kExamples);
  command.callback([as_json, &action] { action = [as_json] { return run(*as_json); }; });
}

}  // namespace homz::cli
