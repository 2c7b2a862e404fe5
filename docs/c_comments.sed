# Makes the comments of the C headers Doxygen's: that of the file, those behind code, those before it. Titles stay.
1s:/\*:/** \\file\n:
/\/\* ---- /b
# A comment behind several members is that of each.
:each
s:([a-z0-9_]+) ([a-z_]+), ([a-z_, ]+); +(/\* .* \*/)$:\1 \2; \4 \1 \3; \4:
t each
s:([^ ] +)/\* :\1/**< :g
s:^( *)/\*( |$):\1/**\2:
