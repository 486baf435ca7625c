/** Starts the page. */
import { render } from 'preact'
import { App } from './app'
import { repaint } from './charts/palette'
import { followAddress } from './router'
import { listenForShortcuts } from './shortcuts'
import { asked, readService } from './store/connection'
import { followTheme } from './theme'
import { beatWithNews } from './ui/frame/beat'
import './styles/tokens.css'
import './styles/base.css'
import './styles/parts.css'
import './styles/runs.css'
import './styles/run.css'
import './styles/verdict.css'
import './styles/charts.css'
import './styles/advice.css'
import './styles/compare.css'
import './styles/hosts.css'
import './styles/small.css'

followTheme(repaint)
followAddress()
beatWithNews()
listenForShortcuts()
void asked(readService())
render(<App />, document.body)
