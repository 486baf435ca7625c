/** Starts the page. */
// Before all components, whose own styles come with them and are the stronger ones.
import './styles/tokens.css'
import './styles/base.css'

import { render } from 'preact'
import { App } from './app'
import { repaint, TOKENS } from './charts/palette'
import { followAddress } from './router'
import { listenForShortcuts } from './shortcuts'
import { asked, openAsOwner, readService } from './store/connection'
import { followTheme, registerColours } from './theme'
import { beatWithEvents } from './ui/frame/beat'

registerColours(TOKENS)
followTheme(repaint)
const opened = openAsOwner()
followAddress()
beatWithEvents()
listenForShortcuts()
void asked(opened.then(readService))
render(<App />, document.body)
