#include "guarded_model.h"

#include "../command.h"
#include "../simulation/context.h"

enum { MESSAGE = 400 };

typedef struct {
  const ModelChoice *choice;
  ModelWork work;
  void *data;
} Task;

static int work_with_model(const Guarded *guarded, void *data) {
  const Task *task          = data;
  const ModelChoice *choice = task->choice;
  char message[MESSAGE]     = "";
  SUNContext ctx            = context_create();
  if (!ctx) {
    complain("SUNDIALS gives no context");
    return STATUS_FAILED;
  }
  snprintf(guarded->doing, GUARDED_TEXT, "create");
  CPModel *model     = CPModelCreate(choice->type, choice->values, ctx, message, sizeof message);
  guarded->doing[0]  = '\0';
  const int possible = model && model->y0;
  const int status   = possible ? task->work(guarded, model, task->data) : STATUS_USAGE;
  if (!model) complain("%s", message);
  else if (!possible) complain("%s: its create leaves y0 NULL", choice->type->name);
  if (possible) snprintf(guarded->doing, GUARDED_TEXT, "destroy");
  CPModelFree(&model);
  SUNContext_Free(&ctx);
  return status;
}

int run_with_model(const ModelChoice *choice, long limit, ModelWork work, void *data) {
  Task task = {choice, work, data};
  return run_guarded(choice->type->name, limit, work_with_model, &task);
}
