import { quoteForMessage } from '../../model/identifier.ts';
import { readText } from './config-file.ts';
import { addGiven, nearNameHint, VARIABLE_PREFIX, variableOf } from './names.ts';
import type { Source } from './names.ts';
import { SETTINGS } from '../settings/settings.ts';

/** Reads every variable that starts with `TILTYARD_`. An empty variable counts as unset. */
export function readEnvironment(environment: NodeJS.ProcessEnv, readFile: (path: string) => string): Source {
  const source: Source = { given: [], faults: [] };
  for (const [variable, value] of Object.entries(environment)) {
    if (!variable.startsWith(VARIABLE_PREFIX) || value === undefined || value === '') continue;
    if (CLIENT_VARIABLE.test(variable) || isServiceLink(variable, value)) continue;
    const name = VARIABLES.get(variable);
    const secret = SECRET_FILES.get(variable);
    if (name !== undefined) addGiven(source, { name, origin: variable, raw: value });
    else if (secret !== undefined) {
      const read = readText(value, readFile);
      if ('fault' in read) source.faults.push(`The file ${value} of ${variable} ${read.fault}`);
      else addGiven(source, { name: secret, origin: variable, raw: read.text.trim() });
    } else source.faults.push(unknownVariable(variable));
  }
  return source;
}

/** Variables for clients of the server: a shell that has them may also start the server. */
const CLIENT_VARIABLE = /^TILTYARD_(URL|KEY|TOKEN|DATABASE)$/;

const VARIABLES: ReadonlyMap<string, string> = new Map(Array.from(SETTINGS.keys(), (name) => [variableOf(name), name]));

/** Secrets can be in files, as containers receive them: TILTYARD_ADMIN_KEY_FILE=/run/secrets/admin-key. */
const SECRET_FILES: ReadonlyMap<string, string> = new Map(
  [...SETTINGS]
    .filter(([, { type }]) => type === 'secret' || type === 'options')
    .map(([name]) => [`${variableOf(name)}_FILE`, name]),
);

/** Kubernetes sets such variables for a service called `tiltyard`, among them TILTYARD_PORT=tcp://10.0.0.7:2333. */
function isServiceLink(variable: string, value: string): boolean {
  if (/^TILTYARD_(\w+_)?SERVICE_(HOST|PORT(_\w+)?)$/.test(variable)) return true;
  if (/^TILTYARD_(\w+_)?PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(variable)) return true;
  return /^TILTYARD_(\w+_)?PORT$/.test(variable) && /^(tcp|udp|sctp):\/\//.test(value);
}

function unknownVariable(variable: string): string {
  const hint = nearNameHint(variable, [...VARIABLES.keys()]);
  return `The variable ${quoteForMessage(variable)} belongs to no setting.${hint}`;
}
