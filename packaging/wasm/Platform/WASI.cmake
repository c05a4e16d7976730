# CMake asks for the name of the system: nothing about it differs.
