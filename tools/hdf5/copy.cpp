#include "tools/hdf5/copy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/hdf5/attributes.hpp"
#include "tools/hdf5/errors.hpp"
#include "tools/hdf5/file.hpp"
#include "tools/hdf5/report.hpp"

namespace homz::hdf5 {
namespace {

Result<Handle> link_properties(H5T_cset_t charset) {
  HOMZ_ASSIGN(Handle properties, own(H5Pcreate(H5P_LINK_CREATE), "make a property list"));
  HOMZ_TRY(check(H5Pset_char_encoding(properties, charset), "set the encoding of a link"));
  return properties;
}

Result<Handle> open_object(hid_t file, const std::string& path) {
  return own(H5Oopen(file, path.c_str(), H5P_DEFAULT), "open the object");
}

// Only the type that was asked for may stand in for a committed one.
H5O_mcdt_search_ret_t no_further_search(void*) {
  return H5O_MCDT_SEARCH_STOP;
}

Status make_group(hid_t from, hid_t parent, hid_t links, const Object& object, const std::string& name) {
  HOMZ_ASSIGN(const Handle group, own(H5Gopen2(from, object.path.c_str(), H5P_DEFAULT), "open the group"));
  HOMZ_ASSIGN(const Handle properties, own(H5Pcreate(H5P_GROUP_CREATE), "make a property list"));
  HOMZ_TRY(copy_group_properties(group, properties));
  return own(H5Gcreate2(parent, name.c_str(), links, properties, H5P_DEFAULT), "create the group").status();
}

Status make_other_link(hid_t parent, hid_t properties, const Link& link) {
  const char* const name = link.name.c_str();
  if (link.type == H5L_TYPE_SOFT)
    return check(H5Lcreate_soft(link.value.data(), parent, name, properties, H5P_DEFAULT),
                 "create the soft link");
  if (link.type != H5L_TYPE_EXTERNAL)
    return check(
        H5Lcreate_ud(parent, name, link.type, link.value.data(), link.value.size(), properties, H5P_DEFAULT),
        "create the user-defined link");
  const char *file = nullptr, *object = nullptr;
  unsigned flags = 0;
  HOMZ_TRY(check(H5Lunpack_elink_val(link.value.data(), link.value.size(), &flags, &file, &object),
                 "read the external link"));
  return check(H5Lcreate_external(file, object, parent, name, properties, H5P_DEFAULT),
               "create the external link");
}

}  // namespace

FileCopy::FileCopy(hid_t from, hid_t to, const Tree& tree)
    : from_(from),
      to_(to),
      tree_(tree),
      staged_(tree.objects().size()),
      verbatim_(tree.objects().size()),
      translator_(from, to, tree) {}

Status FileCopy::run(const Remake& remake) {
  HOMZ_TRY(stage_types());
  for (const Link& link : tree_.links())
    HOMZ_TRY(make_link(link, remake).within(fmt::format("'{}'", tree_.path(link))));
  for (std::size_t i = 0; i < tree_.objects().size(); ++i)
    HOMZ_TRY(finish_object(i).within(fmt::format("'{}'", tree_.objects()[i].path)));
  if (staging_.empty()) return Status();
  return check(H5Ldelete(to_, staging_.c_str(), H5P_DEFAULT), "delete a temporary group");
}

// Datasets can stand before the committed types that they use, and links must be made in their order: so the
// types are made first, in a group that no object of the file is named like.
Status FileCopy::stage_types() {
  const auto& objects = tree_.objects();
  const auto is_type = [](const Object& object) { return object.kind == Object::Kind::type; };
  if (std::none_of(objects.begin(), objects.end(), is_type)) return Status();
  const auto taken = [&](const std::string& path) {
    return std::any_of(tree_.links().begin(), tree_.links().end(),
                       [&](const Link& link) { return link.parent == 0 && "/" + link.name == path; });
  };
  staging_ = "/.homz-types";
  while (taken(staging_)) staging_ += '_';
  HOMZ_TRY(own(H5Gcreate2(to_, staging_.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
               "create a temporary group")
               .status());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!is_type(objects[i])) continue;
    const std::string context = fmt::format("type '{}'", objects[i].path);
    const auto stage = [&]() -> Status {
      HOMZ_ASSIGN(const Handle type,
                  own(H5Topen2(from_, objects[i].path.c_str(), H5P_DEFAULT), "open the type"));
      HOMZ_ASSIGN(const Handle copy, own(H5Tcopy(type), "copy the type"));
      HOMZ_ASSIGN(const Handle properties, own(H5Tget_create_plist(type), "read the type's properties"));
      HOMZ_TRY(check(H5Pset_obj_track_times(properties, false), "set the type's properties"));
      staged_[i] = fmt::format("{}/{}", staging_, i);
      return check(H5Tcommit2(to_, staged_[i].c_str(), copy, H5P_DEFAULT, properties, H5P_DEFAULT),
                   "commit the type");
    };
    HOMZ_TRY(stage().within(context));
    translator_.place_type(objects[i].path, staged_[i]);
  }
  return Status();
}

