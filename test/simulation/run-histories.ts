import { spawn } from "node:child_process"
import { join } from "node:path"

/** What `npm run simulate` writes, with a bug planted in the code where one is named. */
export async function runHistories(
  count: number,
  first: number,
  on: string,
  more: readonly string[],
  bug?: string,
): Promise<string> {
  const folder = import.meta.dirname
  const plant = bug === undefined ? [] : ["--import", join(folder, "plant.ts")]
  const options = [...(on === "memory" ? [] : [`--${on}`]), ...more]
  // In a process of its own: the test runner's own bookkeeping makes every promise twice as slow.
  const child = spawn(
    process.execPath,
    ["--max-semi-space-size=64", ...plant, join(folder, "run.ts"), String(count), String(first), ...options],
    {
      env: { ...process.env, NODE_TEST_CONTEXT: "", ...(bug === undefined ? {} : { WIRE_PLANTED_BUG: bug }) },
      stdio: ["ignore", "pipe", "pipe"],
    },
  )
  let output = ""
  child.stdout.on("data", (text) => (output += String(text)))
  child.stderr.on("data", (text) => (output += String(text)))
  await new Promise((resolve) => child.once("close", resolve))
  return output
}
