import type { Catalog, GivenGrant } from '../../catalog/catalog.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { ROLES, administeredDatabases, mayGive } from '../../model/access.ts';
import type { Caller } from '../../model/access.ts';
import { INVISIBLE, quoteForMessage } from '../../model/identifier.ts';
import { GrantBody, GrantReply, ListGrantsBody, ListGrantsReply } from '../../wire/access.ts';
import { defineServerOperation, json, objectReply } from '../operation.ts';
import { collectPages, cutPage, readPageSize, readPageToken, toPageToken } from '../shared/pages.ts';
import { readGrant, reportChange, requireGivable, toGrantShape } from './access-rules.ts';
import { requireChangeable } from './credentials.ts';

export const createGrant = defineServerOperation({
  id: 'create_grant',
  path: '/v1/access/grant/create',
  summary: 'Grant a role on a database, a namespace or a table',
  permission: 'administer',
  body: { kind: 'json', shape: GrantBody },
  replies: [json(GrantReply, 'The grant, even if it already existed.')],
  async run(request, services) {
    const { principal } = request.body;
    const grant = readGrant(request.body);
    requireGivable(request.caller, grant);
    await requirePrincipal(principal, request.caller, services.catalog);
    await services.catalog.grants.add(principal, grant, services.limits.access.grantsMax);
    reportChange(request, principal, services);
    return objectReply<typeof GrantReply>({ principal, ...toGrantShape(grant) });
  },
});

export const deleteGrant = defineServerOperation({
  id: 'delete_grant',
  path: '/v1/access/grant/delete',
  summary: 'Revoke a role immediately',
  permission: 'administer',
  body: { kind: 'json', shape: GrantBody },
  replies: [json(GrantReply, 'The revoked grant.')],
  statuses: [409],
  async run(request, services) {
    const { principal } = request.body;
    const grant = readGrant(request.body);
    requireGivable(request.caller, grant);
    const isRemoved = await services.catalog.grants.remove(principal, grant);
    if (!isRemoved) throw new ServiceError('GrantNotFound', 'The grant does not exist.');
    reportChange(request, principal, services);
    return objectReply<typeof GrantReply>({ principal, ...toGrantShape(grant) });
  },
});

export const listGrants = defineServerOperation({
  id: 'list_grants',
  path: '/v1/access/grant/list',
  summary: 'List grants',
  permission: 'administer',
  body: { kind: 'json', shape: ListGrantsBody },
  replies: [json(ListGrantsReply, 'Grants, ordered by principal, database and path.')],
  async run({ body, caller }, services) {
    const limit = readPageSize(body.limit, services);
    const { principal, page_token: token } = body;
    const databases = chooseDatabases(caller, body.database);
    const start = readToken(token);
    const { grants: store } = services.catalog;
    const found = await collectPages<GivenGrant>(
      limit + 1,
      async (last, wanted) => store.list({ limit: wanted, principal, databases, after: last ?? start }),
      (grant) => mayGive(caller, grant),
    );
    const { entries, page_token } = cutPage(found, limit, toToken);
    const principals = entries.map((grant) => grant.principal);
    const names = await services.catalog.callerNames(principals);
    const grants = entries.map((grant) => ({
      principal: grant.principal,
      principal_name: names.get(grant.principal),
      ...toGrantShape(grant),
    }));
    return objectReply<typeof ListGrantsReply>({ grants, page_token });
  },
});

function chooseDatabases(caller: Caller, wanted: string | undefined): readonly string[] | undefined {
  const administered = administeredDatabases(caller);
  if (wanted === undefined) return administered;
  return administered === undefined || administered.includes(wanted) ? [wanted] : [];
}

function toToken({ principal, role, database, path }: GivenGrant): string {
  return toPageToken([principal, role, database ?? '', ...path]);
}

function readToken(token: string | undefined): GivenGrant | undefined {
  const position = readPageToken(token, 3);
  if (position === undefined) return undefined;
  const [principal = '', roleName = '', database = '', ...path] = position;
  const role = ROLES.find((each) => each === roleName) ?? 'reader';
  return { principal, role, database: database === '' ? undefined : database, path };
}

const PRINCIPAL_CHARACTERS_MAX = 2048;

/**
 * A key or client must be one that the caller may change: otherwise an administrator could bind another's key to its
 * own database, and the owner could no longer revoke the key. Only the issuer knows who holds a token.
 */
async function requirePrincipal(principal: string, caller: Caller, catalog: Catalog): Promise<void> {
  const [kind, rest = ''] = principal.split(/:(.*)/s, 2);
  if ((kind === 'key' || kind === 'client') && rest !== '') {
    return requireChangeable(kind, { id: rest, caller }, catalog);
  }
  if (kind === 'token' && isTokenHolder(principal, rest)) return undefined;
  const hint = 'It must be "key:<id>", "client:<id>" or "token:<issuer>#<subject>".';
  throw invalidInput(`The principal ${quoteForMessage(principal)} is not valid.`, hint);
}

function isTokenHolder(principal: string, rest: string): boolean {
  const [issuer = '', subject = ''] = rest.split(/#(.*)/s, 2);
  const isUsable = principal.length <= PRINCIPAL_CHARACTERS_MAX && !INVISIBLE.test(principal);
  return isUsable && subject !== '' && URL.canParse(issuer);
}
