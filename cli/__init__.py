"""The command line of tiedlm: parse, call one library function, print."""
