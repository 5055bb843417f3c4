import type { JSX } from 'preact';
import { Dialog } from '../parts/dialog.tsx';

const SHORTCUTS: readonly (readonly [title: string, shortcuts: readonly (readonly [keys: string, does: string])[]])[] =
  [
    [
      'Everywhere',
      [
        ['Ctrl K, ⌘ K or /', 'Search tables, namespaces, views and actions'],
        ['?', 'Show this list'],
        ['Esc', 'Close a dialog, a menu or the search'],
        ['Tab, Shift Tab', 'Go to the next or the previous control; the first one skips the navigation'],
      ],
    ],
    [
      'Trees',
      [
        ['↑ ↓', 'Move'],
        ['→ ←', 'Open and close a namespace'],
        ['Home, End', 'Go to the first or the last row'],
        ['Enter', 'Open the highlighted row'],
      ],
    ],
    [
      'Grids',
      [
        ['↑ ↓ ← →', 'Move between cells'],
        ['Home, End', 'Go to the first or the last column; with Ctrl, to the first or the last row too'],
        ['Enter', 'Show the whole value'],
      ],
    ],
  ];

export function ShortcutsDialog({ onClose }: { readonly onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <div class="body shortcuts">
        {SHORTCUTS.map(([title, shortcuts]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {shortcuts.map(([keys, does]) => (
                <div key={keys}>
                  <dt>
                    <kbd>{keys}</kbd>
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
