import { filesOf } from "../../src/source/source-files.ts"
import type { StreamEvent, StreamOptions } from "../../src/client/client.ts"
import { WireworksError } from "../../src/client/client.ts"
import { addToHistory } from "../history/kept-runs.ts"
import { keep } from "../page/keep.ts"
import { announce } from "../page/notices.ts"
import { liveRun, shownRun, startClock, touchRuns } from "../shown-run/shown-run.ts"
import { hasEditor } from "../shown-run/standing.ts"
import { secretIn, withoutSecrets } from "../form/secrets.ts"
import { keepSelection } from "../shown-run/selection.ts"
import { compilation } from "../language/source.ts"
import type { ApiError } from "../../src/api/error-kinds.ts"
import { asksForKey, client, toWireError } from "../service/service.ts"
import type { RunRequest } from "../shown-run/run-view.ts"
import { RunView, unknownRequest } from "../shown-run/run-view.ts"
import type { JsonObject } from "../../src/base/json-value.ts"
import { capital } from "../ui/show.ts"
import { endSentence, reconnectingText } from "../shown-run/run-status.ts"

/** Starts a run and follows it to its end. */
export function beginRun(request: RunRequest, secrets: JsonObject): void {
  const run = new RunView(request)
  show(run)
  announce("Run started.")
  const { source, around = {}, input, options, workflow, rerun } = request
  const files = filesOf(around)
  const call: StreamOptions = {
    signal: run.leaving.signal,
    onRun(run_id) {
      run.run_id = run_id
      run.hasConnected = true
      remember(run)
      touchRuns()
      if (!run.cancelling) return
      // A cancel that was asked for before the run had an id.
      run.cancelling = false
      void cancelRun(run)
    },
    onReconnect: (attempt, cause) => reconnecting(run, attempt, cause),
  }
  // A workflow of the server runs again as the server has it: with its secrets, and without the source.
  const sent = workflow === undefined ? { workflow_source: source, ...files } : {}
  const stream =
    rerun !== undefined
      ? client().rerun(
          rerun.run_id,
          { ...sent, input, secrets, options, from: rerun.from, ...(rerun.given && { given: rerun.given }) },
          call,
        )
      : workflow === undefined
        ? client().stream({ workflow_source: source, ...files, input, secrets, options }, call)
        : client()
            .workflow(workflow)
            .stream(input, { ...call, secrets, options })
  void consume(run, stream, () => beginRun(request, secrets))
}

/** Follows a run that exists, after what is known of it already. */
export function resume(run: RunView, run_id: string): void {
  run.connection = "open"
  run.refused = null
  run.cancelling = false
  run.leaving = new AbortController()
  if (liveRun.value !== run) show(run)
  const after = run.state.last_event_id
  const stream = client().follow(run_id, {
    after,
    signal: run.leaving.signal,
    onReconnect: (attempt, cause) => reconnecting(run, attempt, cause),
  })
  void consume(run, stream, () => resume(run, run_id))
}

/** Tries once more after the connection was given up. */
export function reconnect(run: RunView): void {
  if (run.run_id !== undefined) resume(run, run.run_id)
}

/** How long the service may take to answer a cancel before the page stops waiting for it. */
const cancelAnswersWithin = 5_000

/** Cancels the run. The page is free again at the latest when the service does not answer; a second call frees it at once. */
export async function cancelRun(run: RunView): Promise<void> {
  if (run.isOver) return
  const { run_id, connection, cancelling } = run
  run.cancelling = true
  touchRuns()
  if (connection !== "open" || cancelling) {
    leave(run)
    // The page waits no longer, but the service should still get the cancel.
    if (run_id !== undefined && !cancelling)
      void client()
        .cancel(run_id)
        .catch(() => {})
    return
  }
  announce("Cancelling the run.")
  if (run_id === undefined) {
    // The answer to the start is still on its way: `onRun` cancels.
    setTimeout(() => {
      if (run.run_id === undefined) leave(run)
    }, cancelAnswersWithin)
    return
  }
  try {
    await client().cancel(run_id, { signal: AbortSignal.timeout(cancelAnswersWithin) })
  } catch (error) {
    if (asksForKey(error, () => void cancelRun(run))) run.cancelling = false
    else leave(run)
    touchRuns()
  }
}

