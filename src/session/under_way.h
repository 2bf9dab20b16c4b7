// What a rank is at, named to the surroundings while tables and points come and go.
#pragma once

#include "session/session.h"

namespace openimb {

/// A table, or one point of it, for as long as the object lives.
class UnderWay {
 public:
  UnderWay(Surroundings& surroundings, const Table& table, std::optional<std::int64_t> bytes = std::nullopt,
           std::optional<int> partner = std::nullopt)
      : surroundings_(surroundings), outside_(bytes ? whole(table) : Activity{}) {
    Activity inside = whole(table);
    if (table.spec.kind != Kind::synchronization) inside.bytes = bytes;
    inside.partner = partner;
    surroundings_.activity(inside);
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  ~UnderWay() { surroundings_.activity(outside_); }

 private:
  static Activity whole(const Table& table) { return {table.spec.name, table.layout.processes, {}}; }

  Surroundings& surroundings_;
  const Activity outside_;
};

}  // namespace openimb
