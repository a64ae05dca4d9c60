import { functionNames } from "../src/check/function-table.ts"
import { stepFunctionNames } from "../src/check/step-functions.ts"
import { keywordTexts, typeTexts } from "../src/editor/explanations.ts"
import { declarationWords } from "../src/syntax/declaration-start.ts"
import { propertyTable } from "../src/syntax/property-table.ts"

/** Vim's syntax file, from the tables of the language. */
export function vimSyntax(): string {
  const declared: readonly string[] = declarationWords
  const isKeyword = (word: string): boolean => /^(?!true$|false$|null$)[a-z]+$/.test(word) && !declared.includes(word)
  const keys = Object.keys(keywordTexts).filter(isKeyword)
  const types = Object.keys(typeTexts).filter((type) => type !== "null")
  const properties = [...new Set(Object.values(propertyTable).flatMap((rows) => Object.keys(rows)))].toSorted()
  return `" Vim syntax file for Wireworks workflows. The language server colours more; this serves until it answers, and without it.
" \`npm run docs\` writes it from the tables of the language.

if exists("b:current_syntax")
  finish
endif

syntax match wireDeclaration /^\\s*\\zs\\%(${declarationWords.join("\\|")}\\|tests\\?\\|given\\|expect\\)\\>/
${keywords("wireKeyword", keys)}
${keywords("wireType", types)}
syntax keyword wireConstant true false null
syntax match wireProperty /^\\s*\\zs\\%(${properties.join("\\|")}\\)\\>\\ze\\s*[:{]/
syntax match wireFunction /\\<\\%(${[...functionNames, ...stepFunctionNames].join("\\|")}\\)\\>\\ze(/
syntax match wireNumber /\\<\\d[0-9_]*\\%(\\.\\d\\+\\)\\?\\%([eE][+-]\\?\\d\\+\\)\\?\\>/
syntax match wireOperator /[=!<>]=\\|&&\\|||\\|??\\|?\\.\\|[<>!+*\\/%|#-]/
syntax match wireComment /\\/\\/.*$/ contains=@Spell
syntax match wireDoc /\\/\\/\\/.*$/ contains=@Spell
syntax match wireEscape /\\\\\\%(u{\\x\\+}\\|.\\)/ contained
syntax region wireInterpolation matchgroup=wireDelimiter start=/{{/ end=/}}/ contained contains=TOP
syntax region wireString start=/"/ skip=/\\\\./ end=/"/ oneline contains=wireEscape,wireInterpolation,@Spell
syntax region wireString start=/"""/ end=/"""/ contains=wireEscape,wireInterpolation,@Spell keepend

highlight default link wireDeclaration Keyword
highlight default link wireKeyword Statement
highlight default link wireType Type
highlight default link wireConstant Constant
highlight default link wireProperty Identifier
highlight default link wireFunction Function
highlight default link wireNumber Number
highlight default link wireOperator Operator
highlight default link wireComment Comment
highlight default link wireDoc SpecialComment
highlight default link wireEscape SpecialChar
highlight default link wireDelimiter Delimiter
highlight default link wireString String

let b:current_syntax = "wire"
`
}

function keywords(group: string, words: readonly string[]): string {
  const lines: string[] = []
  for (let at = 0; at < words.length; at += 10)
    lines.push(`syntax keyword ${group} ${words.slice(at, at + 10).join(" ")}`)
  return lines.join("\n")
}
