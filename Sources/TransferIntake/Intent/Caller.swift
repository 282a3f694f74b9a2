package import TransferAccess
import TransferCodec
import TransferKeys
import TransferMail
package import TransferModel
import TransferPorts
package import TransferSystem

/// Who calls, with which rights, and how it sees what the server has: under its own upload ids, and its folder as the top.
///
/// Everything that comes in or goes out of the intake passes here, so that nothing between has to ask whose it is.
package struct Caller: Sendable {
    package private(set) var grant: Grant
    private let scope: UploadScope

    /// What stands in the catalog and in receipts as the sender.
    package let sender: String

    /// Who it is, whatever it is called; nothing where clients cannot be told apart.
    package let id: UInt64?

    /// The name under which it has a mailbox; nothing for one that has none.
    package private(set) var person: String?

    /// - Parameters:
    ///   - peer: the client's address, for one that has no name.
    ///   - person: the name of one that comes over a wire without keys.
    package init(_ grant: Grant, _ scope: UploadScope, peer: String, person: String? = nil) {
        self.grant = grant
        self.scope = scope
        sender = grant.source == .everyone ? peer : grant.name
        id = CallerID.make(grant.source)
        self.person = grant.person ?? person
    }

    /// For clients that cannot be told apart, who may do everything.
    package init(peer: String) {
        self.init(Grant(.everyone, name: Grant.everyonesName), UploadScope(), peer: peer)
    }

    /// Whether its name is proven by a key or a token.
    var isProven: Bool { grant.person != nil }

    /// Whom its mail is from; nothing for one without a name.
    var mailSender: MailSender? { person.map { MailSender($0, isUnproven: !isProven) } }

    /// What it may do from now on.
    package mutating func renew(_ grant: Grant) {
        self.grant = grant
        person = grant.person ?? person
    }
}

// MARK: What comes in

extension Caller {
    package func inner(_ id: UploadID) -> UploadID { scope.inner(id) }

    /// The largest upload that it may send to a server with this limit, in bytes.
    package func maximumUpload(of limit: UInt64) -> UInt64 { grant.maximumUpload(of: limit) }

    /// Where the path of an upload is in the server's directory.
    ///
    /// - Throws: `forbidden` for a client that may not send; `invalidPath`.
    func pathForUpload(_ path: String) throws(Failure) -> String {
        try checkSending()
        guard grant.options.folder != nil else { return path }
        return try inner(path).string
    }

    /// Where a folder that the client wants to make is in the server's directory.
    ///
    /// - Throws: `forbidden` for a client that may not send; `invalidPath`.
    package func pathForMaking(_ path: String) throws(Failure) -> RelativePath {
        _ = try pathForUpload(path)
        return try inner(path)
    }

