import { registerHooks } from "node:module"

/** A mistake that a developer could make in the code: the text to replace, and what replaces it. */
export interface Replacement {
  readonly file: string
  readonly from: string
  readonly to: string
}

/** Modules that are loaded from now on have the mistake in them. */
export function plantBug({ file, from, to }: Replacement): void {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      if (!url.endsWith(`/${file}`)) return loaded
      const source =
        typeof loaded.source === "string" ? loaded.source : Buffer.from(loaded.source as Uint8Array).toString()
      if (source.split(from).length !== 2) throw new Error(`"${from}" is not in ${file} exactly once`)
      return { ...loaded, source: source.replace(from, to) }
    },
  })
}
