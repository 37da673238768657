#include "tools/mpi_settings.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>

namespace homz {

std::optional<Usage> usage_of(CLI::App& app, int argc, char** argv,
                              const std::function<Status()>& understand) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, problems;
    const int status = app.exit(error, out, problems) == 0 ? 0 : 2;
    return Usage{status, out.str() + problems.str()};
  }
  const Status status = understand();
  if (!status.ok()) return Usage{2, fmt::format("{}: {}\n", app.get_name(), status.message())};
  return std::nullopt;
}

Result<Profile> read_profile(const std::string& name) {
  std::ifstream file(name);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return Status(Code::io, fmt::format("{}: cannot be read", name));
  const auto profile = parse_profile(text.str());
  return profile.ok() ? profile : Result<Profile>(profile.status().within(name));
}

// Whole, or not at all.
Status write_profile(const std::string& name, const Profile& profile) {
  const std::string temporary = name + ".tmp";
  std::ofstream file(temporary);
  file << to_json(profile);
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(temporary, name, error);
  if (file && !error) return Status();
  std::filesystem::remove(temporary, error);
  return Status(Code::io, fmt::format("{}: cannot be written", name));
}

}  // namespace homz
