package import TransferAccess
import TransferCodec
import TransferKeys
import TransferMail
package import TransferModel
import TransferPorts
package import TransferSystem

/// The client as the intake knows it: its rights, and the mapping between its names and the server's. A client has its
/// own space of upload ids, and sees its folder as the top.
///
/// All ids and paths that enter or leave the intake are translated here, so that no code between has to ask which
/// client they belong to.
package struct Caller: Sendable {
    package private(set) var grant: Grant
    private let scope: UploadScope

    /// The sender's name in the catalog and in receipts.
    package let sender: String

    /// Identifies the client whatever its name is; nil for a client without a key or token.
    package let id: UInt64?

    /// The name of the client's mailbox; nil if it has none.
    package private(set) var person: String?

    /// - Parameters:
    ///   - peer: the address of the client, used if it has no name.
    ///   - person: the name of a client on a wire without keys.
    package init(_ grant: Grant, _ scope: UploadScope, peer: String, person: String? = nil) {
        self.grant = grant
        self.scope = scope
        sender = grant.source == .everyone ? peer : grant.name
        id = CallerID.make(grant.source)
        self.person = grant.person ?? person
    }

    /// A client without a key or token, which may do everything.
    package init(peer: String) {
        self.init(Grant(.everyone, name: Grant.everyonesName), UploadScope(), peer: peer)
    }

    /// The client's name in the log and in the status; nil for a client without one.
    package var name: String? {
        switch grant.source {
        case .key, .token, .owner: grant.name
        case .listener: person
        case .everyone: nil
        }
    }

    /// Whether a key or a token proves the client's name.
    var isProven: Bool { grant.person != nil }

    /// The sender of the client's mail; nil for a client without a name.
    var mailSender: MailSender? { person.map { MailSender($0, isUnproven: !isProven) } }

    /// Replaces the client's rights by newer ones.
    package mutating func renew(_ grant: Grant) {
        self.grant = grant
        person = grant.person ?? person
    }
}

// MARK: Mapping the client's names to the server's

extension Caller {
    package func inner(_ id: UploadID) -> UploadID { scope.inner(id) }

    /// The most bytes that an upload of this client may have on a server with this limit.
    package func maximumUpload(of limit: UInt64) -> UInt64 { grant.maximumUpload(of: limit) }

    /// Maps the path of an upload to the server's directory.
    ///
    /// - Throws: `forbidden` for a client that may not send; `invalidPath`.
    func pathForUpload(_ path: String) throws(Failure) -> String {
        try checkSending()
        guard grant.options.folder != nil else { return path }
        return try inner(path).string
    }

    /// Maps the path of a folder that the client wants to make to the server's directory.
    ///
    /// - Throws: `forbidden` for a client that may not send; `invalidPath`.
    package func pathForMaking(_ path: String) throws(Failure) -> RelativePath {
        _ = try pathForUpload(path)
        return try inner(path)
    }

    /// Maps the path of a folder that the client sends to, to the server's directory.
    ///
    /// - Parameter path: the client's path; empty for its own top.
    /// - Returns: nil for the top of the server's directory.
    /// - Throws: `forbidden` for a client that may not send; `invalidPath`.
    func pathForSending(_ path: String) throws(Failure) -> RelativePath? {
        guard !path.isEmpty else {
            try checkSending()
            return grant.options.folder
        }
        return try pathForMaking(path)
    }

    private func checkSending() throws(Failure) {
        guard grant.options.rights.mayWrite else {
            throw Failure(.forbidden, "This client may not send or change files: its access is read-only.")
        }
    }

    /// Maps a path that the client wants to read or list to the server's directory.
    ///
    /// - Parameter path: the client's path; empty for its own top.
    /// - Returns: nil for the top of the server's directory.
    /// - Throws: `forbidden` for a client that may not read; `invalidPath`.
    package func pathForReading(_ path: String) throws(Failure) -> RelativePath? {
        guard grant.options.rights.mayRead else {
            throw Failure(.forbidden, "This client may not read or list files: its access is write-only.")
        }
        return path.isEmpty ? grant.options.folder : try inner(path)
    }

    /// Maps a path that the client wants to remove to the server's directory. A client that may only send may not
    /// remove what others have sent.
    ///
    /// - Throws: `forbidden`; `invalidPath`, also for the client's own top.
    package func pathForRemoving(_ path: String) throws(Failure) -> RelativePath {
        guard grant.options.rights.mayRemove else {
            throw Failure(
                .forbidden,
                "This client may not remove or change files: its access does not include the right to remove.")
        }
        return try inner(path)
    }

    /// Whether the client may know what others have stored.
    var mayReadAll: Bool { grant.options.rights.mayRead }

    /// Whether the client may replace any file, and not only those that it has sent itself.
    package var mayReplaceAll: Bool { grant.options.rights.mayRemove }

