import SwaggerUi from 'swagger-ui-dist/swagger-ui-es-bundle.js';
import { loadSession } from '../session.ts';
import { applyStoredTheme, isDark } from '../frame/theme.tsx';
import { samplesPlugin } from './samples-plugin.ts';
import { toViewerDocument } from './viewer-document.ts';

applyStoredTheme();
document.documentElement.classList.toggle('dark-mode', isDark());

interface FetchedText {
  readonly url: string;
  readonly ok: boolean;
  readonly text: string;
}

const description = new URL('openapi.json', document.baseURI).href;

const viewer = SwaggerUi({
  url: description,
  responseInterceptor: (response: FetchedText) =>
    response.url === description && response.ok ? { ...response, text: toViewerDocument(response.text) } : response,
  dom_id: '#reference',
  plugins: [samplesPlugin],
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: -1,
  defaultModelExpandDepth: 2,
  onComplete: signIn,
});

/** Requests use the credential of the console, if this tab is signed in there. */
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
