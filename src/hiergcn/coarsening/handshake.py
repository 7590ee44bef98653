"""Handshake matching: every free node chooses its most similar free neighbour, and two that choose each other pair up.

This is repeated until nobody pairs up. No node waits for another within a round, so the rounds can run in parallel, or
as queries of a database over graphs beyond memory (`handshake.sql`), and give the same groups. See Fagginger Auer &
Bisseling, A GPU algorithm for greedy graph matching, 2012.

    s(v_j, v_k) = A_jk² / (D_j D_k) · (1 + h(j + k) / 2^40),    0 ≤ h < 2^32

The first factor is the square of the paper's similarity (Eq. 2). The second one is a hash of the pair, which decides
between neighbours whose similarities differ by less than 0.4 %: without it, equal ones would choose each other by index
and hardly any two would meet. The nodes around a hub are left over, since the hub pairs up with one of them. So each
node that is left over chooses the neighbour k with the largest h(k), and those that choose the same one pair up in
ascending order. Two nodes choose the same one with a probability of |N_i ∩ N_j| / |N_i ∪ N_j| (min-hashing, Broder
1997), thus always if they are structurally equivalent.
"""

import numpy as np
import scipy.sparse as sp

from hiergcn.coarsening.matching import UNBOUNDED
from hiergcn.compiled.csr import Float64s, Int32s, Int64s, Rows, rows_of
from hiergcn.compiled.jit import even_ranges, kernel, run_over
from hiergcn.settings.fields import CoarsenConfig

ROUNDS = 32
"""Most rounds. Graphs need 10 to 20; a long path whose edges become heavier and heavier could need one per edge."""


def handshake_groups(adjacency: sp.csr_array, node_weight: Int64s, config: CoarsenConfig) -> Int32s:
    """Pair nodes that choose each other, then those left over that choose the same neighbour."""
    rows = rows_of(adjacency)
    scale = (node_weight if config.similarity == "node_weight" else adjacency.sum(axis=1)).astype(np.float64)
    limit = config.max_node_weight or UNBOUNDED
    nodes = np.arange(rows.n, dtype=np.int32)
    head = nodes.copy()
    free = np.ones(rows.n, dtype=np.bool_)
    choice = np.zeros(rows.n, dtype=np.int32)  # -1 for nodes that can choose nobody any more
    ranges = even_ranges(rows.indptr)
    for _round in range(ROUNDS):
        run_over(ranges, lambda low, high: _choose(rows, scale, node_weight, limit, free, low, high, choice))
        mutual = nodes[(choice > nodes) & (choice[choice] == nodes)]
        head[choice[mutual]] = mutual
        free[mutual] = free[choice[mutual]] = False
        if not mutual.size:
            break
    left = np.flatnonzero(free & (np.diff(rows.indptr) > 0))
    around = adjacency[left]
    hubs = around.indices.astype(np.uint64)
    keys = (hash32.__wrapped__(hubs) << np.uint64(32) | hubs) + np.uint64(1)  # type: ignore[attr-defined]
    keys[hubs == np.repeat(left, np.diff(around.indptr))] = 0  # a self-loop is no neighbour
    largest = np.maximum.reduceat(keys, around.indptr[:-1])
    left, hub = left[largest > 0], (largest[largest > 0] - np.uint64(1)) & np.uint64(0xFFFFFFFF)
    order = np.argsort(hub, kind="stable")  # of those that chose the same, the first two are a pair, the next two, ...
    left, hub = left[order], hub[order]
    odd = np.flatnonzero((np.arange(len(left)) - np.searchsorted(hub, hub)) % 2)
    odd = odd[node_weight[left[odd - 1]] + node_weight[left[odd]] <= limit]
    head[left[odd]] = left[odd - 1]
    return head


@kernel
def hash32(number: np.uint64) -> np.uint64:
    """Return a bijection of the 32-bit integers that spreads every bit; `handshake.sql` has the same."""
    low = np.uint64(0xFFFFFFFF)
    x = ((number & low) * np.uint64(0x9E3779B1)) & low
    x ^= x >> np.uint64(15)
    x = (x * np.uint64(0x85EBCA77)) & low
    return x ^ (x >> np.uint64(13))


@kernel
def _choose(
    rows: Rows, scale: Float64s, weight: Int64s, limit: int, free: np.ndarray, low: int, high: int, choice: Int32s
) -> None:
    """Write the choice of each free node of low:high."""
    indptr, indices, data = rows
    for j in range(low, high):
        if not free[j] or choice[j] < 0:
            choice[j] = -1
            continue
        best, best_similarity = -1, -1.0
        for p in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
            k = np.uint32(indices[p])
            if not free[k] or k == j or weight[j] + weight[k] > limit:
                continue
            w = np.float64(data[p])
            tie = 1.0 + np.float64(hash32(np.uint64(j) + np.uint64(k))) / 1099511627776.0
            similarity = w * w / (scale[j] * scale[k]) * tie
            if similarity > best_similarity or (similarity == best_similarity and k < best):
                best, best_similarity = int(k), similarity
        choice[j] = best
