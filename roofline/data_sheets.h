// roofline/data_sheets.h: the texts of machines/*.json, compiled in by CMake (data_sheets.cc.in).
#ifndef RAFTER_ROOFLINE_DATA_SHEETS_H_
#define RAFTER_ROOFLINE_DATA_SHEETS_H_

#include <string>
#include <vector>

namespace rafter::roofline {

struct DataSheet {
  std::string name;  // file name without ".json"
  std::string json;
};

const std::vector<DataSheet>& DataSheets();

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_DATA_SHEETS_H_
