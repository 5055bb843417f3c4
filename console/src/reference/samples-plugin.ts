import { PLAIN_SNIPPETS, toRequest } from '../../../src/snippets/plain-request.ts';
import type { DescribedOperation } from '../../../src/snippets/plain-request.ts';

type Element = unknown;
type Component<Props> = (props: Props) => Element;

/** The viewer includes its own React, which has no types here. */
interface React {
  readonly createElement: (type: unknown, props: object | null, ...children: readonly unknown[]) => Element;
  readonly Fragment: unknown;
  readonly useState: <Value>(value: Value) => readonly [Value, (value: Value) => void];
}

interface ParametersProps {
  readonly pathMethod: readonly [path: string, method: string];
  readonly specSelectors: {
    readonly specJson: () => { readonly getIn: (path: readonly string[]) => { readonly toJS: () => unknown } };
  };
}

const LANGUAGES = Object.keys(PLAIN_SNIPPETS);

/** Shows the example of an operation in several languages, above its parameters. */
export function samplesPlugin({ React }: { readonly React: React }): object {
  const { createElement: h } = React;

  function Samples({ pathMethod: [path, method], specSelectors }: ParametersProps): Element {
    const [language, setLanguage] = React.useState(LANGUAGES[0] ?? '');
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The description comes from our server.
    const operation = specSelectors.specJson().getIn(['paths', path, method]).toJS() as DescribedOperation;
    const base = new URL('.', document.baseURI).href.replace(/\/$/, '');
    const text = PLAIN_SNIPPETS[language]?.(toRequest(base, path, method, operation)) ?? '';
    const tabs = LANGUAGES.map((name) =>
      h(
        'button',
        { key: name, type: 'button', 'aria-pressed': name === language, onClick: () => setLanguage(name) },
        name,
      ),
    );
    return h(
      'section',
      { className: 'samples', 'aria-label': 'Example' },
      h(
        'div',
        { className: 'languages' },
        ...tabs,
        h('button', { type: 'button', onClick: () => void navigator.clipboard.writeText(text) }, 'Copy'),
      ),
      h('pre', { tabIndex: 0 }, h('code', null, text)),
    );
  }

  const withSamples = (Parameters: Component<ParametersProps>) => (props: ParametersProps) =>
    h(React.Fragment, null, h(Samples, props), h(Parameters, props));
  return { wrapComponents: { parameters: withSamples } };
}
