import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ServiceError } from '../../errors/service-error.ts';
import { catalogUnavailable } from '../../model/refusals.ts';
import { referencedRowRemoved, catalogFailed } from '../errors.ts';

/** https://www.postgresql.org/docs/current/errcodes-appendix.html: serialization, deadlock, lock timeout. */
const CONFLICT_CODES: ReadonlySet<string> = new Set(['40001', '40P01', '55P03']);
/**
 * Classes of faults that are transient or that an administrator can fix: connection, authorization, resources,
 * operator, system.
 */
const UNAVAILABLE_CLASSES: ReadonlySet<string> = new Set(['08', '25', '28', '3D', '53', '55', '57', '58']);
const FOREIGN_KEY = '23503';
const PAUSE_MILLISECONDS_MAX = 100;

/** The server has answered: the connection works, and the statement changed nothing. */
export function isRefusedStatement(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.severity !== 'FATAL' && error.severity !== 'PANIC';
}

/** Retries while the server is away or another transaction conflicts. Translates errors. */
export async function retryWhileAway<T>(milliseconds: number, work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + milliseconds;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!mayPass(error) || isOfClosedPool(error) || performance.now() >= deadline)
        throw translatePostgresError(error);
    }
    // Random pauses, so that two processes do not keep colliding.
    await sleep(Math.min(5 * attempt, PAUSE_MILLISECONDS_MAX) * (0.5 + Math.random()));
  }
}

/** Translates errors of PostgreSQL and of the connection to it for callers of the catalog. */
export function translatePostgresError(error: unknown): unknown {
  if (error instanceof ServiceError || !(error instanceof Error)) return error;
  if (!(error instanceof pg.DatabaseError)) return isConnectionFault(error) ? catalogUnavailable(error) : error;
  if (error.code === FOREIGN_KEY) return referencedRowRemoved(error);
  return mayPass(error) || UNAVAILABLE_CLASSES.has(classOf(error)) ? catalogUnavailable(error) : catalogFailed(error);
}

function mayPass(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) {
    return CONFLICT_CODES.has(error.code ?? '') || PASSING_CLASSES.has(classOf(error));
  }
  return error instanceof Error && !(error instanceof ServiceError) && isConnectionFault(error);
}

const PASSING_CLASSES: ReadonlySet<string> = new Set(['08', '25', '57']);

function classOf({ code = '' }: pg.DatabaseError): string {
  return code.slice(0, 2);
}

/** Socket errors have a system code; errors that `pg` creates only have a text. */
function isConnectionFault(error: Error): boolean {
  // A name with several addresses fails with an error for each.
  const isSystem = 'code' in error && ('syscall' in error || error instanceof AggregateError);
  return isSystem || isUnsent(error) || isOfClosedPool(error) || CONNECTION_TEXTS.test(error.message);
}

const CONNECTION_TEXTS = /^(?:Connection terminated|timeout exceeded|Query read timeout)/u;

/**
 * The connection ended before the statement, so the server has not seen it. PostgreSQL ends the connection of a process
 * that pauses inside a transaction, and `pg` only reports that for the next statement.
 */
export function isUnsent(error: unknown): boolean {
  return error instanceof Error && error.message.endsWith(' is not queryable');
}

/** A closed pool cannot be opened again. */
function isOfClosedPool(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('Cannot use a pool after');
}

/** For startup: names the server and the problem, without the password in its address. */
export function explainUnreachable(error: unknown, url: string): unknown {
  if (!(error instanceof ServiceError) || error.kind !== 'ServiceUnavailable') return error;
  const { host, pathname } = new URL(url);
  const code = error.cause instanceof pg.DatabaseError ? classOf(error.cause) : undefined;
  const problem = PROBLEMS[code ?? ''] ?? 'cannot be reached';
  const message = `The PostgreSQL server ${host}, with the catalog database ${pathname.slice(1)}, ${problem}.`;
  return new ServiceError('ServiceUnavailable', message, {
    hint: 'Check catalog.url, and that PostgreSQL runs and accepts the user.',
    cause: error,
  });
}

const PROBLEMS: Readonly<Record<string, string>> = {
  '28': 'does not accept the user',
  '3D': 'has no such database',
  '53': 'has no free connections',
};
