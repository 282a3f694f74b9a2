import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferPorts

/// Visits everything below a folder, some entries at a time. Used by one task at a time.
struct FolderWalk {
    /// Most bytes of the paths of folders that wait to be visited. A tree with more is not visited completely, because its client pays for
    /// no memory.
    private static let mostWaiting = 8 << 20

    /// Entries that are read together.
    private static let pageSize = 128

    private let tree: any StoredTree
    private var listing: (any StoredListing)?
    private var waiting: [RelativePath] = []
    private var waitingBytes = 0

    /// Number of folders that were found.
    private(set) var folders: UInt64 = 0

    /// Whether everything was visited so far: a folder that cannot be read is left out.
    private(set) var isComplete = true

    /// - Parameter folder: nil for the top of the server's directory.
    /// - Throws: why the folder itself cannot be read.
    init(_ folder: RelativePath?, in tree: any StoredTree) throws(Failure) {
        self.tree = tree
        listing = try tree.list(folder)
    }

    /// - Returns: the next entries, possibly none; nil at the end.
    mutating func next() -> [StoredEntry]? {
        do throws(Failure) {
            if listing == nil { listing = try nextListing() }
            guard let listing else { return nil }
            let page = try listing.next(Self.pageSize)
            if page.isEmpty { self.listing = nil }
            for entry in page where entry.attributes.isDirectory { add(entry.path) }
            return page
        } catch {
            // A folder that was removed meanwhile is not missing.
            if error.code != .notFound { isComplete = false }
            listing = nil
            return []
        }
    }

    private mutating func add(_ folder: RelativePath) {
        folders += 1
        let bytes = folder.string.utf8.count
        guard waitingBytes + bytes <= Self.mostWaiting else { return isComplete = false }
        waitingBytes += bytes
        waiting.append(folder)
    }

    /// - Returns: nil if no folder waits.
    private mutating func nextListing() throws(Failure) -> (any StoredListing)? {
        guard let folder = waiting.popLast() else { return nil }
        waitingBytes -= folder.string.utf8.count
        return try tree.list(folder)
    }
}

/// The answer to a search below a folder: a line of JSON for each entry whose name has the text, and one at the end. Used by one task at a
/// time.
final class HTTPSearch: HTTPAnswer {
    let path: String
    private let text: [UInt8]
    private var body: StreamedBody
    private let context: HTTPContext
    private var walk: FolderWalk
    private var found: UInt64 = 0

    /// - Parameter text: in any case.
    init(_ path: String, for text: String, _ walk: FolderWalk, _ body: StreamedBody, _ context: HTTPContext) {
        (self.path, self.walk, self.body, self.context) = (path, walk, body, context)
        self.text = Array(text.lowercased().utf8)
    }

    var endsConnection: Bool { body.endsConnection }

    func head(isLast: Bool) -> [UInt8] {
        body.head([("Content-Type", "application/x-ndjson"), ("Cache-Control", "no-store")], isLast: isLast)
    }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        guard let page = walk.next() else {
            let end: JSONLine = [
                "schema": .string("transfer.found/1"), "entries": .integer(found), "complete": .bool(walk.isComplete),
            ]
            body.write(end.terminated, to: &outcome)
            body.end(&outcome)
            return true
        }
        tell(page.filter { has(String($0.path.name)) }, &outcome)
        return false
    }

    func events(peer: String) -> [LogEvent] { [.listed(path, found, peer: peer)] }

    private func has(_ name: String) -> Bool {
        let name = Array(name.lowercased().utf8)
        guard name.count >= text.count else { return false }
        return (0...name.count - text.count).contains { name[$0...].starts(with: text) }
    }

    private func tell(_ entries: [StoredEntry], _ outcome: inout HTTPOutcome) {
        // If the client has gone, the rest of a long search is useless.
        guard !entries.isEmpty else {
            body.keepAlive(&outcome)
            return outcome.rest()
        }
        let details = context.resources.intake.known.details(of: entries.map { ($0.path, $0.attributes) })
        for (entry, known) in zip(entries, details) {
            guard let path = context.caller.clientPath(entry.path) else { continue }
            found += 1
            body.write(EntryDocument(path.string, entry.attributes, known).json.terminated, to: &outcome)
        }
    }
}

/// The answer to the question how much is below a folder. Used by one task at a time.
final class HTTPFolderSize: HTTPAnswer {
    let path: String
    private var body: StreamedBody
    private var walk: FolderWalk
    private var (files, size) = (UInt64(0), UInt64(0))

    init(_ path: String, _ walk: FolderWalk, _ body: StreamedBody) {
        (self.path, self.walk, self.body) = (path, walk, body)
    }

    var endsConnection: Bool { body.endsConnection }

    func head(isLast: Bool) -> [UInt8] {
        body.head([("Content-Type", "application/json"), ("Cache-Control", "no-store")], isLast: isLast)
    }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        guard let page = walk.next() else {
            let document: JSONLine = [
                "schema": .string("transfer.folder-size/1"), "path": .string(path), "files": .integer(files),
                "folders": .integer(walk.folders), "size": .integer(size), "complete": .bool(walk.isComplete),
            ]
            body.write(document.terminated, to: &outcome)
            body.end(&outcome)
            return true
        }
        for entry in page where !entry.attributes.isDirectory {
            files += 1
            size = size.addingClamped(entry.attributes.size)
        }
        body.keepAlive(&outcome)
        outcome.rest()
        return false
    }

    func events(peer: String) -> [LogEvent] { [.listed(path, files, peer: peer)] }
}
