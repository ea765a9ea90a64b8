# Files as byte strings of a C source: cmake -DOUTPUT=texts.c "-DFILES=a.css;b.js" -P embed.cmake
# a.css becomes const unsigned char text_a_css[], which ends with 0.
set(source "/* Made from the files of runner/report. */\n#include \"output/report_texts.h\"\n")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  string(MAKE_C_IDENTIFIER text_${name} identifier)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "((....,)(....,)(....,)(....,)(....,)(....,)(....,)(....,))" "\\1\n" bytes "${bytes}")
  string(APPEND source "\nconst unsigned char ${identifier}[] = {\n${bytes}0};\n")
endforeach()
file(WRITE ${OUTPUT} "${source}")
