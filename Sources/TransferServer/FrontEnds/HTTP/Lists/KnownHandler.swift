import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// Tells which files of a list are stored already, so that a client need not send them: `POST /.transfer/known`.
struct KnownHandler: HTTPHandler {
    let context: HTTPContext

    func compare(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        .receive(
            try ListReceiver(request, context) { [context] (items) throws(HTTPRefusal) in
                try checkReading()
                var files: [DeclaredFile] = []
                for item in items { files.append(try DeclaredFile(item)) }
                return HTTPKnown(target.path, files, StreamedBody(for: request), context)
            })
    }

    private func checkReading() throws(HTTPRefusal) {
        do throws(Failure) {
            _ = try context.uploads.intake.caller.pathForReading("")
        } catch {
            throw HTTPRefusal(error)
        }
    }
}

/// What a client says of a file that it has.
private struct DeclaredFile {
    let path: String
    let size: UInt64
    /// In the form of `Digest.description`; nil if the client has not computed it.
    let digest: String?
    let modified: Timestamp?

    /// - Throws: 400 for an object that describes no file.
    init(_ item: ListItem) throws(HTTPRefusal) {
        try item.check(only: "path", "size", "digest", "modified")
        (path, digest) = (try item.requiredText("path"), try item.text("digest"))
        guard let size = try item.number("size").flatMap({ UInt64($0) }), size <= UInt64(Int64.max) else {
            throw item.fault("lacks 'size', a whole number of bytes")
        }
        self.size = size
        modified = try item.number("modified").map { (digits) throws(HTTPRefusal) in
            guard let time = ModificationTime.parse(digits.utf8) else {
                throw item.fault("has 'modified', which must be seconds since 1970, such as 1700000000.25")
            }
            return time
        }
    }
}

/// The answer to a list of files: a line of JSON for each. Used by one task at a time.
private final class HTTPKnown: HTTPAnswer {
    private enum State: String {
        /// The digest that was acknowledged for the stored file is the declared one.
        case same
        /// Size and time are equal, and the digests cannot be compared.
        case probablySame
        case other
        case missing
        /// No file can have this path.
        case invalid
    }

    /// Files that are looked up together, by one query of the catalog.
    private static let atOnce = 128

    let path: String
    private var body: StreamedBody
    private let context: HTTPContext
    private var rest: ArraySlice<DeclaredFile>

    init(_ path: String, _ files: [DeclaredFile], _ body: StreamedBody, _ context: HTTPContext) {
        (self.path, self.body, self.context, rest) = (path, body, context, files[...])
        context.resources.intake.known.indexIfNeeded()
    }

    var endsConnection: Bool { body.endsConnection }

    func head(isLast: Bool) -> [UInt8] {
        body.head([("Content-Type", "application/x-ndjson"), ("Cache-Control", "no-store")], isLast: isLast)
    }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        let files = rest.prefix(Self.atOnce)
        rest = rest.dropFirst(files.count)
        try tell(files, &outcome)
        guard rest.isEmpty else { return false }
        body.end(&outcome)
        return true
    }

    func events(peer: String) -> [LogEvent] { [] }

    private func tell(_ files: ArraySlice<DeclaredFile>, _ outcome: inout HTTPOutcome) throws(Failure) {
        let caller = context.uploads.intake.caller
        let found = files.map { file in
            (try? caller.pathForReading(file.path)).map { ($0, context.files.attributes(at: $0)) }
        }
        let stored = found.compactMap { place in place.flatMap { (path, attributes) in attributes.map { (path, $0) } } }
        var entries = context.resources.intake.known.details(of: stored)[...]
        for (file, place) in zip(files, found) {
            let entry = place?.1 == nil ? nil : entries.popFirst() ?? nil
            let state = place.map { self.state(of: file, $0.1, entry) } ?? .invalid
            let line: JSONLine = [
                "schema": .string("transfer.known/1"), "path": .string(file.path), "known": .string(state.rawValue),
                "size": place?.1.map { .integer($0.size) } ?? .null,
                "digest": entry?.digest.map { .string($0.description) } ?? .null,
            ]
            body.write(line.terminated, to: &outcome)
        }
    }

    /// - Parameter entry: the catalog's entry of the stored file; nil if it has none.
    private func state(of file: DeclaredFile, _ stored: StoredAttributes?, _ entry: CatalogEntry?) -> State {
        guard let stored else { return .missing }
        guard !stored.isDirectory, stored.size == file.size, !isRotten(stored) else { return .other }
        if let declared = file.digest, let entry, let digest = entry.digest,
            declared.utf8.starts(with: "\(digest.algorithm.name):".utf8)
        {
            return isPromised(entry) && digest.description.hasSameBytes(as: declared) ? .same : .other
        }
        return file.modified.map(stored.modified.isAboutAs) == true ? .probablySame : .other
    }

    private func isRotten(_ stored: StoredAttributes) -> Bool {
        context.resources.intake.known.isRotten(stored.version)
    }

    /// Whether the acknowledgement promises what a new one would promise.
    private func isPromised(_ entry: CatalogEntry) -> Bool {
        entry.isDurable || context.resources.intake.store.durability != .commit
    }
}

extension Timestamp {
    /// Whether both are in the same millisecond, which is as exact as browsers tell the time of a file.
    fileprivate func isAboutAs(_ other: Timestamp) -> Bool {
        seconds == other.seconds && nanoseconds / 1_000_000 == other.nanoseconds / 1_000_000
    }
}
