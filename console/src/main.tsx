import { render } from 'preact';
import { App } from './app.tsx';
import { applyStoredTheme } from './frame/theme.tsx';

applyStoredTheme();
const root = document.querySelector('#app');
if (root !== null) render(<App />, root);
