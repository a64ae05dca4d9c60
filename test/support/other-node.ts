import { spawnSync } from "node:child_process"
import { delimiter, join } from "node:path"

/** The machine's own Node, if it is another version than the pinned one. */
export function otherNode(): string | undefined {
  const paths = (process.env["PATH"] ?? "").split(delimiter).filter((path) => !path.includes("node_modules"))
  return paths
    .map((path) => join(path, "node"))
    .find((node) => {
      const { status, stdout } = spawnSync(node, ["--version"], { encoding: "utf8" })
      return status === 0 && stdout.trim() !== process.version
    })
}
