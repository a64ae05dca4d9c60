import assert from "node:assert/strict"
import { test } from "node:test"
import { cronWords } from "./cron-words.ts"

test("common schedules are said in words", () => {
  const words: Readonly<Record<string, string>> = {
    "* * * * *": "Every minute",
    "*/15 * * * *": "Every 15 minutes",
    "0,30 * * * *": "Every 30 minutes",
    "0 * * * *": "Every hour",
    "5 * * * *": "Every hour at minute 5",
    "0 */6 * * *": "Every 6 hours",
    "30 */2 * * 1-5": "Every 2 hours at minute 30, Monday to Friday",
    "0 9-17 * * *": "Every hour from 09:00 to 17:00",
    "*/10 9-17 * * mon-fri": "Every 10 minutes from 09:00 to 17:50, Monday to Friday",
    "* 9 * * *": "Every minute from 09:00 to 09:59",
    "0 9 * * *": "Every day at 09:00",
    "15 9,17 * * *": "Every day at 09:15 and 17:15",
    "0 0,12 * * *": "Every day at 00:00 and 12:00",
    "0 9 * * 1-5": "Monday to Friday at 09:00",
    "0 9 * * 0": "On Sunday at 09:00",
    "0 9 * * 6,7": "On Saturday and Sunday at 09:00",
    "0 9 * * 5-7": "Friday to Sunday at 09:00",
    "0 9 * * TUE,thu": "On Tuesday and Thursday at 09:00",
    "0 9 * * 0-6": "Every day at 09:00",
    "0 8 1 * *": "On day 1 of the month at 08:00",
    "0 8 1,15 * *": "On days 1 and 15 of the month at 08:00",
    "0 8 1-7 * *": "On days 1 to 7 of the month at 08:00",
    "0 0 1 jan,jul *": "On day 1 of the month at 00:00, in January and July",
    "0 6 * 6-8 *": "Every day at 06:00, from June to August",
    "@hourly": "Every hour",
    "@daily": "Every day at 00:00",
    "@weekly": "On Sunday at 00:00",
    "@yearly": "On day 1 of the month at 00:00, in January",
  }
  const said = Object.fromEntries(Object.keys(words).map((expression) => [expression, cronWords(expression)]))
  assert.deepEqual(said, words)
})

test("others are not: their expression is as clear", () => {
  const others = [
    "7,9,11,13,40 * * * *",
    "*/7 * * * *",
    "*/15 9,12,18 * * *",
    "0 9 1 * 1",
    "0 9 */3 * *",
    "0 9 * 1,3,5,7,9 *",
    "not a cron",
    "",
  ]
  for (const expression of others) assert.equal(cronWords(expression), undefined, expression)
})
