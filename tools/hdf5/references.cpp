#include "tools/hdf5/references.hpp"

#include <algorithm>
#include <cstring>

#include "core/buffer.hpp"
#include "tools/hdf5/errors.hpp"
#include "tools/hdf5/values.hpp"

namespace homz::hdf5 {
namespace {

bool is_null(const std::byte* reference, std::size_t size) {
  return std::all_of(reference, reference + size, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

Result<const Object*> Translator::target(H5R_type_t type, const std::byte* reference) const {
  HOMZ_ASSIGN(const Handle object,
              own(H5Rdereference2(from_, H5P_DEFAULT, type, reference), "follow a reference"));
  HOMZ_ASSIGN(const haddr_t address, address_of(object));
  return tree_.at(address);
}

Status Translator::translate_object(std::byte* reference) {
  hobj_ref_t old;
  std::memcpy(&old, reference, sizeof old);
  if (old == 0) return Status();
  auto found = known_.find(old);
  if (found == known_.end()) {
    const auto object = target(H5R_OBJECT, reference);
    hobj_ref_t translated = 0;
    if (object.ok() && *object != nullptr)
      HOMZ_TRY(check(H5Rcreate(&translated, to_, (*object)->path.c_str(), H5R_OBJECT, H5I_INVALID_HID),
                     "make a reference"));
    found = known_.emplace(old, translated).first;
  }
  if (found->second == 0) ++lost_;
  std::memcpy(reference, &found->second, sizeof found->second);
  return Status();
}

Status Translator::translate_region(std::byte* reference) {
  if (is_null(reference, H5R_DSET_REG_REF_BUF_SIZE)) return Status();
  const auto object = target(H5R_DATASET_REGION, reference);
  hdset_reg_ref_t translated{};
  if (object.ok() && *object != nullptr) {
    HOMZ_ASSIGN(const Handle region,
                own(H5Rget_region(from_, H5R_DATASET_REGION, reference), "read a region"));
    HOMZ_TRY(check(H5Rcreate(&translated, to_, (*object)->path.c_str(), H5R_DATASET_REGION, region),
                   "make a reference"));
  } else {
    ++lost_;
  }
  std::memcpy(reference, &translated, H5R_DSET_REG_REF_BUF_SIZE);
  return Status();
}

Status Translator::translate(const Layout& layout, std::byte* values, std::size_t count) {
  if (!layout.has_references()) return Status();
  for (std::size_t i = 0; i < count; ++i, values += layout.size) {
    switch (layout.kind) {
      case Layout::Kind::object_reference:
        HOMZ_TRY(translate_object(values));
        break;
      case Layout::Kind::region_reference:
        HOMZ_TRY(translate_region(values));
        break;
      case Layout::Kind::array:
        HOMZ_TRY(translate(layout.parts[0], values, layout.count));
        break;
      case Layout::Kind::list: {
        hvl_t list;
        std::memcpy(&list, values, sizeof list);
        HOMZ_TRY(translate(layout.parts[0], static_cast<std::byte*>(list.p), list.len));
        break;
      }
      case Layout::Kind::compound:
        for (const Layout& member : layout.parts) HOMZ_TRY(translate(member, values + member.offset, 1));
        break;
      default:
        break;
    }
  }
  return Status();
}

std::string Translator::committed_path(hid_t type) const {
  if (H5Tcommitted(type) <= 0) return "";
  const auto address = address_of(type);
  // A committed type without a link cannot be found again: the copy gets the type itself.
  const Object* const object = address.ok() ? tree_.at(*address) : nullptr;
  if (object == nullptr) return "";
  const auto place = places_.find(object->path);
  return place == places_.end() ? object->path : place->second;
}

Result<Handle> Translator::type(hid_t type) const {
  const std::string committed = committed_path(type);
  if (committed.empty()) return own(H5Tcopy(type), "copy the type");
  return own(H5Topen2(to_, committed.c_str(), H5P_DEFAULT), "open the committed type");
}

Status copy_reference_values(hid_t from, hid_t to, Translator& translator) {
  HOMZ_ASSIGN(Elements values, Elements::read_dataset(from));
  if (values.count() == 0) return Status();
  HOMZ_TRY(translator.translate(values.layout(), values.data(), values.count()));
  return check(H5Dwrite(to, values.type(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "write references");
}

}  // namespace homz::hdf5