Status FileCopy::make_link(const Link& link, const Remake& remake) {
  HOMZ_ASSIGN(const Handle properties, link_properties(link.charset));
  HOMZ_ASSIGN(const Handle parent, open_object(to_, tree_.objects()[link.parent].path));
  if (link.type != H5L_TYPE_HARD) return make_other_link(parent, properties, link);
  return make_hard_link(parent, properties, link, remake);
}

Status FileCopy::make_hard_link(hid_t parent, hid_t properties, const Link& link, const Remake& remake) {
  const Object& target = tree_.objects()[link.target];
  if (link.first && target.kind == Object::Kind::group)
    return make_group(from_, parent, properties, target, link.name);
  if (link.first && target.kind == Object::Kind::dataset)
    return make_dataset(parent, properties, link, remake);
  const std::string& existing = link.first ? staged_[link.target] : target.path;
  return check(H5Lcreate_hard(to_, existing.c_str(), parent, link.name.c_str(), properties, H5P_DEFAULT),
               "create the hard link");
}

Status FileCopy::make_dataset(hid_t parent, hid_t properties, const Link& link, const Remake& remake) {
  HOMZ_ASSIGN(Handle made, remake(tree_.objects()[link.target].path, translator_));
  if (!made.ok()) return copy_dataset(parent, properties, link);
  HOMZ_TRY(check(H5Olink(made, parent, link.name.c_str(), properties, H5P_DEFAULT), "link the dataset"));
  return made.close() ? Status() : failure("finish the dataset");
}

// The library copies storage and filters as they are, even where a filter is not available. Attributes follow
// later.
Status FileCopy::copy_dataset(hid_t parent, hid_t properties, const Link& link) {
  const std::string& path = tree_.objects()[link.target].path;
  HOMZ_ASSIGN(const Handle copying, own(H5Pcreate(H5P_OBJECT_COPY), "make a property list"));
  HOMZ_ASSIGN(const Handle source, own(H5Dopen2(from_, path.c_str(), H5P_DEFAULT), "open the dataset"));
  HOMZ_ASSIGN(const Handle type, own(H5Dget_type(source), "read the type"));
  unsigned flags = H5O_COPY_WITHOUT_ATTR_FLAG;
  if (const std::string committed = translator_.committed_path(type); !committed.empty()) {
    flags |= H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG;
    HOMZ_TRY(check(H5Padd_merge_committed_dtype_path(copying, committed.c_str()), "name the committed type"));
    HOMZ_TRY(check(H5Pset_mcdt_search_cb(copying, no_further_search, nullptr), "name the committed type"));
  }
  HOMZ_TRY(check(H5Pset_copy_object(copying, flags), "set how to copy"));
  verbatim_[link.target] = true;
  return check(H5Ocopy(from_, path.c_str(), parent, link.name.c_str(), copying, properties),
               "copy the dataset");
}

Status FileCopy::finish_object(std::size_t index) {
  const Object& object = tree_.objects()[index];
  HOMZ_ASSIGN(const Handle source, open_object(from_, object.path));
  HOMZ_ASSIGN(Handle target, open_object(to_, object.path));
  HOMZ_TRY(copy_attributes(source, target, translator_));
  if (verbatim_[index]) {
    HOMZ_ASSIGN(const Handle type, own(H5Dget_type(source), "read the type"));
    if (H5Tdetect_class(type, H5T_REFERENCE) > 0)
      HOMZ_TRY(copy_reference_values(source, target, translator_));
  }
  return target.close() ? Status() : failure("finish the object");
}

Status copy_file(hid_t from, hid_t to, const Tree& tree, FileReport* report, const Remake& remake) {
  FileCopy copy(from, to, tree);
  HOMZ_TRY(copy.run(remake));
  if (copy.lost_references() != 0)
    report->warnings.push_back(
        fmt::format("{} references to objects without a name were set to null", copy.lost_references()));
  return Status();
}

Result<FileReport> finish_report(FileReport report, const std::string& input, const std::string& output) {
  sort_by_path(&report.datasets);
  HOMZ_ASSIGN(report.input_bytes, file_bytes(input));
  HOMZ_ASSIGN(report.output_bytes, file_bytes(output));
  return report;
}

}  // namespace homz::hdf5
