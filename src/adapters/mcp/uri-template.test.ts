import assert from "node:assert/strict"
import { test } from "node:test"
import { parseUriTemplate } from "./uri-template.ts"

const values = { var: "value", hello: "Hello World!", path: "/foo/bar", x: "1024", y: "768", empty: "", half: "50%" }

// Examples of RFC 6570 for variables that are texts.
const rows: readonly [template: string, expanded: string][] = [
  ["{var}", "value"],
  ["{hello}", "Hello%20World%21"],
  ["{half}", "50%25"],
  ["O{empty}X", "OX"],
  ["O{undef}X", "OX"],
  ["{x,y}", "1024,768"],
  ["{x,hello,y}", "1024,Hello%20World%21,768"],
  ["?{x,undef}", "?1024"],
  ["{var:3}", "val"],
  ["{var:30}", "value"],
  ["{+var}", "value"],
  ["{+hello}", "Hello%20World!"],
  ["{+half}", "50%25"],
  ["{+path}/here", "/foo/bar/here"],
  ["{+x,hello,y}", "1024,Hello%20World!,768"],
  ["{+path:6}/here", "/foo/b/here"],
  ["{#var}", "#value"],
  ["{#path}", "#/foo/bar"],
  ["{#path,x}", "#/foo/bar,1024"],
  ["foo{#empty}", "foo#"],
  ["foo{#undef}", "foo"],
  ["X{.var}", "X.value"],
  ["X{.x,y}", "X.1024.768"],
  ["{/var}", "/value"],
  ["{/var,x}/here", "/value/1024/here"],
  ["{/var:1,var}", "/v/value"],
  ["{;x,y}", ";x=1024;y=768"],
  ["{;x,y,empty}", ";x=1024;y=768;empty"],
  ["{?x,y}", "?x=1024&y=768"],
  ["{?x,y,empty}", "?x=1024&y=768&empty="],
  ["{?x,y,undef}", "?x=1024&y=768"],
  ["?fixed=yes{&x}", "?fixed=yes&x=1024"],
  ["{&x,y,empty}", "&x=1024&y=768&empty="],
  ["{var*}", "value"],
]

for (const [template, expanded] of rows) {
  test(template, () => assert.equal(parseUriTemplate(template)?.expand(values), expanded))
}

test("what a template needs, and what it may be given", () => {
  const template = parseUriTemplate("issue://{project}/{id}{?view,page}{&sort}")
  assert.deepEqual(template?.variables, ["project", "id", "view", "page", "sort"])
  assert.deepEqual(template?.required, ["project", "id"])
  assert.equal(template?.expand({ project: "a/b", id: "7", page: "2" }), "issue://a%2Fb/7?page=2")
  assert.equal(template?.expand({ project: "constructor", id: "toString" }), "issue://constructor/toString")
})

for (const bad of ["{", "}", "a}b", "{}", "{!x}", "{x", "{x{y}}", "{x:abc}", "{x y}"]) {
  test(`${bad} is no template`, () => assert.equal(parseUriTemplate(bad), null))
}

test("a value cannot leave its place", () => {
  const template = parseUriTemplate("files:///{name}")
  assert.equal(template?.expand({ name: "../../etc/passwd?x#y" }), "files:///..%2F..%2Fetc%2Fpasswd%3Fx%23y")
})
