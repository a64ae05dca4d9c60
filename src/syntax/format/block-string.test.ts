import assert from "node:assert/strict"
import { test } from "node:test"
import { indentBlockString } from "./block-string.ts"

test("lines go one level deeper than the string, the quotes to its own", () => {
  assert.deepEqual(indentBlockString(['"""\n a\n   b\n\n c\n"""'], 1), [
    '"""\n        a\n          b\n\n        c\n    """',
  ])
  assert.deepEqual(indentBlockString(['"""\r\n\ta\r\n\tb"""'], 0), ['"""\n    a\n    b\n"""'])
})

test("interpolations part the text, not its lines", () => {
  assert.deepEqual(indentBlockString(['"""\n  {{', "}} and {{", '}}\n    end\n  """'], 0), [
    '"""\n    {{',
    "}} and {{",
    '}}\n      end\n"""',
  ])
})

test("a text that follows the quotes goes to a line of its own where its value allows that", () => {
  assert.deepEqual(indentBlockString(['"""a\n   b"""'], 0), ['"""\n    a\n    b\n"""'])
  assert.deepEqual(indentBlockString(['"""  a\r\n"""'], 0), ['"""  a\n"""'])
})

test("blanks that are part of the value stay", () => {
  assert.deepEqual(indentBlockString(['"""\n a  \n   \n b """'], 0), ['"""\n    a  \n      \n    b \n"""'])
  assert.deepEqual(indentBlockString(['"""\n   \n """'], 1), ['"""\n   \n """'])
})

test("an empty text has no lines", () => {
  assert.deepEqual(indentBlockString(['"""\n"""'], 1), ['"""\n    """'])
  assert.deepEqual(indentBlockString(['"""\n\n  """'], 0), ['"""\n"""'])
})