    /// The attributes that the client may set. A client that may not remove others' files may not set owners.
    package func allowed(_ attributes: ExtraAttributes?) -> ExtraAttributes? {
        guard var attributes, !mayReplaceAll else { return attributes }
        attributes.owner = nil
        return attributes.isEmpty ? nil : attributes
    }

    /// Maps the path of a link, or of something stored that the client wants to change, to the server's directory.
    ///
    /// - Throws: `forbidden` for a client that may not both send and remove; `invalidPath`, also for the client's own
    ///   top.
    package func pathForChanging(_ path: String) throws(Failure) -> RelativePath {
        try checkSending()
        return try pathForRemoving(path)
    }

    /// Maps the path that something in the trash had before to the server's directory.
    ///
    /// - Parameter path: the client's path; empty for all that was in its own folder.
    /// - Returns: nil for the whole trash.
    /// - Throws: `forbidden` for a client that may not remove; `invalidPath`.
    package func pathInTrash(_ path: String) throws(Failure) -> RelativePath? {
        guard grant.options.rights.mayRemove else {
            throw Failure(
                .forbidden, "This client may not use the trash: its access does not include the right to remove.")
        }
        return path.isEmpty ? grant.options.folder : try inner(path)
    }

    private func inner(_ path: String) throws(Failure) -> RelativePath {
        do throws(RelativePath.Fault) {
            return try grant.stored(try RelativePath(path))
        } catch {
            throw Failure(.invalidPath, error.message)
        }
    }
}

// MARK: Mapping the server's names to the client's

extension Caller {
    package func outer(_ id: UploadID) -> UploadID { scope.outer(id) }

    /// Whether the client may know about a path of the server's directory.
    func maySee(_ path: RelativePath) -> Bool { grant.shown(path) != nil }

    /// The client's name for a path of the server's directory; nil for a path outside its folder.
    package func clientPath(_ path: RelativePath) -> RelativePath? { grant.shown(path) }

    /// Removes from a message the folders above the client's folder, and those of the server's trash.
    package func redacted(_ sentence: String) -> String {
        guard !sentence.isEmpty else { return sentence }
        let trash = Array((RelativePath.trashFolder.string + "/").utf8)
        let above = grant.options.folder.map { Array(($0.string + "/").utf8) }
        var rest = Array(sentence.utf8)[...]
        var kept: [UInt8] = []
        while let byte = rest.first {
            if rest.starts(with: trash), let batch = TrashBatch(leading: rest.dropFirst(trash.count)) {
                rest = rest.dropFirst(trash.count + batch.name.utf8.count)
                if rest.first == UInt8(ascii: "/") {
                    rest = rest.dropFirst()
                } else {
                    kept += "that trash batch".utf8
                }
            } else if let above, rest.starts(with: above) {
                rest = rest.dropFirst(above.count)
            } else {
                kept.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: kept, as: UTF8.self)
    }
}

/// Identifies a client in the catalog. Names cannot do that: two clients can have the same name, and names change.
enum CallerID {
    /// - Returns: nil for clients without a key, token or listener. The owner's key gives the same number when it is in
    ///   the list of keys.
    static func make(_ source: Grant.Source) -> UInt64? {
        let text: [UInt8]
        switch source {
        case .key(let key), .owner(let key): text = Array("transfer client key ".utf8) + key.raw.bytes
        case .token(let id): text = Array("transfer client token \(id)".utf8)
        case .listener(let name): text = Array("transfer client listener \(name)".utf8)
        case .everyone: return nil
        }
        return text.withUnsafeBytes { bytes in
            BlockHasher.digest(.sha256, bytes).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self).bigEndian }
        }
    }
}

/// Identifies a client when the server looks for what it has sent.
struct KnownCaller: Sendable {
    let id: UInt64?
    private let name: String

    init(_ grant: Grant) {
        (id, name) = (CallerID.make(grant.source), grant.name)
    }

    /// Whether the client has sent a mail.
    func hasSent(_ mail: Mail) -> Bool { id != nil && mail.client == id }

    /// Whether the client has sent an upload. Records of older servers have no client number: then the name is
    /// compared.
    func hasSent(_ entry: CatalogEntry) -> Bool { isIt(entry.client, entry.sender) }

    func hasBegun(_ upload: UnfinishedUpload) -> Bool { isIt(upload.client, upload.sender) }

    private func isIt(_ client: UInt64?, _ sender: String) -> Bool {
        guard let client else { return sender.hasSameBytes(as: name) }
        return client == id
    }
}

/// The party whose account is charged for work and places. A client with a key or token has one account over all
/// connections; the other clients of one network share one.
package enum AccountHolder: Hashable, Sendable {
    case client(Grant.Source)
    case network(PeerNetwork)
    case thisMachine
}

extension Caller {
    /// Whether the client may know that the upload was sent. Whether it may see the path is decided elsewhere.
    func mayKnow(_ entry: CatalogEntry) -> Bool {
        grant.options.rights.mayRead || id != nil && entry.client == id
    }
}
