import SwaggerUi from 'swagger-ui-dist/swagger-ui-es-bundle.js';
import { loadSession } from '../session.ts';
import { applyStoredTheme, isDark } from '../frame/theme.tsx';
import { samplesPlugin } from './samples-plugin.ts';

applyStoredTheme();
document.documentElement.classList.toggle('dark-mode', isDark());

const viewer = SwaggerUi({
  url: new URL('openapi.json', document.baseURI).href,
  dom_id: '#reference',
  plugins: [samplesPlugin],
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: -1,
  onComplete: signIn,
});

/** Requests are sent with the credential of the console, if this tab is signed in there. */
function signIn(): void {
  const status = document.querySelector('#signed-in');
  const session = loadSession();
  if (session === undefined) {
    status?.replaceChildren('To send requests, sign in to the console in this tab, or press Authorize.');
    return;
  }
  viewer.preauthorizeApiKey(session.credential.kind === 'key' ? 'apiKey' : 'bearer', session.credential.text);
  status?.replaceChildren('Requests are sent with the key of the console.');
}
