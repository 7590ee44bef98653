-- Handshake matching (handshake.py) and contraction as queries, for graphs beyond memory. out_of_core.py runs them.
--
-- listed       source, target, weight         the user's edges, as they are listed
-- ids          id, node                       the user's ids in natural order, numbered from 0
-- nodes        node, weight                   of the current level
-- edges        u, v, weight                   of the current level; u < v, each edge once, no self-loops
-- open_edges   u, v, similarity               edges whose ends are both free
-- choice       node, other
-- pairs        node, other                    node < other
-- groups       node, hyper_node               from the current level to the next
-- members      node, level, hyper_node        of the nodes of the input graph

-- name: setup
CREATE MACRO low32(x) AS x & 4294967295::UBIGINT;
CREATE MACRO shifted15(x) AS xor(x, x >> 15);
CREATE MACRO shifted13(x) AS xor(x, x >> 13);
CREATE MACRO hash32(number) AS
    shifted13(low32(shifted15(low32(low32(number::UBIGINT) * 2654435761::UBIGINT)) * 2246822519::UBIGINT));
CREATE MACRO similarity(w, a, b, u, v) AS
    w::DOUBLE * w::DOUBLE / (a::DOUBLE * b::DOUBLE) * (1.0::DOUBLE + hash32(u::BIGINT + v)::DOUBLE / 1099511627776.0::DOUBLE);

-- name: number_nodes
CREATE TABLE ids AS
SELECT id, (row_number() OVER (ORDER BY id) - 1)::INTEGER AS node
FROM (SELECT DISTINCT id FROM (SELECT source AS id FROM listed UNION ALL SELECT target FROM listed));
CREATE TABLE nodes AS SELECT node, 1::BIGINT AS weight FROM ids;
CREATE TABLE members AS SELECT node, 0 AS level, node AS hyper_node FROM ids;

-- name: first_edges
-- Rows that repeat an edge in the same direction add up, and of the two directions the heavier counts.
CREATE TABLE edges AS
SELECT u, v, greatest(forth, back) AS weight
FROM (
    SELECT least(a.node, b.node) AS u, greatest(a.node, b.node) AS v,
        coalesce(sum(weight) FILTER (a.node < b.node), 0)::BIGINT AS forth,
        coalesce(sum(weight) FILTER (a.node > b.node), 0)::BIGINT AS back
    FROM listed JOIN ids AS a ON source = a.id JOIN ids AS b ON target = b.id
    WHERE a.node <> b.node
    GROUP BY ALL
)
WHERE forth > 0 OR back > 0;

-- name: first_edges_unweighted
-- An edge is there or not, however often and in whichever direction it is listed.
CREATE TABLE edges AS
SELECT DISTINCT least(a.node, b.node) AS u, greatest(a.node, b.node) AS v, 1::BIGINT AS weight
FROM listed JOIN ids AS a ON source = a.id JOIN ids AS b ON target = b.id
WHERE a.node <> b.node;

-- name: open
CREATE OR REPLACE TABLE pairs (node INTEGER, other INTEGER);
CREATE OR REPLACE TABLE open_edges AS
SELECT u, v, similarity(edges.weight, a.weight, b.weight, u, v) AS similarity
FROM edges JOIN nodes AS a ON u = a.node JOIN nodes AS b ON v = b.node;

-- name: choose
CREATE OR REPLACE TABLE choice AS
SELECT node, arg_max(other, similarity) AS other
FROM (SELECT u AS node, v AS other, similarity FROM open_edges UNION ALL SELECT v, u, similarity FROM open_edges)
GROUP BY node;

-- name: shake
CREATE OR REPLACE TABLE new_pairs AS
SELECT a.node, a.other FROM choice AS a JOIN choice AS b ON a.other = b.node AND a.node = b.other WHERE a.node < a.other;
INSERT INTO pairs FROM new_pairs;
CREATE OR REPLACE TABLE taken AS SELECT node FROM new_pairs UNION ALL SELECT other FROM new_pairs;
CREATE OR REPLACE TABLE open_edges AS
SELECT * FROM open_edges
WHERE NOT EXISTS (FROM taken WHERE taken.node = u) AND NOT EXISTS (FROM taken WHERE taken.node = v);

-- name: count_new
SELECT count(*) FROM new_pairs;

-- name: pair_up
-- Nodes that are left over choose the neighbour with the largest hash; two that choose the same one pair up.
CREATE OR REPLACE TABLE taken AS SELECT node FROM pairs UNION ALL SELECT other FROM pairs;
CREATE OR REPLACE TABLE choice AS
SELECT node, arg_max(other, hash32(other)) AS other
FROM (SELECT u AS node, v AS other FROM edges UNION ALL SELECT v, u FROM edges) AS ends
WHERE NOT EXISTS (FROM taken WHERE taken.node = ends.node)
GROUP BY node;
INSERT INTO pairs
SELECT node, next
FROM (
    SELECT node, lead(node) OVER same AS next, row_number() OVER same AS place
    FROM choice WINDOW same AS (PARTITION BY other ORDER BY node)
)
WHERE place % 2 = 1 AND next IS NOT NULL;

-- name: number_groups
-- Hyper-nodes are numbered by their smallest members.
CREATE OR REPLACE TABLE heads AS
SELECT node, (row_number() OVER (ORDER BY node) - 1)::INTEGER AS hyper_node
FROM nodes WHERE NOT EXISTS (FROM pairs WHERE pairs.other = nodes.node);
CREATE OR REPLACE TABLE groups AS
SELECT node, hyper_node FROM heads
UNION ALL SELECT pairs.other, heads.hyper_node FROM pairs JOIN heads ON pairs.node = heads.node;

-- name: contract
CREATE OR REPLACE TABLE edges AS
SELECT least(a.hyper_node, b.hyper_node) AS u, greatest(a.hyper_node, b.hyper_node) AS v, sum(weight)::BIGINT AS weight
FROM edges JOIN groups AS a ON u = a.node JOIN groups AS b ON v = b.node
WHERE a.hyper_node <> b.hyper_node
GROUP BY ALL;
CREATE OR REPLACE TABLE nodes AS
SELECT hyper_node AS node, sum(weight)::BIGINT AS weight FROM nodes JOIN groups USING (node) GROUP BY ALL;

-- name: add_level
INSERT INTO members
SELECT one.node, level + 1, groups.hyper_node
FROM members AS one JOIN groups ON one.hyper_node = groups.node
WHERE level = (SELECT max(level) FROM members);

-- name: count_pairs
SELECT count(*) FROM pairs;

-- name: sizes
SELECT (SELECT count(*) FROM nodes), (SELECT count(*) FROM edges), (SELECT max(weight) FROM nodes);

-- name: result
SELECT id AS node, level, hyper_node FROM members JOIN ids USING (node) WHERE level > 0 ORDER BY level, node;
