import { useEffect } from 'preact/hooks'
import { text } from '../text'

export function ComparePage({ query }: { query: URLSearchParams }) {
  void query
  useEffect(() => {
    document.title = `${text.compare} · ${text.product}`
  }, [])
  return <h1 class="sentence">{text.compare}</h1>
}
