declare module "*.wire" {
  const text: string
  export default text
}

declare module "*.css"
