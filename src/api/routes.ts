import { invalidateCache } from "./cache.ts"
import { execute, rerun } from "./execute.ts"
import { demoRoutes, health, mcp, metrics, openapi, playground, ready } from "./operations.ts"
import { answerQuestion, listQuestions, listQuestionsOfRun } from "./questions.ts"
import type { Route } from "./route.ts"
import { cancelRun, followRun, getRun, listRuns } from "./runs.ts"
import { format, validate } from "./source.ts"
import { executeWorkflow, getWorkflow, listWorkflows } from "./workflows.ts"

/** Every route of the service, in the order of the documentation. */
export const routes = [
  execute,
  getRun,
  followRun,
  listQuestionsOfRun,
  answerQuestion,
  listQuestions,
  cancelRun,
  rerun,
  validate,
  format,
  listWorkflows,
  getWorkflow,
  executeWorkflow,
  listRuns,
  mcp,
  invalidateCache,
  playground,
  health,
  ready,
  metrics,
  openapi,
  ...demoRoutes,
] as readonly Route[]
