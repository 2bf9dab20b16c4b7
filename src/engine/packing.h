// -packing: a message with gaps is packed before the calls under test and unpacked after them. Both are
// timed. Source: MPI 4.1, section 5.2 (MPI_Pack, MPI_Unpack).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/pattern.h"
#include "mpi/calls.h"
#include "mpi/datatype.h"
#include "plan/data_type.h"
#include "plan/geometry.h"

namespace openimb {

/// A message with gaps, for the loops of -packing hand.
struct Gaps {
  Period period;
  std::int64_t elements = 0;
  std::int64_t size = 1;  ///< of an element, in bytes
};
void pack_by_hand(const Gaps& gaps, const char* from, char* to);
void unpack_by_hand(const Gaps& gaps, const char* from, char* to);

/// Memory for contiguous messages. It is kept from point to point and only grows, as allocating its pages
/// takes as long as a short sample.
class PackedMemory {
 public:
  /// At least `bytes` bytes, or null. The memory of the previous call is no longer valid.
  std::byte* of(std::size_t bytes);

 private:
  struct Delete {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Delete> memory_;
  std::size_t bytes_ = 0;
};

/// The contiguous messages of one rank: one for each message that a repetition sends or receives. They begin
/// at a page boundary, as other messages do, and keep their addresses when -off_cache moves those with gaps.
class PackedMessages {
 public:
  /// `type`: covers a message with gaps; `data`: such a message. Local. The object is false if there is no
  /// memory.
  PackedMessages(PackedMemory& memory, Packing packing, const Geometry& geometry, const Element& element,
                 const ElementType& type, MPI_Comm comm, const void* data);
  explicit operator bool() const { return view_.out != nullptr; }

  /// What steps need to pack and unpack.
  struct View {
    char* out;
    char* in;
    std::int64_t packed;  ///< bytes of a contiguous message, and from one to the next
    std::int64_t room;    ///< bytes to pack one in; MPI_Pack_size may return more than MPI_Pack needs
    std::int64_t span;    ///< bytes from one message with gaps to the next
    int sends;            ///< messages that a repetition sends
    int receives;         ///< messages that a repetition receives
    int count;            ///< of `type`: 1, or 0 where a message is empty
    MPI_Datatype type;
    MPI_Comm comm;
    const Gaps* gaps;

    Lap in_contiguous(Lap lap) const {
      lap.send = out;
      lap.receive = in;
      return lap;
    }
  };
  const View& view() const { return view_; }

 private:
  Gaps gaps_;
  View view_;
};

/// The calls that pack and unpack. `Count`: that of the context.
template <Packing packing, class Count>
struct Packer {
  static void pack(const PackedMessages::View& v, const char* from) { pack(v, from, v.out, v.sends); }
  static void pack(const PackedMessages::View& v, const char* from, char* to, int messages) {
    for (int i = 0; i < messages; ++i) {
      if constexpr (packing == Packing::hand) {
        pack_by_hand(*v.gaps, from + i * v.span, to + i * v.packed);
      } else {
        call::pack<Count>(from + i * v.span, static_cast<Count>(v.count), v.type, to + i * v.packed,
                          static_cast<Count>(v.room), v.comm);
      }
    }
  }
  static void unpack(const PackedMessages::View& v, char* to) {
    for (int i = 0; i < v.receives; ++i) {
      if constexpr (packing == Packing::hand) {
        unpack_by_hand(*v.gaps, v.in + i * v.packed, to + i * v.span);
      } else {
        call::unpack<Count>(v.in + i * v.packed, static_cast<Count>(v.packed), to + i * v.span,
                            static_cast<Count>(v.count), v.type, v.comm);
      }
    }
  }
};

/// Packs all messages that a repetition sends before its calls, and unpacks all that it received after them.
/// A pattern that answers what it receives, or has a root, defines step_packed instead.
template <class Pattern, Packing packing>
struct InPackedForm : LoopBase {
  template <class C, class... More>
  static void step(const C& c, const Lap& lap, PackedMessages::View v, More... more) {
    using With = Packer<packing, decltype(c.count)>;
    if constexpr (Defines_step_packed<Pattern>) {
      Pattern::template step_packed<With>(c, lap, v);
    } else {
      With::pack(v, lap.send);
      Pattern::step(c, v.in_contiguous(lap), more...);
      With::unpack(v, lap.receive);
    }
  }
};

/// Calls `use` with the loop and with a context in which messages are contiguous.
template <class Pattern, class C, class Use>
auto with_packing(Packing packing, const PackedMessages& packed, const C& c, const Use& use) {
  C contiguous = c;
  contiguous.span = packed.view().packed;
  if (packing == Packing::mpi) {
    contiguous.type = MPI_PACKED;
    contiguous.count = static_cast<decltype(c.count)>(packed.view().packed);
    return use(InPackedForm<Pattern, Packing::mpi>{}, contiguous);
  }
  contiguous.type = c.element;
  contiguous.count = static_cast<decltype(c.count)>(packed.view().gaps->elements);
  return use(InPackedForm<Pattern, Packing::hand>{}, contiguous);
}

}  // namespace openimb
