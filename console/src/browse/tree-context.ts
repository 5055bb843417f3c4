import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import type { TreeStore } from './tree-store.ts';

export const TreeContext = createContext<TreeStore | undefined>(undefined);

/** The tree, for components that show it: they are drawn again whenever it changes. */
export function useTree(): TreeStore {
  const store = useContext(TreeContext);
  if (store === undefined) throw new Error('Only components of the view of tables read the tree.');
  const [, setRound] = useState(0);
  useEffect(() => store.subscribe(() => setRound((before) => before + 1)), [store]);
  return store;
}
