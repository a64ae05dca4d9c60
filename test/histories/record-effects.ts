import { writeFileSync } from "node:fs"
import { runEffects } from "./effects-scene.ts"

// Records the scene as this version runs it: `node test/histories/record-effects.ts effects-form-4`, and `effects-form-4-harmless`. Two
// recordings for each form of logs that a release writes; from that release on they are never written again.

const [name] = process.argv.slice(2)
if (name === undefined) throw new Error("The name of the recording is missing")
const { made, events, appends } = await runEffects(name.endsWith("-harmless"))
const path = `${import.meta.dirname}/${name}`
writeFileSync(`${path}.jsonl`, events.map((event) => `${JSON.stringify(event)}\n`).join(""))
writeFileSync(`${path}.effects.json`, `${JSON.stringify({ appends, made }, null, 2)}\n`)
