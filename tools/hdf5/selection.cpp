#include "tools/hdf5/selection.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "codecs/builtin.hpp"
#include "core/stream.hpp"
#include "tools/hdf5/coordinates.hpp"
#include "tools/hdf5/errors.hpp"

namespace homz::hdf5 {
namespace {

constexpr std::uint64_t kSmallest = 4096;  // bytes of data; an index of chunks alone takes 2 KiB

bool matches(const std::string& glob, const std::string& path) {
  return fnmatch(glob.c_str(), path.c_str(), 0) == 0;
}
bool is_literal(const std::string& glob) {
  return glob.find_first_of("*?[\\") == std::string::npos;
}

// For a pattern that matches nothing: paths begin with a slash, which is easily forgotten.
std::string suggestion(const std::string& glob, const PathsOf& paths_of) {
  for (const auto& [first, paths] : paths_of)
    for (const std::string& path : paths)
      if (matches("/" + glob, path)) return fmt::format("; did you mean '/{}'?", glob);
  return "";
}

// Rules with their codecs looked up, so that a mistake in one shows before any work is done.
class Rules {
 public:
  static Result<Rules> make(const CompressOptions& options) {
    Rules rules;
    rules.options_ = &options;
    HOMZ_TRY(rules.add(options.codec, options.bound));
    for (const DatasetRule& rule : options.datasets)
      HOMZ_TRY(rules.add(rule.codec.value_or(options.codec), rule.bound.value_or(options.bound))
                   .within(fmt::format("rule for '{}'", rule.glob)));
    rules.used_.resize(options.datasets.size() + options.exclude.size());
    return rules;
  }

  // Decides by the paths of a dataset alone.
  Choice choose(const std::vector<std::string>& paths) {
    const auto matches = [&](const std::string& glob) {
      return std::any_of(paths.begin(), paths.end(),
                         [&](const std::string& path) { return homz::hdf5::matches(glob, path); });
    };
    Choice choice;
    choice.codec = codecs_[0];
    choice.bound = options_->bound;
    bool selected = options_->datasets.empty();
    for (std::size_t i = 0; i < options_->datasets.size(); ++i) {
      const DatasetRule& rule = options_->datasets[i];
      if (!matches(rule.glob)) continue;
      selected = used_[i] = true;
      choice.named = choice.named || is_literal(rule.glob);
      if (rule.codec) choice.codec = codecs_[i + 1];
      if (rule.bound) choice.bound = *rule.bound;
    }
    if (!selected) choice.reason = "not selected by --dataset";
    for (std::size_t i = 0; i < options_->exclude.size(); ++i)
      if (matches(options_->exclude[i])) {
        choice.reason = "excluded by --exclude";
        used_[options_->datasets.size() + i] = true;
      }
    if (choice.codec.codec->info().lossless) choice.bound = {BoundMode::lossless, 0};
    return choice;
  }

  // Refuses a rule that no dataset matched.
  Status check_used(const PathsOf& paths_of) const {
    for (std::size_t i = 0; i < options_->datasets.size(); ++i) {
      const std::string& glob = options_->datasets[i].glob;
      if (!used_[i])
        return Status(Code::invalid_argument,
                      fmt::format("--dataset '{}' matches no dataset{}", glob, suggestion(glob, paths_of)));
    }
    return Status();
  }

  std::vector<std::string> warnings(const PathsOf& paths_of) const {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < options_->exclude.size(); ++i) {
      const std::string& glob = options_->exclude[i];
      if (!used_[options_->datasets.size() + i])
        texts.push_back(fmt::format("--exclude '{}' matches no dataset{}", glob, suggestion(glob, paths_of)));
    }
    return texts;
  }

 private:
  Status add(const std::string& codec, const ErrorBound& bound) {
    HOMZ_ASSIGN(const CodecChoice choice, registry().choose(codec));
    if (!choice.codec->info().lossless) HOMZ_TRY(validate(bound));
    codecs_.push_back(choice);
    return Status();
  }

  const CompressOptions* options_ = nullptr;
  std::vector<CodecChoice> codecs_;  // the general one, then one a rule
  std::vector<bool> used_;
};

std::string unsuitable_type(const Dataset& dataset) {
  switch (H5Tget_class(dataset.type)) {
    case H5T_INTEGER:
      return "integer type";
    case H5T_FLOAT:
      return dataset.value_bytes() == 2 ? "half-precision float"
                                        : "floating-point type other than IEEE f32 and f64";
    default:
      return type_text(dataset.type) + " type";
  }
}

// Reasons that no rule overrides.
std::string impossible(const Dataset& dataset) {
  if (dataset.space_class == H5S_NULL) return "null dataspace";
  if (!dataset.element) return unsuitable_type(dataset);
  if (dataset.space_class == H5S_SCALAR) return "scalar";
  if (dataset.values() == 0) return "no elements";
  if (dataset.layout == H5D_VIRTUAL) return "virtual dataset: its values are in other datasets";
  if (dataset.external) return "external storage: its values are in other files";
  if (H5Dget_storage_size(dataset.id) == 0) return "never written: it takes no space";
  return "";
}

Status check_exactness(const Choice& choice) {
  const CodecInfo& info = choice.codec.codec->info();
  if (info.lossless || choice.bound.mode != BoundMode::lossless) return Status();
  return Status(Code::invalid_argument, fmt::format("{} is lossy; use =zstd for exact values", info.name));
}

std::string unwise(const Dataset& dataset, const Coordinates& coordinates) {
  if (dataset.is_ours()) return "already compressed by homz: decompress it first; errors add up";
  if (dataset.values() * dataset.value_bytes() < kSmallest)
    return fmt::format("smaller than {} bytes", kSmallest);
  const std::string role = coordinates.role(dataset);
  return role.empty() ? "" : fmt::format("coordinate ({})", role);
}

}  // namespace

Result<Selection> Selection::make(hid_t file, const Tree& tree, const CompressOptions& options) {
  Selection selection;
  HOMZ_ASSIGN(Rules rules, Rules::make(options));
  const PathsOf paths_of = paths_of_datasets(tree);
  HOMZ_ASSIGN(const Coordinates coordinates, Coordinates::find(file, tree));
  for (const Object& object : tree.objects()) {
    if (object.kind != Object::Kind::dataset) continue;
    const auto opened = Dataset::open(file, object.path);
    if (!opened.ok()) return opened.status().within(fmt::format("dataset '{}'", object.path));
    Choice choice = rules.choose(paths_of.at(object.path));
    if (const std::string reason = impossible(*opened); !reason.empty())
      choice.reason = reason;
    else if (choice.reason.empty() && !choice.named)
      choice.reason = unwise(*opened, coordinates);
    if (choice.reason.empty()) {
      const std::string name = fmt::format("dataset '{}'", object.path);
      HOMZ_TRY(check_exactness(choice).within(name));
      HOMZ_TRY(require_coder(*choice.codec.codec, options.space).within(name));
      selection.bytes_ += opened->values() * opened->value_bytes();
      if (opened->is_ours())
        choice.warnings.push_back("it was compressed by homz before: the errors of both times add up");
    }
    selection.choices_.emplace(object.path, std::move(choice));
  }
  HOMZ_TRY(rules.check_used(paths_of));
  selection.warnings_ = rules.warnings(paths_of);
  return selection;
}

}  // namespace homz::hdf5
