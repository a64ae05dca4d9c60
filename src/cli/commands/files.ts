import { createWriteStream } from "node:fs"
import { stat } from "node:fs/promises"
import { basename } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import type { Command } from "commander"
import { mediaTypeOfName } from "../../base/media-type.ts"
import { CommandFailure, WrongValue } from "../terminal/command-failure.ts"
import { writeBytes } from "../terminal/screen.ts"
import { callService, serviceOptions, type ServiceFlags } from "./service-call.ts"

const exits =
  "Exit code: 0 when all is well, 1 when the service refuses or cannot be reached, 2 for a wrong command line."

export function filesCommand(files: Command): void {
  files.description("Lists your files at a running service; sends, gets and deletes them.")
  serviceOptions(files)
    .option("--limit <n>", "how many of the newest are listed", "50")
    .addHelpText(
      "after",
      `
Examples:
  wire files --url https://wire.example.com
  wire files put contract.pdf
  wire files get file_0123456789abcdef --out contract.pdf
  wire files delete file_0123456789abcdef

${exits}`,
    )
    .action((flags: ServiceFlags & { readonly limit: string }) =>
      callService(flags, async (call) => {
        const limit = Number(flags.limit)
        if (!Number.isInteger(limit) || limit < 1 || limit > 500) {
          throw new WrongValue(`--limit is "${flags.limit}": it must be a whole number from 1 to 500.`)
        }
        const page = await call.client.files({ limit })
        const rows = page.files.map(({ file_id, name, media_type, bytes, created_at }) => [
          file_id,
          name,
          media_type,
          String(bytes),
          created_at.replace("T", " ").replace(/\.\d+Z$/, "Z"),
        ])
        call.table(page, ["FILE", "NAME", "TYPE", "BYTES", "SENT"], rows, "There are no files.")
      }),
    )
  addPut(files)
  addGet(files)
  addDelete(files)
}

function addPut(files: Command): void {
  serviceOptions(files.command("put"))
    .description("Sends a file. The same contents, name and type again are the same file.")
    .argument("<path>", "the file")
    .option("--name <name>", "what it is called; the name of the path unless set")
    .option("--type <type>", "its media type; that of its extension unless set")
    .addHelpText("after", `\n${exits}`)
    .action((path: string, flags: ServiceFlags & { readonly name?: string; readonly type?: string }) =>
      callService(globalFlags(files, flags), async (call) => {
        const found = await stat(path).catch(() => null)
        if (found?.isFile() !== true) throw new CommandFailure(`There is no file ${path}.`)
        const name = flags.name ?? basename(path)
        const media_type = flags.type ?? mediaTypeOfName(name)
        const file = await call.client.sendFile(path, { name, ...(media_type !== undefined && { media_type }) })
        call.print(file, () => [`${file.file_id}  ${file.name} (${file.media_type}, ${file.bytes} bytes)`])
      }),
    )
}

function addGet(files: Command): void {
  serviceOptions(files.command("get"))
    .description("Writes the contents of a file to standard output, or to a path that is not there yet.")
    .argument("<id>", "the file's id")
    .option("--out <path>", "where it is written; nothing is overwritten")
    .addHelpText("after", `\n${exits}`)
    .action((id: string, flags: ServiceFlags & { readonly out?: string }) =>
      callService(globalFlags(files, flags), async (call) => {
        const contents = Readable.fromWeb((await call.client.file(id)) as Parameters<typeof Readable.fromWeb>[0])
        if (flags.out === undefined) {
          await writeBytes(contents)
          return
        }
        try {
          await pipeline(contents, createWriteStream(flags.out, { flags: "wx" }))
        } catch (error) {
          const code = error instanceof Error && "code" in error ? String(error.code) : ""
          if (code === "EEXIST") throw new CommandFailure(`${flags.out} is there already: nothing is overwritten.`)
          throw error
        }
        call.note(`Written to ${flags.out}.`)
      }),
    )
}

function addDelete(files: Command): void {
  serviceOptions(files.command("delete"))
    .description("Deletes a file that no open run uses.")
    .argument("<id>", "the file's id")
    .addHelpText("after", `\n${exits}`)
    .action((id: string, flags: ServiceFlags) =>
      callService(globalFlags(files, flags), async (call) => {
        await call.client.deleteFile(id)
        call.print({ file_id: id, deleted: true }, () => ["The file is deleted."])
      }),
    )
}

/** The options of a service stand before or after the name of the act. */
function globalFlags<F extends ServiceFlags>(files: Command, flags: F): F {
  return { ...files.opts<ServiceFlags>(), ...flags }
}
