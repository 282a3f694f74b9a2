import TransferDatabase
internal import TransferModel
import TransferPorts

/// Reads the entries of the files in one folder.
final class FolderQuery {
    /// The columns that `file` reads.
    private static let select = """
        SELECT path, number, id, (client IS ?3 AND (?3 IS NOT NULL OR sender = ?4)), durable, size, algorithm, object, touch, \
        revision FROM uploads
        """

    /// Selects the newest rows of one path and state, which are consecutive in the index.
    private static func newest(_ state: CatalogEntry.State) -> String {
        "SELECT * FROM (\(select) WHERE path = ?1 AND state = \(state.rawValue) ORDER BY number DESC LIMIT \(Catalog.mostOfPath))"
    }

    /// Rows after which a page ends, because the reader's lock is held while it is read.
    private static let pageSize = 512

    /// The most subfolders that are skipped for one page; skipping each takes a search.
    private static let mostFolders = 64

    private let statement: Statement
    private let newest: Statement
    /// Rows that were read for this page so far.
    private var rows = 0

    init(_ database: Database) throws(RecordsError) {
        statement = try Statement(
            Self.select + " WHERE path >= ?1 AND path < ?2 ORDER BY path, state", in: database)
        newest = try Statement(Self.newest(.committed) + " UNION ALL " + Self.newest(.alreadyStored), in: database)
    }

    /// - Parameter start: the path to start at; it need not exist.
    func files(_ query: KnownFiles.Query, after start: [UInt8]) throws(RecordsError) -> KnownFiles {
        var page = KnownFiles()
        let (prefix, end) = (query.prefix, query.end)
        var next: [UInt8]? = start
        var folders = 0
        rows = 0
        while let start = next, rows < Self.pageSize, folders < Self.mostFolders {
            next = try scan(query, prefix, from: start, to: end, into: &page)
            folders += 1
        }
        (page.next, page.looked) = (next, rows + folders)
        return page
    }

    /// Reads rows until one is in a subfolder, or the page is full.
    ///
    /// - Returns: the path to continue at, behind the subfolder; nil at the end.
    private func scan(
        _ query: KnownFiles.Query, _ prefix: [UInt8], from start: [UInt8], to end: [UInt8], into page: inout KnownFiles
    ) throws(RecordsError) -> [UInt8]? {
        defer { statement.reset() }
        return try start.withUnsafeBufferPointer { (start) throws(RecordsError) in
            try end.withUnsafeBufferPointer { (end) throws(RecordsError) in
                try query.sender.utf8.span.withUnsafeBufferPointer { (sender) throws(RecordsError) in
                    statement.bind(1, text: start)
                    statement.bind(2, text: end)
                    statement.bind(3, query.client.map { Int64(bitPattern: $0) })
                    statement.bind(4, text: sender)
                    return try scan(query, prefix, into: &page)
                }
            }
        }
    }

    private func scan(
        _ query: KnownFiles.Query, _ prefix: [UInt8], into page: inout KnownFiles
    ) throws(RecordsError) -> [UInt8]? {
        var (last, ofLast): (String?, Int) = (nil, 0)
        while try statement.next() {
            rows += 1
            let name = statement.withBlob(0) { Name($0, behind: prefix.count) }
            guard case .file(let name) = name else {
                if case .folder(let folder) = name { return prefix + folder + [UInt8(ascii: "/") + 1] }
                continue
            }
            if let last, last.hasSameBytes(as: name) {
                ofLast += 1
                guard ofLast < Catalog.mostOfPath else {
                    page.files.removeLast(while: { $0.name.hasSameBytes(as: name) })
                    page.files += try newest(query, prefix, name)
                    return Self.behind(prefix, name)
                }
            } else {
                if let last, rows > Self.pageSize { return Self.behind(prefix, last) }
                (last, ofLast) = (name, 0)
            }
            if let file = Self.file(name, statement) { page.files.append(file) }
        }
        return nil
    }

    /// Reads only the newest rows of a file that has many.
    private func newest(
        _ query: KnownFiles.Query, _ prefix: [UInt8], _ name: String
    ) throws(RecordsError) -> [KnownFile] {
        defer { newest.reset() }
        return try (prefix + Array(name.utf8)).withUnsafeBufferPointer { (path) throws(RecordsError) in
            try query.sender.utf8.span.withUnsafeBufferPointer { (sender) throws(RecordsError) in
                newest.bind(1, text: path)
                newest.bind(3, query.client.map { Int64(bitPattern: $0) })
                newest.bind(4, text: sender)
                var files: [KnownFile] = []
                while try newest.next() {
                    rows += 1
                    if let file = Self.file(name, newest) { files.append(file) }
                }
                return files
            }
        }
    }

    /// The bytes to continue at after all rows of a file. A NUL after the path sorts before all longer paths, and no
    /// path contains one.
    private static func behind(_ prefix: [UInt8], _ name: String) -> [UInt8] { prefix + Array(name.utf8) + [0] }

    /// The part of a path after the prefix of the folder.
    private enum Name {
        case file(String)
        /// A path in the subfolder with this name.
        case folder([UInt8])
        case nothing

        init(_ path: UnsafeRawBufferPointer, behind prefix: Int) {
            guard path.count > prefix else {
                self = .nothing
                return
            }
            let rest = path[prefix...]
            guard let slash = rest.firstIndex(of: UInt8(ascii: "/")) else {
                self = String(validating: rest, as: UTF8.self).map { .file($0) } ?? .nothing
                return
            }
            self = .folder(Array(rest[..<slash]))
        }
    }

    /// Reads the current row of the statement.
    ///
    /// - Returns: nil for an upload without a digest or a version, and for an invalid row.
    private static func file(_ name: String, _ statement: Statement) -> KnownFile? {
        guard let id = statement.withBlob(2, UploadID.init), let size = UInt64(exactly: statement.integer(5)),
            let algorithm = UInt8(exactly: statement.integer(6)).flatMap({ DigestAlgorithm(rawValue: $0) }),
            let object = statement.optionalInteger(7), let touch = statement.optionalInteger(8),
            let revision = statement.optionalInteger(9)
        else { return nil }
        return KnownFile(
            name: name, id: id, number: statement.integer(1), isOwn: statement.integer(3) != 0,
            isDurable: statement.integer(4) != 0, function: algorithm.function,
            version: ContentVersion(object: UInt64(bitPattern: object), revision: revision, touch: touch, size: size))
    }
}

extension [KnownFile] {
    fileprivate mutating func removeLast(while isUnwanted: (KnownFile) -> Bool) {
        while let last, isUnwanted(last) { removeLast() }
    }
}