/** Stops following a run whose end the service has not confirmed. */
function leave(run: RunView): void {
  if (run.isOver || liveRun.value !== run) return
  run.leaving.abort(new Error("Cancelled on this page"))
}

function show(run: RunView): void {
  const before = shownRun.peek()?.state
  shownRun.value = run
  liveRun.value = run
  const { steps } = compilation.peek()
  keepSelection((node) => steps.has(node), before)
  touchRuns()
  startClock()
}

async function consume(run: RunView, stream: AsyncIterable<StreamEvent>, again: () => void): Promise<void> {
  try {
    for await (const event of stream) {
      run.hasConnected = true
      if (run.connection !== "open") {
        run.connection = "open"
        announce("Connected again.")
      }
      const { skew } = run
      run.take(event)
      // A reload needs to know how the two clocks differ: old events cannot tell.
      if (run.skew !== skew) remember(run)
      // Not only when the connection ends: a run that shows its result must not keep the next one from starting.
      if (run.isOver && liveRun.value === run) liveRun.value = null
      touchRuns()
    }
    if (!run.isOver) throw new Error("The stream ended before the run")
  } catch (error) {
    if (run.leaving.signal.aborted) {
      run.cancelling = false
      if (run.run_id === undefined) run.refuse(cancelledEarly, true)
      else run.disconnect("lost")
    } else if (asksForKey(error, again)) {
      // Until there is a key, a run that exists is one that the page has lost sight of.
      if (run.run_id === undefined) shownRun.value = null
      else run.disconnect("lost")
    } else if (error instanceof WireworksError || run.run_id === undefined) {
      run.refuse(toWireError(error), !(error instanceof WireworksError))
    } else {
      run.disconnect("lost")
    }
  }
  if (liveRun.value === run) liveRun.value = null
  touchRuns()
  announce(endSentence(run))
  if (run.run_id !== undefined && run.isOver && run.events.length > 0) {
    remember(run)
    // Runs that were opened here, but started elsewhere, are in the list of the server's runs.
    if (run.request !== unknownRequest && !run.isOpened) await addToHistory(run, withoutSecrets)
  }
}

const cancelledEarly: ApiError = {
  kind: "internal_error",
  message: "Cancelled before the service answered",
  issues: [
    {
      path: "",
      message: "",
      hint: "Whether the run began is not known. Check that the service is running and reachable, then run again.",
    },
  ],
}

function reconnecting(run: RunView, attempt: number, cause: unknown): void {
  run.disconnect("reconnecting")
  run.attempt = attempt
  run.isBusy = cause instanceof WireworksError && (cause.status === 429 || cause.status === 503)
  touchRuns()
  // Nothing waits for the answer to a cancel whose connection broke.
  if (run.cancelling) leave(run)
  else if (attempt === 1) announce(`${capital(reconnectingText(run))}. Trying again.`)
}

export interface Remembered {
  readonly run_id: string
  readonly request: RunRequest
  readonly asked_at: number
  readonly skew?: number
  readonly isOpened?: boolean
}

/** What a reload needs to find the run again; the tab's own, and gone with it. */
function remember(run: RunView): void {
  // A reload of a page without an editor finds its run by the address.
  if (!hasEditor.peek()) return
  const { run_id, request, asked_at, skew, isOpened } = run
  const kept = { run_id, request, asked_at, skew, isOpened }
  if (request === unknownRequest) return
  if (secretIn(JSON.stringify(request)) === undefined) keep("session", "run", kept)
}
