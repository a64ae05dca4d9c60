import assert from "node:assert/strict"
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { startService } from "../contract/http/start-service.ts"
import { folderWith, runWire } from "./run-wire.ts"

const copies = `input {
    contract: file
    photos: [file]
}

provider demo from openai { endpoint: "demo" }
model painter from demo { id: "demo"  outputs: ["image"]  assets: ["document", "image"] }
model reader from demo { id: "demo"  assets: ["document", "image"] }

agent read {
    model: model.reader
    instruction: "Read {{ asset input.contract }} {{ asset input.photos }}"
    output { months: integer }
}

agent draw {
    model: model.painter
    instruction: "Draw {{ asset input.contract }}"
    output { picture: file }
}

output {
    text: text_of(input.contract)
    name: input.contract.name
    photos: [p.media_type for p in input.photos]
    copy: make_file("copy.md", "# {{ text_of(input.contract) }}")
    picture: agent.draw.picture
    months: agent.read.months
}
`

const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex")

/** A folder with a workflow, its tests, and the files that they name. */
function folder(tests: string): string {
  const cwd = folderWith({ "copy.wire": copies, "copy.test.wire": tests })
  mkdirSync(join(cwd, "fixtures"))
  writeFileSync(join(cwd, "fixtures/a.txt"), "Notice: 3 months")
  writeFileSync(join(cwd, "fixtures/p.png"), png)
  writeFileSync(join(cwd, "fixtures/odd.txt"), Buffer.from([0xff, 0xfe, 0x00]))
  return cwd
}

describe("files in tests of workflows", () => {
  test("a test gives files to a run and to steps, and reads those that come of it", async () => {
    const cwd = folder(`test "copies" {
    input {
        contract: file "fixtures/a.txt"
        photos: [file "./fixtures/p.png"]
    }

    given agent.draw: { picture: file "fixtures/p.png" }

    expect output.text == "Notice: 3 months" && output.name == "a.txt"
    expect output.photos == ["image/png"]
    expect output.picture.name == "p.png" && output.picture.bytes == 16
    expect output.copy.name == "copy.md" && output.copy.media_type == "text/markdown"
    expect text_of(output.copy) == "# Notice: 3 months"
    expect text_of(input.contract) contains "months"
}

test "nothing but the truth" {
    input {
        contract: file "fixtures/a.txt"
        photos: []
    }

    expect text_of(output.copy) == "# Notice: 4 months"
}

test "no text" {
    input {
        contract: file "fixtures/a.txt"
        photos: []
    }

    given agent.draw: { picture: file "fixtures/p.png" }

    expect text_of(output.picture) == ""
}
`)
    const { code, out, err } = await runWire(["test"], { cwd })
    assert.equal(code, 1, out + err)
    assert.match(out, /1 passed, 2 failed/)
    assert.match(out, /"# Notice: 3 months"/)
    assert.match(out, /not UTF-8/)
    const formatted = await runWire(["fmt", "--check", "copy.test.wire"], { cwd })
    assert.equal(formatted.code, 0, formatted.out + formatted.err)
  })

  test("a file that is missing, outside of the project or of another type is said at its place", async () => {
    for (const [path, problem] of [
      ["fixtures/none.txt", /does not exist|no such|not there/i],
      ["../../outside.txt", /outside|leaves/i],
      ["fixtures/link.txt", /outside|leaves/i],
      ["fixtures/lie.pdf", /its contents are not application\/pdf/],
      ["fixtures", /not a regular file|folder/i],
    ] as const) {
      const cwd = folder(`test "x" {
    input { contract: file "${path}"  photos: [] }
    expect output.name == "a.txt"
}
`)
      writeFileSync(join(cwd, "fixtures/lie.pdf"), "no PDF")
      symlinkSync("/etc/hostname", join(cwd, "fixtures/link.txt"))
      const { code, out, err } = await runWire(["test"], { cwd })
      assert.equal(code, 2, out + err)
      assert.match(out + err, problem, path)
      assert.match(out + err, /copy\.test\.wire:2/, path)
    }
  })

  test("the checker knows the type of a file, and where one is no value", async () => {
    const cwd = folder(`test "x" {
    input { contract: "fixtures/a.txt"  photos: file "fixtures/p.png" }
    given agent.read: { months: file "fixtures/p.png" }
    expect make_file("a.txt", "b").name == "a.txt"
}
`)
    const { code, out, err } = await runWire(["check", "copy.test.wire"], { cwd })
    assert.equal(code, 1)
    assert.match(out + err, /Expected file, found "fixtures/)
    assert.match(out + err, /Expected \[file\], found file/)
    assert.match(out + err, /Expected integer, found file/)
    assert.match(out + err, /`make_file` stores or reads a file, which is not allowed in an expectation/)
  })

  test("wire test add saves the files of a run beside its test, which passes", async () => {
    const service = await startService({ DEMO: "on" })
    const cwd = folderWith({ "copy.wire": copies })
    const data = (bytes: Buffer): string => bytes.toString("base64")
    const input = {
      contract: { data: data(Buffer.from("Six months")), name: "six.txt", media_type: "text/plain" },
      photos: [{ data: data(png), name: "p.png", media_type: "image/png" }],
    }
    const run = await service.post("/execute", { workflow_source: copies, input })
    assert.equal(run.status, 200, await run.clone().text())
    await run.arrayBuffer()
    const run_id = run.headers.get("x-service-run-id") ?? ""
    const env = { WIRE_URL: service.url }
    const added = await runWire(["test", "add", run_id, "copy.wire"], { cwd, env })
    assert.equal(added.code, 0, added.err)
    const saved = readdirSync(join(cwd, "fixtures"), { recursive: true, encoding: "utf8" })
    const names = saved.map((path) => path.split("/")[1] ?? "").filter((name) => name !== "")
    assert.deepEqual(names.sort(), ["draw.png", "p.png", "six.txt"])
    const six = saved.find((path) => path.endsWith("/six.txt")) ?? ""
    assert.equal(readFileSync(join(cwd, "fixtures", six), "utf8"), "Six months")
    const passed = await runWire(["test", "copy.test.wire"], { cwd })
    assert.equal(passed.code, 0, passed.out + passed.err)
  })
})
