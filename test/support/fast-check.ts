import fc from "fast-check"

// Properties are tried with the same values in every run, so that a failure is the fault of a change. The soak tries others too (`FC_SEED`).

fc.configureGlobal({ seed: Number(process.env["FC_SEED"] ?? 20) })

export { fc }
