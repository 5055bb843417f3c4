/** Whether keys may be fetched from there: over TLS, or without leaving the machine. */
export function isProviderAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || text.includes('#')) return false;
  return url.protocol === 'https:' || isLoopbackHttp(url);
}

/** A provider elsewhere must not point into this machine: only one that is itself here may name an http address. */
export function isKeySetAddressOf(issuer: string, keySetUrl: string): boolean {
  if (!isProviderAddress(keySetUrl)) return false;
  return !isLoopbackHttp(new URL(keySetUrl)) || isLoopbackHttp(new URL(issuer));
}

/** OpenID Connect Discovery 1.0, section 4: appended to the issuer, whose last slash is dropped. */
export function discoveryAddress(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

function isLoopbackHttp(url: URL): boolean {
  if (url.protocol !== 'http:') return false;
  return url.hostname === 'localhost' || url.hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(url.hostname);
}
