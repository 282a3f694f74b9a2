package import TransferModel
import TransferPorts
import TransferPostgres

extension PostgresLedger {
    package func look(_ paths: LedgerPaths) throws(LedgerError) -> [NodeRow?] {
        guard !paths.steps.isEmpty else { return [] }
        return try find(Self.select(paths)) { (rows) throws(PostgresError) in try Self.nodes(rows, paths) }
    }

    /// Selects the nodes at paths with the positions of their steps.
    static func select(_ paths: LedgerPaths) -> PostgresStatement {
        // Positions begin with 1, and the top is at 0.
        let look = """
            WITH RECURSIVE steps (name, above, position) AS MATERIALIZED (
                SELECT * FROM unnest($1::bytea[], $2::int4[]) WITH ORDINALITY),
            found AS (
                SELECT s.position, n.* FROM steps s CROSS JOIN LATERAL (
                    SELECT * FROM nodes WHERE folder = \(NodeRow.top) AND name = s.name LIMIT 1) AS n
                WHERE s.above = 0
                UNION ALL
                SELECT s.position, n.* FROM found f JOIN steps s ON s.above = f.position CROSS JOIN LATERAL (
                    SELECT * FROM nodes WHERE folder = f.number AND name = s.name LIMIT 1) AS n)
            SELECT position, \(NodeColumns.select("found")) FROM found
            """
        let parameters: [PostgresValue] = [
            .byteStrings(paths.steps.map { Array($0.name.string.utf8) }),
            .shortIntegers(paths.steps.map { Int32(clamping: ($0.above ?? -1) + 1) }),
        ]
        return PostgresStatement(look, parameters)
    }

    /// The nodes at paths, in the order of their steps.
    static func nodes(_ rows: PostgresRows, _ paths: LedgerPaths) throws(PostgresError) -> [NodeRow?] {
        var found = [NodeRow?](repeating: nil, count: paths.steps.count)
        for row in 0..<rows.count {
            guard let index = Int(exactly: try rows.integer(row, 0) - 1), found.indices.contains(index) else {
                throw .wrongForm("a path has the position \(try rows.integer(row, 0))")
            }
            found[index] = try NodeColumns.node(rows, row, from: 1)
        }
        return found
    }

    package func nodes(_ numbers: [UInt64]) throws(LedgerError) -> [NodeRow?] {
        let statement = PostgresStatement(
            "SELECT \(NodeColumns.select("n")) FROM nodes n WHERE n.number = ANY ($1)", [.numbers(numbers)])
        return try read(statement) { (rows) throws(PostgresError) in
            var found: [UInt64: NodeRow] = [:]
            for node in try NodeColumns.nodes(rows) { found[node.number] = node }
            return numbers.map { found[$0] }
        }
    }

    package func list(_ folder: UInt64, after name: PathKey?, limit: Int) throws(LedgerError) -> [NodeRow] {
        let statement = PostgresStatement(
            """
            SELECT \(NodeColumns.select("n")) FROM nodes n WHERE n.folder = $1 AND n.name > $2 ORDER BY n.name LIMIT $3
            """, [.number(folder), .bytes(name?.string ?? ""), .limit(limit)])
        return try find(statement, NodeColumns.nodes)
    }

    package func paths(of numbers: [UInt64]) throws(LedgerError) -> [[PathKey]?] {
        // UNION keeps each folder once, however many of the nodes are below it.
        let statement = PostgresStatement(
            """
            WITH RECURSIVE up (number, folder, name) AS (
                SELECT n.number, n.folder, n.name FROM nodes n WHERE n.number = ANY ($1)
                UNION
                SELECT n.number, n.folder, n.name FROM up JOIN nodes n ON n.number = up.folder)
            SELECT number, folder, name FROM up
            """, [.numbers(numbers)])
        return try read(statement) { (rows) throws(PostgresError) in
            var found: [UInt64: (folder: UInt64, name: PathKey)] = [:]
            for row in 0..<rows.count {
                found[try rows.number(row, 0)] = (try rows.number(row, 1), PathKey(try rows.string(row, 2)))
            }
            return numbers.map { Self.path(of: $0, found) }
        }
    }

    /// - Returns: nil for a node that is not below the top.
    private static func path(of number: UInt64, _ nodes: [UInt64: (folder: UInt64, name: PathKey)]) -> [PathKey]? {
        var path: [PathKey] = []
        var number = number
        while number != NodeRow.top {
            // More names than nodes would be a circle.
            guard path.count < nodes.count, let node = nodes[number] else { return nil }
            path.append(node.name)
            number = node.folder
        }
        return path.reversed()
    }

    package func extents(of number: UInt64) throws(LedgerError) -> [Extent] {
        let statement = PostgresStatement(
            "SELECT lower, upper, object, start FROM extents WHERE node = $1 ORDER BY lower", [.number(number)])
        return try read(statement) { (rows) throws(PostgresError) in
            var extents: [Extent] = []
            for row in 0..<rows.count {
                extents.append(
                    try Extent(
                        lower: rows.number(row, 0), upper: rows.number(row, 1), object: rows.number(row, 2),
                        start: rows.number(row, 3)))
            }
            return extents
        }
    }

    package func sum(below folders: [UInt64]) throws(LedgerError) -> (files: Int, bytes: UInt64) {
        let statement = PostgresStatement(
            """
            WITH RECURSIVE below (number) AS (
                SELECT * FROM unnest($1::int8[])
                UNION
                SELECT n.number FROM below CROSS JOIN LATERAL (
                    SELECT number FROM nodes WHERE folder = below.number AND form = \(LedgerForm.folder) OFFSET 0) AS n)
            SELECT coalesce(sum(n.files), 0)::int8, least(coalesce(sum(n.bytes), 0), \(Int64.max))::int8
            FROM below CROSS JOIN LATERAL (
                SELECT count(*) AS files, sum(size) AS bytes FROM nodes
                WHERE folder = below.number AND form = \(LedgerForm.file)) AS n
            """, [.numbers(folders)])
        return try find(statement) { (rows) throws(PostgresError) in
            (Int(clamping: try rows.integer(0, 0)), try rows.number(0, 1))
        }
    }

    package func files(after number: UInt64, limit: Int) throws(LedgerError) -> [NodeRow] {
        let statement = PostgresStatement(
            """
            SELECT \(NodeColumns.select("n")) FROM nodes n WHERE n.number > $1 AND n.form = \(LedgerForm.file)
            ORDER BY n.number LIMIT $2
            """, [.number(number), .limit(limit)])
        return try find(statement, NodeColumns.nodes)
    }

    package func apply(_ changes: LedgerChanges) throws(LedgerError) {
        if let contradiction = changes.contradiction { throw contradiction }
        let statements = ApplyStatements(changes).all
        if !statements.isEmpty { try change([PostgresLedger.preferIndexes] + statements) }
    }
}

extension Extent {
    /// The extent with the numbers of a row.
    init(lower: UInt64, upper: UInt64, object: UInt64, start: UInt64) throws(PostgresError) {
        guard lower < upper else { throw .wrongForm("an extent ends at \(upper) before \(lower)") }
        self.init(lower..<upper, in: ObjectNumber(rawValue: object), from: start)
    }
}
