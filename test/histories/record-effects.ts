import { writeFileSync } from "node:fs"
import { runEffects } from "./effects-scene.ts"

// Records the scene as this release runs it: `node test/histories/record-effects.ts effects-0.2`, and `effects-0.2-harmless`. Two
// recordings for each release that writes its logs in another form; they are never written again.

const [name] = process.argv.slice(2)
if (name === undefined) throw new Error("The name of the recording is missing")
const { made, events, appends } = await runEffects(name.endsWith("-harmless"))
const path = `${import.meta.dirname}/${name}`
writeFileSync(`${path}.jsonl`, events.map((event) => `${JSON.stringify(event)}\n`).join(""))
writeFileSync(`${path}.effects.json`, `${JSON.stringify({ appends, made }, null, 2)}\n`)
