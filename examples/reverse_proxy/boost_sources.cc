// boost_sources.cc: the parts of Boost that are no templates, compiled once. BOOST_BEAST_SEPARATE_COMPILATION and
// BOOST_ASIO_SEPARATE_COMPILATION, defined for this program, leave them out of all other files.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
