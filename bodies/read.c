/* Reads mechanisms from files: the format according to the extension, and the locale in which numbers are read. */
#define _POSIX_C_SOURCE 200809L /* newlocale, uselocale */
#include "files.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

/* Does the text begin like XML? */
static int isMarkup(const char *data, size_t size) {
  size_t i = size >= 3 && !memcmp(data, "\xEF\xBB\xBF", 3) ? 3 : 0;
  while (i < size && data[i] && strchr(" \t\r\n", data[i])) i++;
  return i < size && data[i] == '<';
}

int bodiesRecord(CPBodies b, int writes) {
  static const FileWriter *const writers[] = {NULL, &yaml_writer, &mjcf_writer, &urdf_writer,
                                              &sdf_writer};
  const int known = writes > 0 && writes < (int)(sizeof writers / sizeof *writers);
  if (b->writer || !known) return 0;
  b->writer = writers[writes];
  return b->writer->start(b);
}

CPBodies bodiesReadText(const FileText *file, Run *run, char *message) {
  const char *path = file->path;
  const int is_xml = bodiesEndsWith(path, ".xml") || bodiesEndsWith(path, ".mjcf") ||
                     bodiesEndsWith(path, ".urdf") || bodiesEndsWith(path, ".sdf") ||
                     bodiesEndsWith(path, ".osim") || bodiesEndsWith(path, ".world");
  run->t_end = 10, run->assemble = run->balance = 1;
  if (!is_xml && isMarkup(file->text, file->size)) {
    snprintf(
        message, TEXT,
        "%s: this format is not read; files in MJCF end in .xml or .mjcf, those in URDF in .urdf, "
        "those in SDF in .sdf or .world, and OpenSim's in .osim",
        path);
    return NULL;
  }
  /* This locale holds for this thread, in all functions that the readers call. */
  const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!plain) return snprintf(message, TEXT, "%s: no memory", path), NULL;
  const locale_t before = uselocale(plain);
  CPBodies b            = (is_xml ? bodiesReadXml
                           : bodiesEndsWith(path, ".asmt")
                               ? bodiesReadAsmt
                               : bodiesReadYaml)(file->text, file->size, path, run, message, TEXT);
  uselocale(before);
  freelocale(plain);
  if (b) b->run = *run, b->run.parameters = b->run.moved = NULL;
  if (b && run->moved && (is_xml || bodiesEndsWith(path, ".asmt"))) {
    snprintf(message, TEXT, "%.300s: only YAML files have named parameters for gradients", path);
    CPBodiesFree(&b);
  }
  return b;
}

int CPBodiesRead(const char *path, const char *text, size_t length, CPBodies *bodies,
                 CPBodiesFile *file) {
  CPBodiesFile own;
  char message[TEXT] = "";
  const char *why    = NULL;
  if (!bodies) return cpRefuse(NULL, __func__, "bodies must not be NULL");
  *bodies        = NULL;
  const int flag = file ? cpTake(NULL, &own, file, __func__) : CP_SUCCESS;
  if (flag) return flag;
  if (!path) return cpRefuse(NULL, __func__, "path must not be NULL");
  char *data = text ? NULL : bodiesFile(path, &length, &why);
  if (data) text = data;
  const FileText all = {path, text, length, file ? own.parameters : NULL};
  Run run            = {.parameters = all.parameters};
  run.writes         = file ? own.writes : 0;
  if (text) *bodies = bodiesReadText(&all, &run, message);
  else snprintf(message, sizeof message, "%s: %s", path, why);
  if (*bodies && file && own.named && own.named[strspn(own.named, " ")] &&
      bodiesFollowFile(*bodies, &all, own.named, message))
    CPBodiesFree(bodies);
  free(data);
  bodiesOneLine(message, sizeof message);
  const CPBodies b = *bodies;
  if (b && b->writer && b->writer->only_in_space && b->m.space.dimension == 2) {
    const char *format = b->writer->only_in_space;
    CPBodiesFree(bodies);
    return cpRefuse(NULL, __func__, "%s: %s has no mechanisms in the plane", path, format);
  }
  if (!b) return cpRefuse(NULL, __func__, "%s", message);
  own = (CPBodiesFile){.title         = b->run.title,
                       .method        = b->run.method,
                       .method_line   = b->run.method_at[0],
                       .method_column = b->run.method_at[1],
                       .held          = b->run.held,
                       .sensors       = b->sensors ? b->sensors : "",
                       .notes         = b->notes ? b->notes : "",
                       .remarks       = b->remarks ? b->remarks : "",
                       .files         = b->files ? b->files : "",
                       .formulation   = b->formulation,
                       .t_end         = b->run.t_end,
                       .dimension     = b->m.space.dimension,
                       .assemble      = b->run.assemble,
                       .balance       = b->run.balance,
                       .written       = b->writer ? b->writer->finish(b, path) : NULL};
  if (b->writer && !own.written) {
    CPBodiesFree(bodies);
    return cpReport(NULL, CP_MEM_FAIL, __func__, "%s: no memory", path);
  }
  if (file) cpGive(file, &own);
  return CP_SUCCESS;
}
