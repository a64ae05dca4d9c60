import { batch, computed } from "@preact/signals"
import { isCodeModulePath, isModulePath } from "../../src/base/module-path.ts"
import { isCodePath } from "../../src/source/code-files.ts"
import { sourceModules } from "../../src/base/limits.ts"
import type { Compilation } from "./source.ts"
import { compilation, compilationOf, compileNow, filesAround, partSource, setFiles, shownPart } from "./source.ts"

// The other files that a workflow uses. Each can be looked at and edited; all of them go with every check and run.

/** Where the main source stands among them. */
export const mainPath = computed(() => filesAround.value.file ?? "main.wire")
export const partPaths = computed(() => Object.keys(filesAround.value.modules ?? {}).toSorted())

/** What the page knows about the part that the editor shows; null while it shows the main source. */
export const partCompilation = computed((): Compilation | null => {
  const path = shownPart.value
  const source = path === null ? null : partSource({ text: compilation.value.text, ...filesAround.value }, path)
  return source === null ? null : compilationOf(source)
})

/** The compilation of the text that the editor shows. */
export const shownCompilation = computed(() => partCompilation.value ?? compilation.value)

export function showPart(path: string | null): void {
  compileNow()
  shownPart.value = path
}

/** Adds an empty file to the workflow; a sentence when that cannot be. */
export function addPart(given: string): string | undefined {
  const name = given.trim()
  const path = name.endsWith(".wire") || isCodePath(name) ? name : `${name}.wire`
  const { modules = {} } = filesAround.value
  if (!isModulePath(path) && !isCodeModulePath(path))
    return "A path has names between `/`, without `.` and `..`, and ends in `.wire`, or `.js` or `.ts` for code."
  if (path === mainPath.value || Object.hasOwn(modules, path)) return `There is a file ${path} already.`
  if (partPaths.value.length >= sourceModules) return `A workflow has at most ${sourceModules} other files.`
  compileNow()
  batch(() => {
    setFiles({ ...filesAround.value, modules: { ...modules, [path]: "" } })
    shownPart.value = path
  })
  return undefined
}

/** Removes the part that is shown from the workflow. */
export function removePart(path: string): void {
  compileNow()
  const { [path]: _, ...modules } = filesAround.value.modules ?? {}
  const { file } = filesAround.value
  batch(() => {
    shownPart.value = null
    setFiles({ ...(file !== undefined && { file }), ...(Object.keys(modules).length > 0 && { modules }) })
  })
}
