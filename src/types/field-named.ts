import { remembered } from "../base/remembered.ts"
import type { Field, RecordType } from "./types.ts"

const tables = new WeakMap<RecordType, ReadonlyMap<string, Field>>()

/** The field of that name. A table pays only for records with many fields. */
export function fieldNamed(record: RecordType, name: string): Field | undefined {
  const { fields } = record
  if (fields.length < 20) return fields.find((field) => field.name === name)
  return remembered(tables, record, tableOf).get(name)
}

function tableOf({ fields }: RecordType): ReadonlyMap<string, Field> {
  return new Map(fields.map((field) => [field.name, field]))
}
