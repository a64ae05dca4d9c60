import { downloadText } from "../share/copy.ts"
import { unknownRequest, type RunView } from "../shown-run/run-view.ts"

/** Whether the page knows all that a test of the run needs: its input and its end. */
export function canBeTest(run: RunView): boolean {
  return run.run_id !== undefined && run.state.finished_at !== null && run.request !== unknownRequest
}

/** A test file that plays the run again, as `wire test add` writes it. It is for the workflow of the same name. */
export async function downloadTest(run: RunView): Promise<void> {
  const { testOfRun, titleOfTest } = await import("../../src/editor/test-of-run.ts")
  const { request, state } = run
  const title = titleOfTest(run.run_id ?? "", state.status)
  const name = (request.workflow ?? request.name ?? "").split("/").at(-1)
  const file = `${name === undefined || name === "" ? "workflow" : name}.test.wire`
  downloadText(testOfRun({ title, input: request.input, state }), file, "text/plain")
}
