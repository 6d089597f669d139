// weft_bench.cc: the suite over weft.
#include "weft_adapter.h"
#include "workload/suite.h"

int main(int argc, char** argv) { return bench::suite_main<bench::weft_adapter>(argc, argv); }
