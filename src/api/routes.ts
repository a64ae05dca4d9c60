import { invalidateCache } from "./cache.ts"
import { fileRoutes } from "./files.ts"
import { execute, rerun } from "./execute.ts"
import { demoRoutes, health, llms, mcp, metrics, openapi, playground, ready } from "./operations.ts"
import { agUi } from "./ag-ui.ts"
import { erasureRoutes } from "./erasure.ts"
import { chatRoutes } from "./openai.ts"
import { answerQuestion, listQuestions, listQuestionsOfRun } from "./questions.ts"
import { eventRoutes } from "./sent-events.ts"
import { getOrigins } from "./origins.ts"
import type { Route } from "./route.ts"
import { actOnRelease, getRelease } from "./releases.ts"
import { cancelRun, deleteRun, followRun, getCallRequest, getRun, getRunRequest, listRuns } from "./runs.ts"
import { getRunsAction, startRunsAction } from "./run-actions.ts"
import { getRunStats } from "./run-stats.ts"
import { scoreRoutes } from "./scores.ts"
import { format, validate } from "./source.ts"
import { listBudgets, listSpending } from "./spending.ts"
import { triggerRoutes } from "./triggers.ts"
import { versionRoutes } from "./versions.ts"
import { executeWorkflow, getWorkflow, listWorkflows } from "./workflows.ts"

/** Every route of the service, in the order of the documentation. */
export const routes = [
  execute,
  getRun,
  getRunRequest,
  getCallRequest,
  getOrigins,
  followRun,
  listQuestionsOfRun,
  answerQuestion,
  listQuestions,
  ...eventRoutes,
  ...fileRoutes,
  cancelRun,
  deleteRun,
  rerun,
  validate,
  format,
  listWorkflows,
  getWorkflow,
  executeWorkflow,
  ...versionRoutes,
  agUi,
  getRelease,
  actOnRelease,
  ...triggerRoutes,
  listRuns,
  getRunStats,
  startRunsAction,
  getRunsAction,
  ...erasureRoutes,
  ...scoreRoutes,
  listBudgets,
  listSpending,
  ...chatRoutes,
  mcp,
  invalidateCache,
  playground,
  health,
  ready,
  metrics,
  openapi,
  llms,
  ...demoRoutes,
] as readonly Route[]
