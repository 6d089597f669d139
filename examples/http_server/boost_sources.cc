// boost_sources.cc: compiles Boost.JSON, of which this program uses the headers only.
#include <boost/json/src.hpp>
