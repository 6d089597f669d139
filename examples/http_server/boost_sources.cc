// boost_sources.cc: compiles the non-template parts of Boost once. This program defines
// BOOST_BEAST_SEPARATE_COMPILATION and BOOST_ASIO_SEPARATE_COMPILATION, which leave these parts out
// of all other files.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
#include <boost/json/src.hpp>
