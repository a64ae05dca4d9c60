import { writeFileSync } from "node:fs"
import { runScene } from "./messages-run.ts"

// Records the scene as this version runs it: `node test/histories/record-messages.ts messages-form-4`. One recording for each
// form of stored messages that a release writes; from that release on it is never written again.

const [name] = process.argv.slice(2)
if (name === undefined) throw new Error("The name of the recording is missing")
const { asked, events, appends } = await runScene()
const path = `${import.meta.dirname}/${name}`
writeFileSync(`${path}.jsonl`, events.map((event) => `${JSON.stringify(event)}\n`).join(""))
writeFileSync(`${path}.requests.json`, `${JSON.stringify({ appends, asked }, null, 2)}\n`)
