import type { FastifyInstance, FastifyRequest } from "fastify"
import { listTriggers, runTrigger, type TriggeredAnswer, type TriggersAnswer } from "../../api/triggers.ts"
import type { SchedulePlan } from "../../plan/plan-triggers.ts"
import type { FoundTrigger, Triggers } from "../../workflows/triggers/triggers.ts"
import { callerOf } from "../caller-of.ts"
import { HttpError, refuse } from "../http-error.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { serve } from "../serve-route.ts"

/** Seeing and steering schedules and webhooks. `isOpenToStrangers`: anyone can reach the service, and no keys are asked for. */
export function triggerRoutes(app: FastifyInstance, parts: RouteDependencies, isOpenToStrangers: boolean): void {
  const { triggers, log, audit } = parts
  const mayUse = (request: FastifyRequest): Triggers | null => {
    const isTheirs = request.isOperator || (callerOf(request) === triggers?.caller && !isOpenToStrangers)
    return isTheirs ? triggers : null
  }

  serve(app, listTriggers, async (request) => {
    const mine = mayUse(request)
    // Without a folder there is nothing to hide.
    if (mine === null && (triggers !== null || isOpenToStrangers))
      throw refuse("not_found", "There is no route GET /triggers")
    await mine?.ready
    return { triggers: (await mine?.list()) ?? [] } satisfies TriggersAnswer
  })

  // One pattern for all, because the name of a workflow may have slashes: the end of the path says which.
  serve(app, runTrigger, async (request, reply) => {
    const mine = mayUse(request)
    await mine?.ready
    const { workflow, name, act } = partsOf(request.params["*"])
    const found = mine?.find(workflow, name)
    if (mine === null || found === undefined) throw refuse("not_found", "There is no such schedule or webhook")
    const caller = callerOf(request)
    const about = { workflow, trigger: name, ...(caller !== "" && { caller }) }
    switch (act) {
      case "run": {
        if (!isSchedule(found)) {
          throw refuse("method_not_allowed", "A webhook is started by its deliveries", [], { allow: "" })
        }
        const started = await mine.runNow(found)
        if ("error" in started) throw new HttpError(started.error)
        log.info({ ...about, run_id: started.run_id }, "schedule started by hand")
        return reply.code(202).send({ run_id: started.run_id } satisfies TriggeredAnswer)
      }
      case "pause":
        await mine.pause(found)
        log.info(about, "trigger paused")
        audit({ act: "paused", caller, workflow, trigger: name })
        return mine.show(found)
      case "resume":
        await mine.resume(found)
        log.info(about, "trigger resumed")
        audit({ act: "resumed", caller, workflow, trigger: name })
        return mine.show(found)
    }
  })
}

function isSchedule(found: FoundTrigger): found is FoundTrigger<SchedulePlan> {
  return found.plan.kind === "schedule"
}

type Act = "run" | "pause" | "resume"

/** `tickets/triage/nightly/run` */
function partsOf(path: string): { readonly workflow: string; readonly name: string; readonly act: Act } {
  const segments = path.split("/")
  const act = segments.pop()
  const name = segments.pop() ?? ""
  if (act !== "run" && act !== "pause" && act !== "resume") {
    throw refuse("not_found", "A path of a trigger ends with /run, /pause or /resume")
  }
  return { workflow: segments.join("/"), name, act }
}
