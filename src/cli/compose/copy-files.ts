import { FolderObjects } from "../../adapters/files/folder-objects.ts"
import { FilesFailure, type ObjectStore } from "../../ports/files.ts"
import type { MoveEnd } from "../../store/move-store.ts"
import type { StoreReport } from "../../store/check-tables.ts"

/** The objects that a database names. */
export async function objectsNamedBy(end: Pick<MoveEnd, "execute">): Promise<readonly string[]> {
  const rows = await end.execute({
    how: "all",
    sql: "SELECT name FROM file_objects ORDER BY num",
    values: [],
    ofRun: false,
  })
  return (rows as readonly { readonly name: string }[]).map(({ name }) => name)
}

/** Copies these objects, encrypted as they are; those that are there already stay. One that has gone meanwhile is nobody's. Gives the names of those that are missing. */
export async function copyObjects(
  names: readonly string[],
  from: ObjectStore,
  to: ObjectStore,
  tell: (done: number) => void,
): Promise<readonly string[]> {
  const there = new Set<string>()
  for await (const { name } of to.list()) there.add(name)
  const missing: string[] = []
  let done = 0
  for (const name of names) {
    if (!there.has(name)) {
      if (await exists(from, name)) await to.put(name, from.get(name))
      else missing.push(name)
    }
    tell(++done)
  }
  return missing
}

async function exists(objects: ObjectStore, name: string): Promise<boolean> {
  try {
    for await (const _ of objects.get(name, { from: 0, bytes: 1 })) break
    return true
  } catch (error) {
    if (error instanceof FilesFailure) return false
    throw error
  }
}

/** The report, with what the objects say. Rows are read first, so that what is stored meanwhile is not missed. */
export async function checkObjects(
  report: StoreReport,
  objects: ObjectStore | null,
  names: readonly string[],
): Promise<StoreReport> {
  if (report.files === null || names.length === 0) return report
  if (objects === null)
    return { ...report, problems: [...report.problems, "There are files in the store, and WIRE_FILES is none"] }
  const found = new Set<string>()
  for await (const { name } of objects.list()) found.add(name)
  let missing = 0
  for (const name of names) if (!found.has(name)) missing++
  if (missing === 0) return report
  const problem = `${missing} of the ${names.length} objects of files are missing in ${objects.where}`
  return { ...report, files: { ...report.files, missing }, problems: [...report.problems, problem] }
}

/** Where the objects of a backup are: a folder beside its file. */
export function backupObjects(file: string): ObjectStore {
  return new FolderObjects(`${file}.files`)
}
