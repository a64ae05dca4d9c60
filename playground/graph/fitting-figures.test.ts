import assert from "node:assert/strict"
import { test } from "node:test"
import { fittingFigures } from "./fitting-figures.ts"

test("figures that would touch the state are left out, the last ones first", () => {
  assert.equal(fittingFigures("139 tok · cost 0.000108", "done", 172), "139 tok")
  assert.equal(fittingFigures("387 tok · 4 retries", "done 3/3", 172), "387 tok · 4 retries")
  assert.equal(fittingFigures("65 tok · cost 0.01", "done", 172), "65 tok · cost 0.01")
  assert.equal(fittingFigures("2,600 tok · cost 0.01 · 4 retries", "done 40/40", 172), "2,600 tok")
})
