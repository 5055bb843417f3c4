import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiClient } from '../../../src/client/api-client.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import { isForLanceDb } from '../../../src/snippets/lance-query.ts';
import { SNIPPET_LANGUAGES, toSnippet } from '../../../src/snippets/snippet-languages.ts';
import type { SnippetLanguage } from '../../../src/snippets/snippet-languages.ts';
import { variableOf } from '../../../src/snippets/table-request.ts';
import type { SnippetServer, TableOperation, TableRequest } from '../../../src/snippets/table-request.ts';
import { useClient } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Segments } from '../parts/forms/field.tsx';
import { Skeleton } from '../parts/states.tsx';
import { useLoad } from '../parts/use-load.ts';
import { copyText } from '../parts/copy-text.ts';

interface CopyAsProps {
  readonly table: TablePath;
  /** Called when the dialog opens, because it may have to read the vector of a row. */
  readonly operation: () => TableOperation | Promise<TableOperation>;
  readonly isDisabled?: boolean;
}

/** Shows a request as code for curl, Python or TypeScript, and copies it. */
export function CopyAs({ table, operation, isDisabled = false }: CopyAsProps): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button kind="quiet" icon="copy" isDisabled={isDisabled} onClick={() => setIsOpen(true)}>
        Copy as code
      </Button>
      {isOpen ? <CodeDialog table={table} operation={operation} onClose={() => setIsOpen(false)} /> : null}
    </>
  );
}

type CodeDialogProps = Omit<CopyAsProps, 'isDisabled'> & { readonly onClose: () => void };

const LABELS = [
  ['curl', 'curl'],
  ['python', 'Python'],
  ['typescript', 'TypeScript'],
] as const;

function CodeDialog({ table, operation, onClose }: CodeDialogProps): JSX.Element {
  const client = useClient();
  const [language, setLanguage] = useState(loadLanguage);
  const { value: request, error } = useLoad<TableRequest>(
    async () => ({ server: serverOf(client), table, operation: await operation() }),
    [],
  );
  const choose = (chosen: SnippetLanguage): void => {
    localStorage.setItem(STORED_AS, chosen);
    setLanguage(chosen);
  };
  const code = request === undefined ? undefined : toSnippet(language, request);
  return (
    <Dialog title="Copy as code" onClose={onClose} isWide>
      <div class="body copy-as">
        <Segments label="Language" value={language} options={LABELS} onChange={choose} />
        <ErrorBox error={error} />
        {code === undefined && error === undefined ? <Skeleton /> : null}
        {code === undefined || request === undefined ? null : (
          <>
            <pre class="value" tabIndex={0} aria-label={`Code for ${language}`}>
              {code}
            </pre>
            <p class="hint">{needsOf(language, request)}</p>
            <div class="actions">
              <Button kind="primary" icon="copy" onClick={() => copyText(code)}>
                Copy
              </Button>
            </div>
          </>
        )}
      </div>
    </Dialog>
  );
}

function serverOf({ url, database = 'default', credential }: ApiClient): SnippetServer {
  return { url, database, credential };
}

const PACKAGES: Readonly<Record<SnippetLanguage, readonly [lanceDb: string, http: string]>> = {
  curl: ['curl 7.76 or later', 'curl 7.76 or later'],
  python: ['pip install lancedb', 'pip install requests'],
  typescript: ['npm install @lancedb/lancedb', 'Node 18 or later'],
};

function needsOf(language: SnippetLanguage, request: TableRequest): JSX.Element {
  const [lanceDb, http] = PACKAGES[language];
  const secret = request.server.credential === 'key' ? 'Your key' : 'Your token';
  return (
    <>
      Needs <code>{isForLanceDb(request) ? lanceDb : http}</code>. {secret} is not part of the code: set the environment
      variable <code>{variableOf(request.server)}</code> first.
    </>
  );
}

const STORED_AS = 'tiltyard-code-language';

function loadLanguage(): SnippetLanguage {
  return SNIPPET_LANGUAGES.find((each) => each === localStorage.getItem(STORED_AS)) ?? 'curl';
}
