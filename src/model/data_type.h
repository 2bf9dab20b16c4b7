// The element types that a message can have, and how the elements lie in memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/data_layout.h"
#include "model/names.h"

namespace openimb {

/// -data_type, -red_data_type: the type of an element.
enum class DataType { byte, character, integer, single_precision, double_precision, float16, bfloat16 };
template <>
inline constexpr Names<7> names_of<DataType> = {"byte",   "char",    "int",     "float",
                                                "double", "float16", "bfloat16"};

/// -contig_type: how elements are presented to MPI. A resized element occupies twice its size; a vector is
/// one MPI element that covers a whole message.
enum class Contiguity { base, base_vector, resized, resized_vector };
template <>
inline constexpr Names<4> names_of<Contiguity> = {"base", "base_vec", "resize", "resize_vec"};

/// `mpi`: name in the banner. `size`: bytes.
struct DataTypeFacts {
  std::string_view mpi;
  int size;
};
inline constexpr DataTypeFacts data_type_facts[] = {
    {"MPI_BYTE", 1},   {"MPI_CHAR", 1},       {"MPI_INT", 4},       {"MPI_FLOAT", 4},
    {"MPI_DOUBLE", 8}, {"MPIX_C_FLOAT16", 2}, {"MPIX_BFLOAT16", 2},
};
constexpr const DataTypeFacts& describe(DataType type) { return data_type_facts[static_cast<int>(type)]; }

/// One element of a message. `size`: its bytes of data. `extent`: the bytes from one element to the next if
/// -layout leaves no gap between them. `layout`: where the elements of a message lie; only Contiguity::base
/// can have gaps.
struct Element {
  DataType type = DataType::byte;
  Contiguity contiguity = Contiguity::base;
  DataLayout layout = {};
  bool operator==(const Element&) const = default;
  constexpr std::int64_t size() const { return describe(type).size; }
  constexpr std::int64_t extent() const {
    return contiguity == Contiguity::resized || contiguity == Contiguity::resized_vector ? 2 * size()
                                                                                         : size();
  }
  constexpr bool is_vector() const {
    return contiguity == Contiguity::base_vector || contiguity == Contiguity::resized_vector;
  }
};

}  // namespace openimb
