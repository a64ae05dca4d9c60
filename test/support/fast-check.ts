import fc from "fast-check"
import { soakSeed } from "./strength.ts"

// Properties are tried with the same values in every run, so that a failure is the fault of a change. `npm run explore` tries others.

fc.configureGlobal({ seed: soakSeed })

export { fc }
