#include "tools/mpi_settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

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

Result<std::vector<Algorithm>> parse_algorithms(const std::string& option, const std::string& text) {
  auto list = parse_list(text, parse_algorithm, std::span<const Algorithm>(kEveryAlgorithm));
  if (!list.ok()) return list.status().within(option);
  return list;
}

Result<std::vector<Scheme>> parse_schemes(const std::string& option, const std::string& text) {
  auto list = parse_list(text, parse_scheme, std::span<const Scheme>(kEveryScheme));
  if (!list.ok()) return list.status().within(option);
  return list;
}

Status check_output(const std::string& name, bool force) {
  namespace fs = std::filesystem;
  const auto refuse = [&](const char* why) {
    return Status(Code::invalid_argument, fmt::format("{}: {}", name, why));
  };
  if (name.empty()) return Status(Code::invalid_argument, "the output's file name is empty; name a file");
  std::error_code error;
  const fs::path parent = fs::path(name).parent_path();
  const fs::path folder = parent.empty() ? fs::path(".") : parent;
  if (!fs::is_directory(folder, error)) return refuse("the output's folder does not exist; make it first");
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return refuse("the output's folder does not let this user write; name another one");
  if (fs::symlink_status(name, error).type() == fs::file_type::not_found) return Status();
  const fs::file_status there = fs::status(name, error);
  if (there.type() == fs::file_type::not_found)
    return refuse("the output is a symbolic link to nowhere; remove it or name another output");
  if (fs::is_directory(there)) return refuse("the output is a directory; name a file in it");
  if (!fs::is_regular_file(there))
    return refuse("the output exists and is no regular file; name another one");
  return force ? Status() : refuse("the output exists; use --force to replace it");
}

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
