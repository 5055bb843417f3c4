import { ServiceError } from '../errors/service-error.ts';
import { OPERATIONS } from '../operations/registry.ts';

export interface NoRoute {
  readonly refusal: ServiceError;
  readonly headers: Readonly<Record<string, string>>;
}

/** Addresses beside the operations, all of them to be read. */
const PAGES = ['/healthz', '/readyz', '/docs', '/openapi.json'];

export interface RouteSettings {
  readonly basePath: string;
  readonly metrics: { readonly access: string };
}

/** Nothing is at the address, or something is, but not for this method; RFC 9110 wants the methods in `Allow` then. */
export function explainNoRoute(method: string, path: string, settings: RouteSettings): NoRoute {
  const { basePath } = settings;
  const methods = methodsAt(path.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, ''), settings);
  if (methods.length === 0) {
    const hint = `The addresses are listed at ${basePath}/docs and ${basePath}/openapi.json.`;
    return { refusal: new ServiceError('RouteNotFound', 'There is nothing at this address.', { hint }), headers: {} };
  }
  const refusal = new ServiceError('MethodNotAllowed', `The method ${method} is not offered at this address.`, {
    hint: `Use ${methods.join(' or ')}.`,
  });
  return { refusal, headers: { allow: methods.join(', ') } };
}

function methodsAt(path: string, { basePath, metrics }: RouteSettings): readonly string[] {
  const pages = metrics.access === 'off' ? PAGES : [...PAGES, '/metrics'];
  const routes = [
    ...OPERATIONS.flatMap(({ methods, path: pattern, pathOfRoot = pattern }) =>
      methods.flatMap((method) => [pattern, pathOfRoot].map((at) => ({ method, pattern: `${basePath}${at}` }))),
    ),
    ...pages.map((page) => ({ method: 'GET', pattern: `${basePath}${page}` })),
  ];
  const methods: string[] = routes.filter(({ pattern }) => fits(pattern, path)).map(({ method }) => method);
  return [...new Set(methods)].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

function fits(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return wanted.length === given.length && wanted.every((part, index) => part.startsWith(':') || part === given[index]);
}