    /// Where a folder that the client sends to is in the server's directory; nothing for the directory itself.
    ///
    /// - Parameter path: as the client knows it; empty for its own top.
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
            throw Failure(.forbidden, "This client may not send anything: its access is for reading.")
        }
    }

    /// Where what the client wants to see is in the server's directory; nothing for the directory itself.
    ///
    /// - Parameter path: as the client knows it; empty for its own top.
    /// - Throws: `forbidden` for a client that may not see anything; `invalidPath`.
    package func pathForReading(_ path: String) throws(Failure) -> RelativePath? {
        guard grant.options.rights.mayRead else {
            throw Failure(.forbidden, "This client may not see what is stored: its access is for sending.")
        }
        return path.isEmpty ? grant.options.folder : try inner(path)
    }

    /// Where what the client wants to remove is in the server's directory. Who may only send may not take away what others
    /// have sent.
    ///
    /// - Throws: `forbidden`; `invalidPath`, also for the client's own top.
    package func pathForRemoving(_ path: String) throws(Failure) -> RelativePath {
        guard grant.options.rights.mayRemove else {
            throw Failure(.forbidden, "This client may not remove anything.")
        }
        return try inner(path)
    }

    /// Whether it may know what others have stored.
    var mayReadAll: Bool { grant.options.rights.mayRead }

    /// Whether it may replace whatever is stored, and not only what it has sent itself.
    package var mayReplaceAll: Bool { grant.options.rights.mayRemove }

    /// What it may say of a file or folder beside its content. Who may not remove what others have sent may not say whose it is.
    package func allowed(_ attributes: ExtraAttributes?) -> ExtraAttributes? {
        guard var attributes, !mayReplaceAll else { return attributes }
        attributes.owner = nil
        return attributes.isEmpty ? nil : attributes
    }

    /// Where a link, or something that is there already and is to be changed, is in the server's directory.
    ///
    /// - Throws: `forbidden` for a client that may not both send and remove; `invalidPath`, also for the client's own top.
    package func pathForChanging(_ path: String) throws(Failure) -> RelativePath {
        try checkSending()
        return try pathForRemoving(path)
    }

    /// Where something in the trash was before, in the server's directory; nothing for all of it.
    ///
    /// - Parameter path: as the client knows it; empty for all that is from its own folder.
    /// - Throws: `forbidden` for a client that may not remove; `invalidPath`.
    package func pathInTrash(_ path: String) throws(Failure) -> RelativePath? {
        guard grant.options.rights.mayRemove else {
            throw Failure(
                .forbidden, "This client may not see or empty the trash: that is for clients that may remove.")
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

// MARK: What goes out

extension Caller {
    package func outer(_ id: UploadID) -> UploadID { scope.outer(id) }

    /// Whether the client may know what is at a path of the server's directory.
    func maySee(_ path: RelativePath) -> Bool { grant.shown(path) != nil }

    /// How the client knows a path of the server's directory; one that isn't below its folder has no name there.
    package func clientPath(_ path: RelativePath) -> RelativePath? { grant.shown(path) }

    /// A sentence about a path, which tells nothing about what is above the client's folder, or of the server's own.
    package func redacted(_ sentence: String) -> String {
        guard !sentence.isEmpty else { return sentence }
        let trash = Array((RelativePath.trashFolder.string + "/").utf8)
        let above = grant.options.folder.map { Array(($0.string + "/").utf8) }
        var rest = Array(sentence.utf8)[...]
        var kept: [UInt8] = []
        while let byte = rest.first {
            if rest.starts(with: trash), let part = TrashBatch(leading: rest.dropFirst(trash.count)) {
                rest = rest.dropFirst(trash.count + part.name.utf8.count)
                if rest.first == UInt8(ascii: "/") {
                    rest = rest.dropFirst()
                } else {
                    kept += "that part of the trash".utf8
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

/// What tells one client from all others in the catalog: names may be the same, and change.
enum CallerID {
    /// - Returns: nothing for clients that cannot be told apart. The owner's key is the same client when it is in the list.
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

/// A client, to find what it has sent.
struct KnownCaller: Sendable {
    let id: UInt64?
    private let name: String

    init(_ grant: Grant) {
        (id, name) = (CallerID.make(grant.source), grant.name)
    }

    /// Whether it has sent something that is for somebody.
    func hasSent(_ mail: Mail) -> Bool { id != nil && mail.client == id }

    /// Older servers have only written the name: then that has to do.
    func hasSent(_ entry: CatalogEntry) -> Bool { isIt(entry.client, entry.sender) }

    func hasBegun(_ upload: UnfinishedUpload) -> Bool { isIt(upload.client, upload.sender) }

    private func isIt(_ client: UInt64?, _ sender: String) -> Bool {
        guard let client else { return sender.hasSameBytes(as: name) }
        return client == id
    }
}

/// Who pays for work and for places: each client by its key or token, however many connections it has. Those that show
/// nothing can only be told apart by where they come from.
package enum AccountHolder: Hashable, Sendable {
    case client(Grant.Source)
    case network(PeerNetwork)
    case thisMachine
}

extension Caller {
    /// Whether the client may know that the upload was sent; whether it may see the path is another question.
    func mayKnow(_ entry: CatalogEntry) -> Bool {
        grant.options.rights.mayRead || id != nil && entry.client == id
    }
}
