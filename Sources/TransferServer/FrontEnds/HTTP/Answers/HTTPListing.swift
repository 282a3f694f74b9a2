import TransferCatalog
import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferStore

/// The answer to a request for a folder: a page, or JSON. Belongs to one task at a time.
final class HTTPListing: HTTPAnswer {
    /// How entries are written.
    enum Form {
        case page(ListingPage)
        /// One array.
        case json
        /// A line for each.
        case lines

        var type: String {
            switch self {
            case .page: "text/html; charset=utf-8"
            case .json: "application/json"
            case .lines: "application/x-ndjson"
            }
        }
    }

    /// Entries looked at together: each page is one turn at the catalog.
    private static let pageSize = 128

    /// Folders with no more entries than these come sorted; larger ones as the file system has them.
    private static let mostSorted = 4096

    let path: String
    private let form: Form
    private let fields: [(String, String)]
    private let isChunked: Bool
    private let known: KnownUploads
    private let listing: StoredListing?
    /// To be written, the next one first.
    private var entries: ArraySlice<EntryDocument> = []
    private var hasBegun = false
    private var isAtEnd = false
    private var hasEnded = false
    private var count = 0

    var endsConnection: Bool { !isChunked }

    /// - Parameters:
    ///   - path: as the client knows it; empty for its top.
    ///   - listing: nothing for a folder that is not there yet.
    ///   - isChunked: whether the client knows chunks; otherwise the end of the connection is that of the answer.
    init(
        _ path: String, _ listing: StoredListing?, _ form: Form, fields: [(String, String)], isChunked: Bool,
        _ known: KnownUploads
    ) {
        (self.path, self.listing, self.form, self.fields) = (path, listing, form, fields)
        (self.isChunked, self.known) = (isChunked, known)
    }

    func head(isLast: Bool) -> [UInt8] {
        let chunked = isChunked ? [("Transfer-Encoding", "chunked")] : []
        return HTTPAnswers.head(200, fields + [("Content-Type", form.type)] + chunked, isLast: isLast)
    }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        while outcome.room > 0, !hasEnded {
            if !hasBegun {
                try gather()
                write(Array(opening.utf8), &outcome)
                hasBegun = true
            } else if let entry = try next() {
                write(text(of: entry), &outcome)
                count += 1
            } else {
                write(Array(ending.utf8), &outcome)
                if isChunked, let last = ChunkWriter.last() { outcome.append(last) }
                hasEnded = true
            }
        }
        return hasEnded
    }

    func events(peer: String) -> [LogEvent] { [.listed(path, UInt64(count), peer: peer)] }

    private func write(_ bytes: [UInt8], _ outcome: inout HTTPOutcome) {
        guard isChunked, !bytes.isEmpty else { return outcome.append(bytes) }
        if let head = ChunkWriter.head(UInt64(bytes.count)) { outcome.append(head + bytes + ChunkWriter.end) }
    }

    // MARK: Entries

    /// Takes as many as can be sorted.
    private func gather() throws(Failure) {
        var first: [EntryDocument] = []
        while !isAtEnd, first.count < Self.mostSorted { first += try page() }
        if isAtEnd { first.sort { PathKey($0.path) < PathKey($1.path) } }
        entries = first[...]
    }

    private func next() throws(Failure) -> EntryDocument? {
        while entries.isEmpty, !isAtEnd { entries = try page()[...] }
        return entries.popFirst()
    }

    private func page() throws(Failure) -> [EntryDocument] {
        guard let page = try listing?.next(Self.pageSize), !page.isEmpty else {
            isAtEnd = true
            return []
        }
        let details = known.details(of: page.map { ($0.path, $0.attributes) })
        let folder = path.isEmpty ? "" : path + "/"
        return page.enumerated().map { index, entry in
            EntryDocument(
                folder + String(entry.path.name), entry.attributes,
                details.indices.contains(index) ? details[index] : nil)
        }
    }

    // MARK: Text

    private var opening: String {
        switch form {
        case .page(let page): page.opening(path)
        case .json: "["
        case .lines: ""
        }
    }

    private var ending: String {
        switch form {
        case .page(let page): page.ending(count)
        case .json: "\n]\n"
        case .lines: ""
        }
    }

    private func text(of entry: EntryDocument) -> [UInt8] {
        switch form {
        case .page(let page): Array(page.row(entry).utf8)
        case .json: Array(((count == 0 ? "\n" : ",\n") + entry.json.text).utf8)
        case .lines: entry.json.terminated
        }
    }
}

extension EntryDocument {
    /// - Parameter known: its entry in the catalog.
    fileprivate init(_ path: String, _ attributes: StoredAttributes, _ known: CatalogEntry?) {
        self.init(
            path: path, isDirectory: attributes.isDirectory, size: attributes.size, modified: attributes.modified,
            permissions: attributes.permissions, kind: known?.kind, digest: known?.digest,
            stored: known.map {
                Timestamp(
                    seconds: $0.committed / 1_000_000_000, nanoseconds: UInt32(clamping: $0.committed % 1_000_000_000))
            })
    }
}
