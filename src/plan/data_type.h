// The element types a message can be made of, and how the elements lie in memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "plan/data_layout.h"

namespace openimb {

enum class DataType { byte, character, integer, single_precision, double_precision, float16, bfloat16 };

/// -contig_type: how elements are presented to MPI. A resized element occupies twice its size; a vector is
/// one MPI element that covers a whole message.
enum class Contiguity { base, base_vector, resized, resized_vector };

/// Word on the command line ("float"), name in the banner ("MPI_FLOAT"), size in bytes.
struct DataTypeName {
  DataType type;
  std::string_view option;
  std::string_view mpi;
  int size;
};
inline constexpr DataTypeName data_type_names[] = {
    {DataType::byte, "byte", "MPI_BYTE", 1},
    {DataType::character, "char", "MPI_CHAR", 1},
    {DataType::integer, "int", "MPI_INT", 4},
    {DataType::single_precision, "float", "MPI_FLOAT", 4},
    {DataType::double_precision, "double", "MPI_DOUBLE", 8},
    {DataType::float16, "float16", "MPIX_C_FLOAT16", 2},
    {DataType::bfloat16, "bfloat16", "MPIX_BFLOAT16", 2},
};
constexpr const DataTypeName& describe(DataType type) { return data_type_names[static_cast<int>(type)]; }

struct ContiguityName {
  Contiguity contiguity;
  std::string_view option;
};
inline constexpr ContiguityName contiguity_names[] = {
    {Contiguity::base, "base"},
    {Contiguity::base_vector, "base_vec"},
    {Contiguity::resized, "resize"},
    {Contiguity::resized_vector, "resize_vec"},
};

/// One base element: `size` is the bytes of data in it, `extent` the memory from one element to the next
/// where there is no gap between them. `layout`: of a message's; only of base elements.
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
