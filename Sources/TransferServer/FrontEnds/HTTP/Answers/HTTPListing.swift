import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferPorts

/// The answer to a request for a folder: a page, or JSON. Used by one task at a time.
final class HTTPListing: HTTPAnswer {
    /// The format of the entries.
    enum Form {
        case page(ListingPage)
        /// One JSON array of all entries.
        case json
        /// JSON, one line for each entry.
        case lines

        var type: String {
            switch self {
            case .page: "text/html; charset=utf-8"
            case .json: "application/json"
            case .lines: "application/x-ndjson"
            }
        }
    }

    /// Entries that are looked up together; each page is one query of the catalog.
    private static let pageSize = 128

    /// Folders with at most this many entries are sorted; larger ones have the order of the file system.
    private static let mostSorted = 4096

    let path: String
    private let form: Form
    private let fields: [(String, String)]
    private var body: StreamedBody
    private let known: KnownUploads
    private let pictures: PictureDescriptions?
    private let listing: (any StoredListing)?
    /// Entries to write, the next one first.
    private var entries: ArraySlice<EntryDocument> = []
    private var hasBegun = false
    private var isAtEnd = false
    private var hasEnded = false
    private var count = 0

    var endsConnection: Bool { body.endsConnection }

    /// - Parameters:
    ///   - path: as the client knows it; empty for its top folder.
    ///   - listing: nil for a folder that does not exist yet.
    ///   - pictures: describes the pictures among the entries; nil to leave that out.
    init(
        _ path: String, _ listing: (any StoredListing)?, _ form: Form, fields: [(String, String)], _ body: StreamedBody,
        _ known: KnownUploads, pictures: PictureDescriptions? = nil
    ) {
        (self.path, self.listing, self.form, self.fields) = (path, listing, form, fields)
        (self.body, self.known, self.pictures) = (body, known, pictures)
    }

    func head(isLast: Bool) -> [UInt8] { body.head(fields + [("Content-Type", form.type)], isLast: isLast) }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        while outcome.room > 0, !hasEnded {
            if !hasBegun {
                try gather()
                body.write(Array(opening.utf8), to: &outcome)
                hasBegun = true
            } else if let entry = try next() {
                body.write(text(of: entry), to: &outcome)
                count += 1
            } else {
                body.write(Array(ending.utf8), to: &outcome)
                body.end(&outcome)
                hasEnded = true
            }
        }
        return hasEnded
    }

    func events(peer: String) -> [LogEvent] { [.listed(path, UInt64(count), peer: peer)] }

    // MARK: Entries

    /// Reads as many entries as can be sorted.
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
        var documents = page.enumerated().map { index, entry in
            EntryDocument(
                folder + String(entry.path.name), entry.attributes,
                details.indices.contains(index) ? details[index] : nil)
        }
        pictures?.describe(&documents, page.map { ($0.path, $0.attributes.version) })
        return documents
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
    /// - Parameter known: its entry in the catalog; nil if it has none.
    init(_ path: String, _ attributes: StoredAttributes, _ known: CatalogEntry?) {
        self.init(
            path: path, isDirectory: attributes.isDirectory, size: attributes.size, modified: attributes.modified,
            permissions: attributes.permissions, kind: known?.kind, digest: known?.digest,
            stored: known.map {
                Timestamp(
                    seconds: $0.committed / 1_000_000_000, nanoseconds: UInt32(clamping: $0.committed % 1_000_000_000))
            })
    }
}
