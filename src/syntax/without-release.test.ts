import assert from "node:assert/strict"
import { test } from "node:test"
import { withoutRelease } from "./without-release.ts"

const block = "release {\n    share: 0.2\n    stop_when: failed > 0.1\n}\n"
const output = 'output { kind: "x" }\n'

test("the block is taken out with the blank lines beside it, wherever it stands", () => {
  assert.equal(withoutRelease(`${block}\n${output}`), output)
  assert.equal(withoutRelease(`${output}\n${block}`), output)
  assert.equal(withoutRelease(`${output}\n\n  \n${block}\n\n`), output)
  assert.equal(withoutRelease(`// about\n\n${block}\n\n${output}`), `// about\n\n${output}`)
  assert.equal(withoutRelease(`${output}\n${block.trimEnd()}`), output)
  assert.equal(
    withoutRelease(`input { a: string }\n\n/// why\n${block}\n${output}`),
    `input { a: string }\n\n${output}`,
  )
})

test("every other byte stays as it was", () => {
  assert.equal(withoutRelease(output), output)
  assert.equal(withoutRelease(`\uFEFF// release { }\r\n${output}`), `\uFEFF// release { }\r\n${output}`)
  const crlf = `input { a: string }\r\n\r\n${block.replaceAll("\n", "\r\n")}\r\n${output}`
  assert.equal(withoutRelease(crlf), `input { a: string }\r\n\r\n${output}`)
  assert.equal(withoutRelease(`release { share: 1 }  ${output}`), output)
  assert.equal(withoutRelease(`output { a: "1" } release { share: 1 }\n`), `output { a: "1" } \n`)
})
