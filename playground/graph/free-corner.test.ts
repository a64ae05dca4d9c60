import assert from "node:assert/strict"
import { test } from "node:test"
import { freeCorner } from "./free-corner.ts"

const room = { width: 800, height: 400 }
const map = { width: 140, height: 90 }
const [bottomLeft, topRight, topLeft] = [
  { x: 20, y: 340, width: 160, height: 50 },
  { x: 640, y: 0, width: 160, height: 50 },
  { x: 0, y: 90, width: 160, height: 50 },
]

test("the map goes to a corner where it covers no node, and stays where none is free", () => {
  assert.equal(freeCorner("bottom-left", [], map, room), "bottom-left")
  assert.equal(freeCorner("bottom-left", [bottomLeft], map, room), "top-right")
  assert.equal(freeCorner("bottom-left", [bottomLeft, topRight], map, room), "top-left")
  assert.equal(freeCorner("bottom-left", [bottomLeft, topRight, topLeft], map, room), "bottom-left")
})

test("a corner that covers nothing is kept", () => {
  assert.equal(freeCorner("top-left", [], map, room), "top-left")
  assert.equal(freeCorner("top-right", [bottomLeft], map, room), "top-right")
})
