import TransferAccess
import TransferModel
import TransferProtocol
import TransferStore

/// What a client may do, and how it sees what the server has: under its own upload ids, and its folder as the top.
///
/// Everything that comes in or goes out on a lane passes here, so that nothing between has to ask whose it is.
struct ClientView: Sendable {
    private(set) var grant: Grant
    private let scope: UploadScope

    /// What it may have stored; nothing where that is not limited.
    private(set) var quota: Quota?

    /// What stands in the catalog and in receipts as the sender.
    let sender: String

    /// Who it is, whatever it is called; nothing where clients cannot be told apart.
    let id: UInt64?

    /// - Parameter peer: the client's address, for one that has no name.
    init(_ grant: Grant, _ scope: UploadScope, peer: String) {
        self.grant = grant
        self.scope = scope
        sender = grant.source == .everyone ? peer : grant.name
        id = ClientID.make(grant.source)
    }

    /// For clients that cannot be told apart, who may do everything.
    init(peer: String) {
        self.init(Grant(.everyone, name: Grant.everyonesName), UploadScope(), peer: peer)
    }

    /// What it may do from now on.
    mutating func renew(_ grant: Grant, _ quota: Quota?) {
        (self.grant, self.quota) = (grant, quota)
    }
}

// MARK: What comes in

extension ClientView {
    func inner(_ id: UploadID) -> UploadID { scope.inner(id) }

    /// With the server's ids, and the path as it is.
    func inner(_ begin: Begin) -> Begin {
        var begin = begin
        begin.id = scope.inner(begin.id)
        if case .part(var part) = begin.scope {
            part.upload = scope.inner(part.upload)
            begin.scope = .part(part)
        }
        return begin
    }

    /// The largest upload that it may send to a server with this limit, in bytes.
    func maximumUpload(of limit: UInt64) -> UInt64 { grant.maximumUpload(of: limit) }

    /// Where the path of an upload is in the server's directory.
    ///
    /// - Throws: `forbidden` for a client that may not send; `invalidPath`.
    func place(_ path: String) throws(StoreError) -> String {
        guard grant.options.rights.mayWrite else {
            throw StoreError(.forbidden, "This client may not send anything: its access is for reading.")
        }
        guard grant.options.folder != nil else { return path }
        return try inner(path).string
    }

    /// Where what the client wants to see is in the server's directory; nothing for the directory itself.
    ///
    /// - Parameter path: as the client knows it; empty for its own top.
    /// - Throws: `forbidden` for a client that may not see anything; `invalidPath`.
    func seen(_ path: String) throws(StoreError) -> RelativePath? {
        guard grant.options.rights.mayRead else {
            throw StoreError(.forbidden, "This client may not see what is stored: its access is for sending.")
        }
        return path.isEmpty ? grant.options.folder : try inner(path)
    }

    /// Where what the client wants to remove is in the server's directory. Who may only send may not take away what others
    /// have sent.
    ///
    /// - Throws: `forbidden`; `invalidPath`, also for the client's own top.
    func removable(_ path: String) throws(StoreError) -> RelativePath {
        guard grant.options.rights.mayRemove else {
            throw StoreError(.forbidden, "This client may not remove anything.")
        }
        return try inner(path)
    }

    /// Whether it may replace whatever is stored, and not only what it has sent itself.
    var mayReplaceAll: Bool { grant.options.rights.mayRemove }

    private func inner(_ path: String) throws(StoreError) -> RelativePath {
        do throws(RelativePath.Fault) {
            return try grant.stored(try RelativePath(path))
        } catch {
            throw StoreError(.invalidPath, error.message)
        }
    }
}

// MARK: What goes out

extension ClientView {
    func outer(_ id: UploadID) -> UploadID { scope.outer(id) }

    /// Whether the client may know what is at a path of the server's directory.
    func sees(_ path: RelativePath) -> Bool { grant.shown(path) != nil }

    /// How the client knows a path of the server's directory; one that isn't below its folder has no name there.
    func shown(_ path: RelativePath) -> RelativePath? { grant.shown(path) }

    /// A result as the client understands it. Its receipt is that already.
    func outer(_ result: UploadResult) -> UploadResult {
        var result = result
        result.id = scope.outer(result.id)
        guard let folder = grant.options.folder else { return result }
        result.storedPath = result.storedPath.flatMap { try? RelativePath($0) }.flatMap { grant.shown($0)?.string }
        result.message = Self.text(result.message, without: Array((folder.string + "/").utf8))
        return result
    }

    /// The same for how a request ended.
    func outer(_ outcome: Outcome) -> Outcome {
        guard let folder = grant.options.folder else { return outcome }
        var outcome = outcome
        outcome.message = Self.text(outcome.message, without: Array((folder.string + "/").utf8))
        return outcome
    }

    /// A sentence with a path in it tells nothing about what is above it.
    private static func text(_ text: String, without folder: [UInt8]) -> String {
        var rest = Array(text.utf8)[...]
        var kept: [UInt8] = []
        while let byte = rest.first {
            if rest.starts(with: folder) {
                rest = rest.dropFirst(folder.count)
            } else {
                kept.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: kept, as: UTF8.self)
    }
}
