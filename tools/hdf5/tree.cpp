#include "tools/hdf5/tree.hpp"

#include <fmt/format.h>

#include "tools/hdf5/errors.hpp"

namespace homz::hdf5 {
namespace {

// The structure that H5Oget_info2 fills has another name from HDF5 1.12 on.
#if H5_VERSION_GE(1, 12, 0)
using ObjectInfo = H5O_info1_t;
#else
using ObjectInfo = H5O_info_t;
#endif

#if H5_VERSION_GE(1, 12, 0)
using LinkInfo = H5L_info1_t;
constexpr auto iterate_links = H5Literate1;
#else
using LinkInfo = H5L_info_t;
constexpr auto iterate_links = H5Literate;
#endif

struct Found {
  std::vector<Link>* links;
  std::size_t parent;
  std::vector<std::size_t> value_sizes;
};

herr_t note_link(hid_t, const char* name, const LinkInfo* info, void* data) noexcept {
  try {
    Found& found = *static_cast<Found*>(data);
    Link link;
    link.parent = found.parent;
    link.name = name;
    link.charset = info->cset;
    link.type = info->type;
    found.links->push_back(std::move(link));
    found.value_sizes.push_back(info->type == H5L_TYPE_HARD ? 0 : info->u.val_size);
    return 0;
  } catch (...) {
    return -1;
  }
}

Result<H5_index_t> link_order(hid_t group) {
  HOMZ_ASSIGN(const Handle properties, own(H5Gget_create_plist(group), "read the group's properties"));
  unsigned order = 0;
  HOMZ_TRY(check(H5Pget_link_creation_order(properties, &order), "read the group's properties"));
  return (order & H5P_CRT_ORDER_TRACKED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
}

Result<Object::Kind> kind_of(const ObjectInfo& info) {
  switch (info.type) {
    case H5O_TYPE_GROUP:
      return Object::Kind::group;
    case H5O_TYPE_DATASET:
      return Object::Kind::dataset;
    case H5O_TYPE_NAMED_DATATYPE:
      return Object::Kind::type;
    default:
      return Status(Code::unsupported, "an object that is no group, dataset or datatype");
  }
}

}  // namespace

Result<haddr_t> address_of(hid_t object) {
  ObjectInfo info;
  HOMZ_TRY(check(H5Oget_info2(object, &info, H5O_INFO_BASIC), "look at the object"));
  return info.addr;
}

const Object* Tree::at(haddr_t address) const {
  const auto found = by_address_.find(address);
  return found == by_address_.end() ? nullptr : &objects_[found->second];
}

std::string Tree::path(const Link& link) const {
  const std::string& parent = objects_[link.parent].path;
  return (parent == "/" ? "" : parent) + "/" + link.name;
}

PathsOf paths_of_datasets(const Tree& tree) {
  PathsOf paths_of;
  for (const Link& link : tree.links())
    if (link.type == H5L_TYPE_HARD && tree.objects()[link.target].kind == Object::Kind::dataset)
      paths_of[tree.objects()[link.target].path].push_back(tree.path(link));
  return paths_of;
}

Result<Tree> Tree::read(hid_t file) {
  Tree tree;
  HOMZ_ASSIGN(const Handle root, own(H5Gopen2(file, "/", H5P_DEFAULT), "open the root group"));
  HOMZ_ASSIGN(const haddr_t address, address_of(root));
  tree.objects_.push_back({Object::Kind::group, "/"});
  tree.by_address_.emplace(address, 0);
  for (std::size_t i = 0; i < tree.objects_.size(); ++i)
    if (tree.objects_[i].kind == Object::Kind::group)
      HOMZ_TRY(tree.visit_group(file, i).within(fmt::format("group '{}'", tree.objects_[i].path)));
  return tree;
}

Status Tree::visit_group(hid_t file, std::size_t index) {
  HOMZ_ASSIGN(const Handle group,
              own(H5Gopen2(file, objects_[index].path.c_str(), H5P_DEFAULT), "open the group"));
  HOMZ_ASSIGN(const H5_index_t order, link_order(group));
  std::vector<Link> links;
  Found found{&links, index, {}};
  HOMZ_TRY(check(iterate_links(group, order, H5_ITER_INC, nullptr, note_link, &found), "list the links"));
  for (std::size_t i = 0; i < links.size(); ++i) {
    Link& link = links[i];
    if (link.type == H5L_TYPE_HARD) {
      HOMZ_TRY(add_hard(group, &link).within(fmt::format("object '{}'", path(link))));
    } else {
      link.value.resize(found.value_sizes[i]);
      if (H5Lget_val(group, link.name.c_str(), link.value.data(), link.value.size(), H5P_DEFAULT) < 0)
        return failure("read the link").within(fmt::format("link '{}'", path(link)));
    }
    links_.push_back(std::move(link));
  }
  return Status();
}

Status Tree::add_hard(hid_t group, Link* link) {
  ObjectInfo info;
  HOMZ_TRY(check(H5Oget_info_by_name2(group, link->name.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT),
                 "look at the object"));
  HOMZ_ASSIGN(const Object::Kind kind, kind_of(info));
  const auto [place, is_new] = by_address_.emplace(info.addr, objects_.size());
  link->target = place->second;
  link->first = is_new;
  if (is_new) objects_.push_back({kind, path(*link)});
  return Status();
}

}  // namespace homz::hdf5
